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

// HTTP configures access over HTTP.
type HTTP struct {
	Address   string // loopback host:port. Defaults to 127.0.0.1 and a free port.
	TokenFile string // file with the token for clients. Defaults to a new token, which is printed.
	NoToken   bool   // no token is required
}

// Resource limits for clients.
const (
	maxBody     = 1 << 20 // bytes
	idleSession = time.Hour
	readHeader  = 10 * time.Second
)

// Listen serves clients over streamable HTTP until ctx ends. It prints the address.
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
	fmt.Fprintf(s.out, "%spawl: serving MCP at http://%s/mcp\n", note, address)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	err = server.Close() // a graceful shutdown would wait for open streams forever
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// token returns the required token, empty for none, and a message about it for the operator.
func (h HTTP) token() (token, note string, err error) {
	switch {
	case h.NoToken:
		return "", "pawl: note: no token required: any program on this machine can read and change this project's runs\n", nil
	case h.TokenFile != "":
		token, err = readToken(h.TokenFile)
		return token, "", err
	}
	token = disk.RandomHex(32)
	return token, "pawl: token " + token + "\n", nil
}

// listen opens a port on a loopback address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !loopback(host) {
		return nil, &pawl.Error{
			Kind: pawl.KindUsage, Err: fmt.Errorf("%s is not a loopback address such as 127.0.0.1:7295", address), Hint: "pawl mcp --http",
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("listen: %w", err), Hint: "pawl mcp --http"}
	}
	if own, ok := listener.Addr().(*net.TCPAddr); !ok || !own.IP.IsLoopback() {
		return nil, errors.Join(usage("%s resolves to %s, which is not a loopback address", address, listener.Addr()), listener.Close())
	}
	return listener, nil
}

// loopback reports whether host is a loopback name or address.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// handler serves clients with the token at one path.
//
// It uses two handlers: a stateful one for older protocol revisions, so that the user can be asked during a call, and a
// stateless one for the newest revision.
func (s *Server) handler(address, token string) http.Handler {
	serve := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, Logger: s.log, SessionTimeout: idleSession, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		})
	}
	stateful, stateless := serve(false), serve(true)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
	return requireLocal(address, requireToken(token, mux))
}
