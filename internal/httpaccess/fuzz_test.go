package httpaccess

import (
	"net"
	"net/url"
	"strings"
	"testing"
)

// FuzzAccess reads anything as a token file, and as the headers by which a request shows where it comes from.
func FuzzAccess(f *testing.F) {
	f.Add([]byte("0123456789abcdef\n"), "localhost:80", "http://127.0.0.1:80")
	f.Add([]byte("short"), "[::1]:80", "http://evil.example#localhost:80")
	f.Add([]byte("0123456789 abcdef"), "127.0.0.1.evil.example:80", "http://user@evil.example:80")
	f.Fuzz(func(t *testing.T, data []byte, host, origin string) {
		if token, ok := parseToken(data); ok && (len(token) < minToken || strings.ContainsAny(token, " \r\n")) {
			t.Errorf("token %q", token)
		}
		if isLocalHost(host, "80") && !localHost(strings.TrimSuffix(host, ":80")) {
			t.Errorf("%q is called this machine", host)
		}
		if u, err := url.Parse(origin); isLocalOrigin([]string{origin}, "80") && (err != nil || !localHost(u.Hostname())) {
			t.Errorf("%q is called this machine", origin)
		}
	})
}

// localHost reports whether a name is one of this machine, with or without brackets.
func localHost(name string) bool {
	name = strings.Trim(name, "[]")
	ip := net.ParseIP(strings.SplitN(name, "%", 2)[0])
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
