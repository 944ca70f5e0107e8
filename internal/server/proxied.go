package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/tokens"
)

// proxied knows clients by the name that a proxy in front of the server gives them. Whoever reaches the server as one of the peers can
// name anybody, so nobody else reaches it at all.
type proxied struct {
	peers  []netip.Prefix
	header string
	users  map[string][]tokens.Right
}

// newProxied returns the setting `proxy`; nil for none.
func newProxied(c config.Proxy) (*proxied, error) {
	if c.Header == "" {
		return nil, nil
	}
	p := &proxied{header: http.CanonicalHeaderKey(c.Header), users: map[string][]tokens.Right{}}
	for _, text := range c.Peers {
		prefix, err := config.ParsePeer(text)
		if err != nil {
			return nil, proxyError(err)
		}
		p.peers = append(p.peers, prefix)
	}
	for name, list := range c.Users {
		if !tokens.ValidName(name) {
			return nil, proxyError(fmt.Errorf("invalid name %q of a user", name))
		}
		rights, err := tokens.ParseRights(strings.Join(list, ","))
		if err != nil {
			return nil, proxyError(fmt.Errorf("user %s: %w", name, err))
		}
		p.users[name] = rights
	}
	return p, nil
}

func proxyError(err error) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(`"proxy" in your own settings: %w`, err)}
}

// require accepts only connections from the peers.
func (p *proxied) require(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !p.has(from.Addr()) {
			http.Error(w, "peer not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (p *proxied) has(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(p.peers, func(peer netip.Prefix) bool { return peer.Contains(addr) })
}

// identify returns the client that the proxy names; found is false if it names none.
func (p *proxied) identify(r *http.Request) (t tokens.Token, found bool, refused *Problem) {
	if p == nil {
		return t, false, nil
	}
	names := r.Header.Values(p.header)
	switch {
	case len(names) == 0:
		return t, false, nil
	case len(names) > 1:
		return t, true, badRequest("the request has %d headers %s: the proxy must remove those of clients", len(names), p.header)
	case foreignPage(r):
		return t, true, problem(http.StatusForbidden, "the request comes from a page of another server", "")
	}
	rights, known := p.users[names[0]]
	if !known {
		return t, true, problem(http.StatusForbidden, "the proxy names a user who has no rights here", "")
	}
	return tokens.Token{ID: "proxy:" + names[0], Name: names[0], Kind: tokens.Proxied, Rights: rights}, true, nil
}

// foreignPage reports whether a browser sends a request for a page of another server.
func foreignPage(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return from != "" && from != "same-origin" && from != "none"
}

// local returns an address of this machine from which any of its programs can connect as a peer, and so approve in anybody's name; empty:
// there is none, or nobody whom the proxy names may approve.
func (p *proxied) local() (string, error) {
	if p == nil {
		return "", nil
	}
	approves := false
	for _, rights := range p.users {
		approves = approves || slices.Contains(rights, tokens.Approve)
	}
	if !approves {
		return "", nil
	}
	own, err := net.InterfaceAddrs()
	for _, a := range own {
		prefix, parseErr := netip.ParsePrefix(a.String())
		if err = errors.Join(err, parseErr); parseErr == nil && p.has(prefix.Addr()) {
			return prefix.Addr().String(), nil
		}
	}
	for _, loopback := range []string{"127.0.0.1", "::1"} {
		if p.has(netip.MustParseAddr(loopback)) {
			return loopback, nil
		}
	}
	for _, peer := range p.peers { // all of 127.0.0.0/8 is this machine
		if peer.Addr().IsLoopback() {
			return peer.Addr().String(), nil
		}
	}
	return "", err
}
