package httpaccess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"pawl"
)

// Remote says how clients on other machines reach a server: directly with TLS, or through a proxy that has it. The zero value: they do not.
type Remote struct {
	Cert, Key string // files with the certificate and its key; read again when they change
	Proxy     string // the URL at which a proxy serves the server
}

// Site is where clients reach a server, and which of their requests it accepts.
type Site struct {
	net.Listener
	URL       string
	Forwarded bool // requests come through a proxy

	host    func(hostport string) bool
	origins []string // in addition to loopback ones
	tls     *tls.Config
}

// Check returns an error if Listen would refuse the address or what r says. It opens no port.
func (r Remote) Check(address, hint string) (err error) {
	switch {
	case (r.Cert == "") != (r.Key == ""):
		return usage(hint, "--tls-cert needs --tls-key, and the other way round")
	case r.Cert != "" && r.Proxy != "":
		return usage(hint, "--behind-proxy takes no --tls-cert: the proxy has the certificate")
	case r.Proxy != "":
		_, err = r.proxyURL(hint)
	case r.Cert != "":
		if _, err = (&certificate{remote: r}).load(); err != nil {
			err = usage(hint, "%w", err)
		}
	case address != "":
		err = CheckAddress(address, hint)
	}
	return err
}

// Listen opens a port: on any address if clients on other machines can reach it safely, else on a loopback address.
func (r Remote) Listen(ctx context.Context, address, hint string) (*Site, error) {
	if err := r.Check(address, hint); err != nil {
		return nil, err
	}
	switch {
	case r.Proxy != "":
		return r.listenForProxy(ctx, address, hint)
	case r.Cert != "":
		return r.listenTLS(ctx, address, hint)
	}
	listener, err := Listen(ctx, address, hint)
	if err != nil {
		return nil, err
	}
	return &Site{Listener: listener, URL: "http://" + listener.Addr().String(), host: func(string) bool { return false }}, nil
}

func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

func listenAnywhere(ctx context.Context, address, hint string) (net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, usage(hint, "listen: %w", err)
	}
	return listener, nil
}

// proxyURL returns the URL at which a proxy serves the server.
func (r Remote) proxyURL(hint string) (*url.URL, error) {
	u, err := url.Parse(r.Proxy)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, usage(hint, "--behind-proxy %s: expected the URL of the server as browsers see it, such as https://pawl.example.com", r.Proxy)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, usage(hint, "--behind-proxy %s: without https, anybody on the way could read the tokens", r.Proxy)
	}
	return u, nil
}

// listenForProxy listens for requests that a proxy forwards. They must name the host that the proxy serves.
func (r Remote) listenForProxy(ctx context.Context, address, hint string) (*Site, error) {
	u, err := r.proxyURL(hint)
	if err != nil {
		return nil, err
	}
	listener, err := listenAnywhere(ctx, address, hint)
	if err != nil {
		return nil, err
	}
	origin := u.Scheme + "://" + u.Host
	return &Site{
		Listener: listener, URL: origin, Forwarded: true, origins: []string{origin},
		host: func(hostport string) bool { return strings.EqualFold(hostport, u.Host) },
	}, nil
}

// listenTLS listens for requests to the names that the certificate has.
func (r Remote) listenTLS(ctx context.Context, address, hint string) (*Site, error) {
	c := &certificate{remote: r}
	leaf, err := c.load()
	if err != nil {
		return nil, usage(hint, "%w", err)
	}
	listener, err := listenAnywhere(ctx, address, hint)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if len(leaf.DNSNames) > 0 && !strings.HasPrefix(leaf.DNSNames[0], "*") {
		host = leaf.DNSNames[0]
	}
	s := &Site{Listener: listener, URL: "https://" + net.JoinHostPort(host, port)}
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current() }}
	s.host = func(hostport string) bool {
		name, given, err := net.SplitHostPort(hostport)
		if err != nil {
			name, given = hostport, "443"
		}
		return given == port && c.covers(strings.Trim(name, "[]"))
	}
	return s, nil
}

// certificate is a certificate in files that somebody renews.
type certificate struct {
	remote Remote

	mu    sync.Mutex // guards what follows
	pair  tls.Certificate
	mtime time.Time // of its file
}

// load reads the files.
func (c *certificate) load() (*x509.Certificate, error) {
	info, err := os.Stat(c.remote.Cert)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(c.remote.Cert, c.remote.Key)
	if err != nil {
		return nil, fmt.Errorf("read %s and %s: %w", c.remote.Cert, c.remote.Key, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pair, c.mtime = pair, info.ModTime()
	return pair.Leaf, nil
}

// current returns the certificate, read again if its file has changed. One that cannot be read does not replace the one before.
func (c *certificate) current() (*tls.Certificate, error) {
	c.mu.Lock()
	mtime := c.mtime
	c.mu.Unlock()
	if info, err := os.Stat(c.remote.Cert); err == nil && !info.ModTime().Equal(mtime) {
		_, _ = c.load()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pair := c.pair
	return &pair, nil
}

// covers reports whether the certificate is for a name.
func (c *certificate) covers(name string) bool {
	pair, err := c.current()
	return err == nil && pair.Leaf.VerifyHostname(name) == nil
}

// Secure reports whether browsers reach the server by https.
func (s *Site) Secure() bool { return strings.HasPrefix(s.URL, "https://") }

// Serve serves until the server is shut down.
func (s *Site) Serve(server *http.Server) error {
	if s.tls == nil {
		return server.Serve(s.Listener)
	}
	server.TLSConfig = s.tls
	return server.ServeTLS(s.Listener, "", "")
}

// Require accepts only requests to the site, or to a loopback name if it is not behind a proxy, and from pages of the same. It protects
// against cross-site requests and DNS rebinding.
func (s *Site) Require(next http.Handler) http.Handler {
	local := RequireLocal(s.Addr().String(), next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.host(r.Host) {
			if s.tls != nil || s.Forwarded { // no loopback name is one of a certificate's, or of a proxy's
				http.Error(w, "host not allowed", http.StatusForbidden)
				return
			}
			local.ServeHTTP(w, r)
			return
		}
		if from := r.Header.Values("Origin"); len(from) > 1 || len(from) == 1 && !s.sameOrigin(from[0], r.Host) {
			http.Error(w, "origin not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin reports whether an Origin is that of the site at host.
func (s *Site) sameOrigin(origin, host string) bool {
	for _, own := range s.origins {
		if strings.EqualFold(origin, own) {
			return true
		}
	}
	return s.tls != nil && strings.EqualFold(origin, "https://"+host)
}
