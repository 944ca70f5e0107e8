package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/disk"
	"pawl/internal/httpaccess"
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
	listener, err := httpaccess.Listen(ctx, h.Address, "pawl mcp --http")
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
		token, err = httpaccess.ReadToken(h.TokenFile)
		return token, "", err
	}
	token = disk.RandomHex(32)
	return token, "pawl: token " + token + "\n", nil
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
	return httpaccess.RequireLocal(address, httpaccess.RequireToken(token, "pawl mcp", mux))
}
