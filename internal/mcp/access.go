package mcp

import (
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

// readToken returns the token in a file, which other users must not be able to read.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: fmt.Sprintf("(umask 077; openssl rand -hex 32 > '%s')", path)}
	}
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("other users can read %s", path), Hint: fmt.Sprintf("chmod 600 '%s'", path)}
	}
	data, err := disk.ReadFile(path, disk.IdentityLimit)
	if err != nil {
		return "", err
	}
	if token, ok := parseToken(data); ok {
		return token, nil
	}
	return "", usage("%s contains no token: expected one word of at least %d characters", path, minToken)
}

func parseToken(data []byte) (token string, ok bool) {
	token = strings.TrimSpace(string(data))
	return token, len(token) >= minToken && !strings.ContainsAny(token, " \t\r\n")
}

// requireToken accepts only requests with the token. It compares in constant time.
func requireToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
			http.Error(w, "missing or wrong token; send the token that `pawl mcp` printed: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// requireLocal accepts only requests to a loopback name without a foreign Origin. It protects against cross-site requests and
// DNS rebinding: a foreign page can make a browser call any address, and its own host name can resolve to this machine.
func requireLocal(address string, next http.Handler) http.Handler {
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
