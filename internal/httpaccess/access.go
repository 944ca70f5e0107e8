// Package httpaccess decides who may use an HTTP server of pawl on this machine: it listens on loopback addresses only, and accepts only
// requests to them, from pages of them, with the right token.
package httpaccess

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"pawl"
	"pawl/internal/disk"
)

// minToken is the minimum length of a user-supplied token in bytes.
const minToken = 16

// ReadToken returns the token in a file, which other users must not be able to read.
func ReadToken(path string) (string, error) {
	data, err := ReadPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: fmt.Sprintf("(umask 077; openssl rand -hex 32 > '%s')", path)}
	}
	if err != nil {
		return "", err
	}
	if token, ok := parseToken(data); ok {
		return token, nil
	}
	return "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s contains no token: expected one word of at least %d characters", path, minToken)}
}

// ReadPrivate returns the content of a small file, which other users must not be able to read.
func ReadPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("other users can read %s", path), Hint: fmt.Sprintf("chmod 600 '%s'", path)}
	}
	return disk.ReadFile(path, disk.IdentityLimit)
}

func parseToken(data []byte) (token string, ok bool) {
	token = strings.TrimSpace(string(data))
	return token, len(token) >= minToken && !strings.ContainsAny(token, " \t\r\n")
}

// RequireToken accepts only requests with the token; source is the command that printed it.
func RequireToken(token, source string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !HasToken(r, token) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
			http.Error(w, "missing or wrong token; send the token that `"+source+"` printed: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// HasToken reports whether a request has the token. It compares in constant time.
func HasToken(r *http.Request, token string) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// RequireLocal accepts only requests to a loopback name without a foreign Origin. It protects against cross-site requests and
// DNS rebinding: a foreign page can make a browser call any address, and its own host name can resolve to this machine.
func RequireLocal(address string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocalHost(r.Host, port) {
			http.Error(w, "host not allowed", http.StatusForbidden)
			return
		}
		if from := r.Header.Values("Origin"); len(from) > 0 && !isLocalOrigin(from, port) {
			http.Error(w, "origin not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLocalHost(hostport, port string) bool {
	host, p, err := net.SplitHostPort(hostport)
	return err == nil && p == port && loopback(host)
}

func isLocalOrigin(origins []string, port string) bool {
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && u.Scheme == "http" && isLocalHost(u.Host, port)
}

// Listen opens a port on a loopback address, by default a free one of 127.0.0.1; hint is the command that the user gave.
func Listen(ctx context.Context, address, hint string) (net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	if err := CheckAddress(address, hint); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("listen: %w", err), Hint: hint}
	}
	if own, ok := listener.Addr().(*net.TCPAddr); !ok || !own.IP.IsLoopback() {
		return nil, errors.Join(&pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s resolves to %s, which is not a loopback address", address, listener.Addr())}, listener.Close())
	}
	return listener, nil
}

// CheckAddress returns an error for an address that Listen refuses.
func CheckAddress(address, hint string) error {
	if host, _, err := net.SplitHostPort(address); err != nil || !loopback(host) {
		return &pawl.Error{
			Kind: pawl.KindUsage, Err: fmt.Errorf("%s is not a loopback address such as 127.0.0.1:7295", address), Hint: hint,
		}
	}
	return nil
}

// loopback reports whether host is a loopback name or address.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
