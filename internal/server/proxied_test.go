package server

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"pawl/internal/config"
	"pawl/internal/httpaccess"
	"pawl/internal/tokens"
)

// behindProxy has the server of w know the clients that a proxy at the peers names. Requests name the host of the proxy.
func (w *world) behindProxy(peers ...string) {
	w.Helper()
	p, err := newProxied(config.Proxy{
		Peers: peers, Header: "x-forwarded-user", Users: map[string][]string{"ann": {"read", "approve"}, "bob": {"read"}},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.api.proxied = p
	site, err := httpaccess.Remote{Proxy: "https://pawl.example.com"}.Listen(w.Context(), "127.0.0.1:0", "")
	if err != nil {
		w.Fatal(err)
	}
	server := &http.Server{Handler: w.api.handler(site)}
	go func() { _ = server.Serve(site) }()
	w.Cleanup(func() { server.Close() })
	w.url = "http://" + site.Addr().String()
}

const proxyHost = "Host: pawl.example.com"

// TestProxied: who a client is, the proxy says. Everything that could come past the proxy, or from a page of another server, is refused.
func TestProxied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: look, gate: {type: human_verify, ask: ok?}}\n"})
	w.pawl(3, "run", "plan.yaml")
	w.look()
	w.behindProxy("127.0.0.1", "10.1.0.0/16")
	ann, bob := "X-Forwarded-User: ann", "X-Forwarded-User: bob"
	const none = "Authorization: "
	for what, c := range map[string]struct {
		status  int
		headers []string
	}{
		"named":              {200, []string{proxyHost, none, ann}},
		"own token":          {200, []string{proxyHost}},
		"token over name":    {200, []string{proxyHost, bob}},
		"wrong token, named": {401, []string{proxyHost, bearer("x"), ann}},
		"no name":            {401, []string{proxyHost, none}},
		"empty name":         {401, []string{proxyHost, none, "X-Forwarded-User: "}},
		"unknown name":       {403, []string{proxyHost, none, "X-Forwarded-User: eve"}},
		"another case":       {403, []string{proxyHost, none, "X-Forwarded-User: Ann"}},
		"two names":          {403, []string{proxyHost, none, "X-Forwarded-User: ann, bob"}},
		"other header":       {401, []string{proxyHost, none, "X-Forwarded-Email: ann"}},
		"underscores":        {401, []string{proxyHost, none, "X_Forwarded_User: ann"}},
		"another site":       {403, []string{proxyHost, none, ann, "Sec-Fetch-Site: cross-site"}},
		"another subdomain":  {403, []string{proxyHost, none, ann, "Sec-Fetch-Site: same-site"}},
	} {
		a := w.call("GET", "/api/session", nil, c.headers...)
		if a.status != c.status {
			t.Errorf("%s: %d, want %d: %s", what, a.status, c.status, a.text)
		}
	}
	for _, host := range []string{"Host: 127.0.0.1", "Host: evil.example.com", "Host: localhost"} {
		if a := w.call("GET", "/api/session", nil, host, none, ann); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", host, a.status)
		}
	}
	gates := w.call("GET", "/api/gates?project="+w.id, nil, proxyHost, none, ann).body["gates"].([]any)
	gate := gates[0].(map[string]any)
	approve := func(headers ...string) answer {
		return w.call("POST", "/api/gates/"+gate["id"].(string)+"/approve", map[string]any{"shown": gate["shown"]}, append([]string{proxyHost, none}, headers...)...)
	}
	for what, headers := range map[string][]string{
		"no right":           {bob},
		"page elsewhere":     {ann, "Origin: https://evil.example.com"},
		"cross-site":         {ann, "Sec-Fetch-Site: cross-site"},
		"page on the port":   {ann, "Origin: http://127.0.0.1:1"},
		"null":               {ann, "Origin: null"},
		"same-site":          {ann, "Sec-Fetch-Site: same-site", "Origin: https://other.example.com"},
		"form of a web page": {ann, "Origin: https://evil.example.com", "Content-Type: text/plain"},
	} {
		if a := approve(headers...); a.status != http.StatusForbidden {
			t.Errorf("%s: %d: %s", what, a.status, a.text)
		}
	}
	a := approve(ann, "Origin: https://pawl.example.com", "Sec-Fetch-Site: same-origin")
	if a.status != 200 || a.body["resolved_by"] != "ann" {
		t.Errorf("%d: %s", a.status, a.text)
	}
}

// TestProxyPeers: nobody but the peers reaches the server, with whatever headers and token. Without the setting, the header means nothing.
func TestProxyPeers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.want(http.StatusUnauthorized, "GET", "/api/session", nil, "Authorization: ", "X-Forwarded-User: ann")
	w.behindProxy("10.1.2.3", "192.168.0.0/24", "::1")
	for _, path := range []string{"/api/session", "/healthz", "/readyz", "/metrics", "/", "/openapi.json"} {
		for _, headers := range [][]string{{proxyHost}, {proxyHost, "Authorization: ", "X-Forwarded-User: ann"}, {proxyHost, "X-Forwarded-For: 10.1.2.3", "X-Real-IP: 10.1.2.3"}} {
			if a := w.call("GET", path, nil, headers...); a.status != http.StatusForbidden || !strings.Contains(a.text, "peer not allowed") {
				t.Errorf("%s with %q: %d %s", path, headers, a.status, a.text)
			}
		}
	}
	if from, err := w.api.proxied.local(); from != "::1" || err != nil {
		t.Errorf("%q, %v", from, err)
	}
	w.api.proxied.users = map[string][]tokens.Right{"bob": {tokens.Read}}
	if from, err := w.api.proxied.local(); from != "" || err != nil {
		t.Errorf("nobody may approve: %q, %v", from, err)
	}
}

// TestTwoNames: a client adds a header, and the proxy another one.
func TestTwoNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.behindProxy("127.0.0.1")
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /api/session HTTP/1.1\r\nHost: pawl.example.com\r\nX-Forwarded-User: ann\r\nX-Forwarded-User: bob\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 100)
	if n, err := conn.Read(got); err != nil || !strings.HasPrefix(string(got[:n]), "HTTP/1.1 400") {
		t.Errorf("%s, %v", got[:n], err)
	}
}

func TestNewProxied(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]config.Proxy{
		"unknown right": {Header: "X", Peers: []string{"::1"}, Users: map[string][]string{"ann": {"root"}}},
		"invalid name":  {Header: "X", Peers: []string{"::1"}, Users: map[string][]string{"pawl serve": {"read"}}},
		"invalid peer":  {Header: "X", Peers: []string{"10.0.0.1/8"}, Users: map[string][]string{"ann": {"read"}}},
	} {
		if _, err := newProxied(c); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if p, err := newProxied(config.Proxy{}); p != nil || err != nil {
		t.Error(p, err)
	}
}
