package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"pawl/internal/kernel"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                                  "is no http or https URL",
		"localhost:8888":                    "is no http or https URL",
		"ftp://127.0.0.1":                   "is no http or https URL",
		"http://example.org":                "would send the token and all code in the clear; use https",
		"http://10.0.0.1:8888":              "use https",
		"http://localhost.example.org":      "use https",
		"https://user:secret@example.org":   "it must have no user",
		"https://example.org/?token=secret": "set the token in JUPYTER_TOKEN",
		"http://127.0.0.1:8888":             "",
		"http://[::1]:8888/base":            "",
		"http://localhost:8888/":            "",
		"https://example.org/user/ada/":     "",
	} {
		_, err := newAPI(kernel.Server{URL: address, Token: "secret"})
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", address, err, want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

// TestRefusals: what a server answers other than a kernel.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	const specs = `{"default":"python3","kernelspecs":{"python3":{"spec":{"display_name":"Python 3","language":"python"}},"ir":{"spec":{}}}}`
	for _, test := range []struct {
		name, token, spec string
		answer            http.HandlerFunc
		want              string
	}{
		{"no token", "", "", status(403, ""), "wants a token (403); set JUPYTER_TOKEN"},
		{"wrong token", "secret", "", status(401, ""), "refuses the token in JUPYTER_TOKEN (401)"},
		{"no Jupyter", "secret", "", status(404, ""), "with its base path?"},
		{"a page", "secret", "", status(200, "<html>"), "is not that of a Jupyter server"},
		{"a redirect", "secret", "", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }, "the server redirects (302)"},
		{"an error", "secret", "", status(500, `{"message":"out of\n order"}`), "the Jupyter server answers 500: out of order"},
		{"an unknown kernelspec", "secret", "julia", status(200, specs), `has no kernelspec "julia"; it has: ir, python3`},
		{"too much", "secret", "", status(200, strings.Repeat(" ", maxAnswer+1)), "has more than 4 MiB"},
	} {
		server := httptest.NewServer(test.answer)
		k, err := Driver{}.Start(t.Context(), kernel.Spec{Name: test.spec, Server: kernel.Server{URL: server.URL, Token: test.token}}, func(kernel.Message) {})
		server.Close()
		if k != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the token: %v", test.name, err)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// TestToken: the token is in a header, and in no address.
func TestToken(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	api, err := newAPI(kernel.Server{URL: server.URL + "/base", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.connect(t.Context(), "id", "a session", []string{v1}); err == nil {
		t.Error("connected")
	}
	r := <-seen
	if r.URL.String() != "/base/api/kernels/id/channels?session_id=a+session" || r.Header.Get("Authorization") != "token secret" {
		t.Errorf("%s with %v", r.URL, r.Header)
	}
}
