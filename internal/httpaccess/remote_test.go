package httpaccess

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
)

// certificateFor writes a certificate for names, and returns the files.
func certificateFor(t *testing.T, dir string, names ...string) Remote {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	of := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), DNSNames: names}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	r := Remote{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	err = errors.Join(
		os.WriteFile(r.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(r.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// serve serves "ok" at a site until the test ends.
func serve(t *testing.T, r Remote) *Site {
	t.Helper()
	s, err := r.Listen(t.Context(), "127.0.0.1:0", "pawl serve")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: s.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(server) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil || !errors.Is(<-ended, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request to a site, and returns the status.
func ask(t *testing.T, s *Site, name, host, origin string) int {
	t.Helper()
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+s.Addr().String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	if origin != "" {
		request.Header.Set("Origin", origin)
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: name}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return response.StatusCode
}

// TestTLS serves the names of the certificate and no other, not even loopback ones, and takes a renewed certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, certificateFor(t, dir, "pawl.example.com"))
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	own := "pawl.example.com:" + port
	if s.URL != "https://"+own || !s.Secure() {
		t.Errorf("URL %s", s.URL)
	}
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{own, "", 200}, {own, "https://" + own, 200}, {own, "http://" + own, 403}, {own, "https://evil.example:" + port, 403}, {own, "https://pawl.example.com", 403},
		{own, "null", 403}, {"evil.example:" + port, "", 403}, {"127.0.0.1:" + port, "", 403}, {"pawl.example.com", "", 403}, {"pawl.example.com:1", "", 403},
	} {
		if got := ask(t, s, "pawl.example.com", c.host, c.origin); got != c.want {
			t.Errorf("host %s, origin %q: %d", c.host, c.origin, got)
		}
	}
	certificateFor(t, dir, "new.example.com")
	if err := os.Chtimes(filepath.Join(dir, "cert.pem"), time.Now(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "new.example.com", "new.example.com:"+port, ""); got != 200 {
		t.Errorf("after the renewal: %d", got)
	}
	if got := ask(t, s, "new.example.com", own, ""); got != 403 {
		t.Errorf("the old name after the renewal: %d", got)
	}
}

// TestProxy serves only requests that name the host of the proxy.
func TestProxy(t *testing.T) {
	t.Parallel()
	s := serve(t, Remote{Proxy: "https://pawl.example.com"})
	if s.URL != "https://pawl.example.com" || !s.Secure() || !s.Forwarded {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"pawl.example.com", "", 200}, {"pawl.example.com", "https://pawl.example.com", 200}, {"pawl.example.com", "http://pawl.example.com", 403},
		{"pawl.example.com", "https://evil.example", 403}, {s.Addr().String(), "", 403}, {"evil.example", "", 403}, {"pawl.example.com:443", "", 403},
	} {
		if got := ask(t, s, "", c.host, c.origin); got != c.want {
			t.Errorf("host %s, origin %q: %d", c.host, c.origin, got)
		}
	}
}

// TestRemoteNeedsSafety refuses what would send tokens in the clear.
func TestRemoteNeedsSafety(t *testing.T) {
	t.Parallel()
	for what, r := range map[string]Remote{
		"nothing": {}, "no key": {Cert: "x"}, "no certificate": {Key: "x"}, "missing files": {Cert: "/nothing", Key: "/nothing"}, "both": {Cert: "x", Key: "x", Proxy: "https://x"},
		"http": {Proxy: "http://pawl.example.com"}, "path": {Proxy: "https://x/y"}, "user": {Proxy: "https://a@x"}, "no URL": {Proxy: "pawl.example.com"}, "query": {Proxy: "https://x?y"},
	} {
		s, err := r.Listen(t.Context(), "0.0.0.0:0", "pawl serve")
		if pawl.KindOf(err) != pawl.KindUsage {
			t.Errorf("%s: %v", what, err)
		}
		if s != nil {
			_ = s.Close()
		}
	}
}
