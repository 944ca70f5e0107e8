package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/disk"
)

// HTTP says how a server is reached by HTTP.
type HTTP struct {
	Address   string // host:port, of this machine alone. Defaults to 127.0.0.1 and a free port.
	TokenFile string // with the token that clients show. Defaults to a token made now, and said.
	NoToken   bool   // none is asked for
}

// Limits of what a client may take up.
const (
	maxBody     = 1 << 20 // bytes
	idleSession = time.Hour
	readHeader  = 10 * time.Second
)

// Listen serves clients over streamable HTTP until ctx ends. It tells whoever runs it where.
func (s *Server) Listen(ctx context.Context, h HTTP) error {
	token, note, err := h.token()
	if err != nil {
		return err
	}
	listener, err := listen(ctx, h.Address)
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	server := &http.Server{Handler: s.handler(address, token), ReadHeaderTimeout: readHeader}
	fmt.Fprintf(s.say, "%spawl: serving MCP at http://%s/mcp\n", note, address)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	err = server.Close() // streams of clients that listen would keep a gentler end waiting for ever
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// token returns the token that clients show, empty for none, and what whoever runs the server must know of it.
func (h HTTP) token() (token, note string, err error) {
	switch {
	case h.NoToken:
		return "", "pawl: note: no token is asked for: every program on this machine can read and write this project's record\n", nil
	case h.TokenFile != "":
		token, err = readToken(h.TokenFile)
		return token, "", err
	}
	token = disk.RandomHex(32)
	return token, "pawl: token " + token + "\n", nil
}

// listen opens a port that only this machine reaches.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !loopback(host) {
		return nil, &pawl.Error{
			Kind: pawl.KindUsage, Err: fmt.Errorf("%s is no address of this machine alone, such as 127.0.0.1:7295", address), Hint: "pawl mcp --http",
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("listen: %w", err), Hint: "pawl mcp --http"}
	}
	if own, ok := listener.Addr().(*net.TCPAddr); !ok || !own.IP.IsLoopback() {
		return nil, errors.Join(usage("%s leads to %s, which others reach", address, listener.Addr()), listener.Close())
	}
	return listener, nil
}

// loopback reports whether a host's name, as URLs have it, is that of this machine for itself.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// handler serves clients that show the token at one path.
//
// There are two servers behind it: one that keeps a session for each client of the older revisions, so that its person can
// be asked while a call waits, and one that keeps nothing, as the newest revision has it.
func (s *Server) handler(address, token string) http.Handler {
	serve := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, Logger: s.log, SessionTimeout: idleSession, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		})
	}
	keeping, forgetting := serve(false), serve(true)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			forgetting.ServeHTTP(w, r)
			return
		}
		keeping.ServeHTTP(w, r)
	})
	return local(address, shown(token, mux))
}
