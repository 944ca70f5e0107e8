package carrier_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl/internal/config"
	"pawl/temporal/internal/carrier"
	"pawl/temporal/internal/servertest"
)

// authority signs certificates, and writes them into a folder.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", nil, nil)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(name string, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: parent == nil,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(a.path(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// front is a proxy that asks for certificates of clients, as in front of a real server. It returns its address.
func (a *authority) front(address string) string {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.path("temporal.test.pem"), a.path("temporal.test.key"))
	if err != nil {
		a.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, NextProtos: []string{"h2"},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				client.Close()
				continue
			}
			pipe := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				to.Close()
			}
			go pipe(server, client)
			go pipe(client, server)
		}
	}()
	return listener.Addr().String()
}

// TestTLS: only the server with the right name and certificate is used, and it sees the certificate of the client.
func TestTLS(t *testing.T) {
	s := servertest.Start(t)
	a := newAuthority(t)
	a.issue("temporal.test", a.cert, a.key)
	a.issue("client", a.cert, a.key)
	stranger := newAuthority(t)
	stranger.issue("client", stranger.cert, stranger.key)
	good := config.Temporal{
		Address: a.front(s.Settings.Address), ServerName: "temporal.test", CAFile: a.path("ca.pem"), CertFile: a.path("client.pem"), KeyFile: a.path("client.key"),
	}
	for name, change := range map[string]func(*config.Temporal){
		"":                  func(*config.Temporal) {},
		"another name":      func(c *config.Temporal) { c.ServerName = "other.test" },
		"another authority": func(c *config.Temporal) { c.CAFile = stranger.path("ca.pem") },
		"no certificate":    func(c *config.Temporal) { c.CertFile, c.KeyFile = "", "" },
		"a stranger's": func(c *config.Temporal) {
			c.CertFile, c.KeyFile = stranger.path("client.pem"), stranger.path("client.key")
		},
		"no TLS":                  func(c *config.Temporal) { *c = config.Temporal{Address: c.Address} },
		"a missing file":          func(c *config.Temporal) { c.CAFile = a.path("none.pem") },
		"a key as certificate":    func(c *config.Temporal) { c.CAFile = a.path("client.key") },
		"the key of another file": func(c *config.Temporal) { c.KeyFile = a.path("ca.key") },
	} {
		settings := good
		change(&settings)
		c, err := carrier.Connect(settings, "test")
		if err == nil {
			err = carrier.Check(t.Context(), c, settings)
			c.Close()
		}
		if (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
