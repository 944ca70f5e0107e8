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
)

// minToken is how long a token of a person's own is at least, in bytes.
const minToken = 16

// readToken returns the token in a file that nobody else can read.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: fmt.Sprintf("(umask 077; openssl rand -hex 32 > '%s')", path)}
	}
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("others can read %s", path), Hint: fmt.Sprintf("chmod 600 '%s'", path)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken || strings.ContainsAny(token, " \t\r\n") {
		return "", usage("%s has no token: that is one word of at least %d characters", path, minToken)
	}
	return token, nil
}

// shown lets through who shows the token. In how long it refuses nobody sees how much of a guess was right.
func shown(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
			http.Error(w, "show the token that `pawl mcp` printed: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// local lets through who calls the server by a name of this machine, and no page of a browser but the server's own: a page
// from elsewhere can have a browser call any address, and a name of its own lead here.
func local(address string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ours(r.Host, port) {
			http.Error(w, "this host is not served here", http.StatusForbidden)
			return
		}
		if from := r.Header.Values("Origin"); len(from) > 0 && !ourPage(from, port) {
			http.Error(w, "pages from there are not served here", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func ours(hostport, port string) bool {
	host, p, err := net.SplitHostPort(hostport)
	return err == nil && p == port && loopback(host)
}

func ourPage(origins []string, port string) bool {
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && u.Scheme == "http" && ours(u.Host, port)
}
