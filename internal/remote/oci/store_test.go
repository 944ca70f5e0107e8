package oci_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/remote"
	"pawl/internal/remote/oci"
	"pawl/internal/remote/remotetest"
	"pawl/internal/remote/request"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens the registry's repository, with the credentials in a folder.
func open(t *testing.T, host, home string) remote.Store {
	t.Helper()
	client := request.New(nil)
	client.Pause, client.Tries = time.Millisecond, 30
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	s, err := oci.Open(&url.URL{Scheme: "oci", Host: host, Path: "/team/pawl"}, client, getenv)
	must(t, err)
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	r := remotetest.NewRegistry(t, nil)
	remotetest.RunUnconditional(t, func(t *testing.T) remote.Store { return open(t, r.Host(), "") })
}

// TestProtectedTags: a registry that protects its tags keeps all promises of a store.
func TestProtectedTags(t *testing.T) {
	t.Parallel()
	r := remotetest.NewRegistry(t, nil)
	r.Protected = true
	remotetest.Run(t, func(t *testing.T) remote.Store { return open(t, r.Host(), "") })
}

// TestUnreliableRegistry: whatever is lost on the way, the store keeps its promises.
func TestUnreliableRegistry(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]remotetest.Middleware{
		"connection cut":      func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { remotetest.Cut(w) },
		"answer lost":         remotetest.Lost,
		"service unavailable": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusBadGateway) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			r := remotetest.NewRegistry(t, func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
				if n.Add(1)%2 == 1 {
					spoil(w, r, serve)
				} else {
					serve.ServeHTTP(w, r)
				}
			})
			r.Protected = true
			remotetest.Run(t, func(t *testing.T) remote.Store { return open(t, r.Host(), "") })
		})
	}
}

// guarded serves requests with an Authorization header, and remembers the scope for which it gave a token.
func guarded(challenge string, want string) remotetest.Middleware {
	return func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		user, password, _ := r.BasicAuth()
		_ = r.ParseForm()
		switch {
		case r.URL.Path == "/token" && (user+":"+password == want || r.PostForm.Get("refresh_token") == want):
			fmt.Fprintf(w, `{"token":"for %s"}`, r.Form.Get("scope"))
		case r.URL.Path == "/token":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("Authorization") == "Bearer for some scope", strings.HasPrefix(challenge, "Basic") && user+":"+password == want:
			serve.ServeHTTP(w, r)
		default:
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(challenge, "HOST", r.Host))
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

const bearer = `Bearer realm="http://HOST/token",service="a registry",scope="some scope"`

// homeWith returns a home folder with settings of docker.
func homeWith(t *testing.T, settings string) string {
	t.Helper()
	home := t.TempDir()
	must(t, os.Mkdir(filepath.Join(home, ".docker"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, ".docker", "config.json"), []byte(settings), 0o600))
	return home
}

// TestCredentials: the store logs in as docker does.
func TestCredentials(t *testing.T) {
	helpers := t.TempDir()
	t.Setenv("PATH", helpers+string(filepath.ListSeparator)+os.Getenv("PATH"))
	must(t, os.WriteFile(filepath.Join(helpers, "docker-credential-test"), []byte("#!/bin/sh\nread -r host\n"+
		"case $host in token*) n='<token>';; none*) echo credentials not found; exit 1;; *) n=ann;; esac\necho '{\"Username\":\"'$n'\",\"Secret\":\"secret\"}'\n"), 0o700))
	for name, c := range map[string]struct {
		challenge, settings, want string
		refused                   bool
	}{
		"basic":         {challenge: `Basic realm="x"`, settings: `{"auths":{"HOST":{"auth":"YW5uOnNlY3JldA=="}}}`, want: "ann:secret"},
		"token":         {challenge: bearer, settings: `{"auths":{"https://HOST/":{"username":"ann","password":"secret"}}}`, want: "ann:secret"},
		"helper":        {challenge: bearer, settings: `{"credHelpers":{"HOST":"test"}}`, want: "ann:secret"},
		"store":         {challenge: bearer, settings: `{"auths":{"HOST":{}},"credsStore":"test"}`, want: "ann:secret"},
		"identity":      {challenge: bearer, settings: `{"auths":{"HOST":{"identitytoken":"secret"}}}`, want: "secret"},
		"anonymous":     {challenge: bearer, settings: `{}`, want: ":"},
		"none":          {challenge: `Basic realm="x"`, settings: `{}`, want: "ann:secret", refused: true},
		"other host":    {challenge: `Basic realm="x"`, settings: `{"auths":{"example.com":{"auth":"YW5uOnNlY3JldA=="}}}`, want: "ann:secret", refused: true},
		"bad helper":    {challenge: bearer, settings: `{"credsStore":"../test"}`, want: "ann:secret", refused: true},
		"bad settings":  {challenge: bearer, settings: `{`, want: "ann:secret", refused: true},
		"foreign realm": {challenge: `Bearer realm="http://example.com/token"`, settings: `{"auths":{"HOST":{"auth":"YW5uOnNlY3JldA=="}}}`, want: "ann:secret", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := remotetest.NewRegistry(t, guarded(c.challenge, c.want))
			s := open(t, r.Host(), homeWith(t, strings.ReplaceAll(c.settings, "HOST", r.Host())))
			created, err := s.Create(t.Context(), "packs/a", []byte("content"))
			if c.refused {
				if err == nil || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !created {
				t.Errorf("%v, %v", created, err)
			}
		})
	}
	r := remotetest.NewRegistry(t, guarded(`Basic realm="x"`, "ann:secret"))
	if _, err := open(t, r.Host(), "").Get(t.Context(), "packs/a", 9); pawl.HintOf(err) != "docker login "+r.Host() {
		t.Errorf("%v: %s", err, pawl.HintOf(err))
	}
}

// TestRedirects: content may be elsewhere. Credentials are not sent there, and nothing is fetched without TLS.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was sent to another server", r.URL) }))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct{ to, want string }{
		"the same server":  {"/content", ""},
		"without TLS":      {other.URL, "not encrypted"},
		"again and again":  {"/again", "again and again"},
		"an upload, there": {"", "takes uploads at another server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := guarded(`Basic realm="x"`, "ann:secret")
			r := remotetest.NewRegistry(t, func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
				switch {
				case r.URL.Path == "/content" && r.Header.Get("Authorization") == "":
					fmt.Fprint(w, "content")
				case r.URL.Path == "/again", c.to != "" && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/"):
					http.Redirect(w, r, c.to, http.StatusTemporaryRedirect)
				case c.to == "" && r.Method == http.MethodPost:
					w.Header().Set("Location", other.URL)
					w.WriteHeader(http.StatusAccepted)
				default:
					ask(w, r, serve)
				}
			})
			s := open(t, r.Host(), homeWith(t, strings.ReplaceAll(`{"auths":{"HOST":{"auth":"YW5uOnNlY3JldA=="}}}`, "HOST", r.Host())))
			_, err := s.Create(t.Context(), "packs/a", []byte("content"))
			var data []byte
			if c.to != "" {
				must(t, err)
				data, err = s.Get(t.Context(), "packs/a", 10)
			}
			if c.want == "" && (err != nil || string(data) != "content") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%q, %v; want %s", data, err, c.want)
			}
		})
	}
}

// TestHostileRegistry: what does not fit is an error, and not believed.
func TestHostileRegistry(t *testing.T) {
	t.Parallel()
	const sum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	layer := func(digest string, size int, key string) string {
		return fmt.Sprintf(`{"layers":[{"digest":%q,"size":%d}],"annotations":{"dev.pawl.key":%q,"org.opencontainers.image.created":"2026-01-01T00:00:00Z"}}`, digest, size, key)
	}
	for name, c := range map[string]struct{ manifest, blob, want string }{
		"no manifest":      {"{}", "", "not one of pawl"},
		"another key":      {layer(sum, 3, "packs/b"), "", "not one of pawl"},
		"no digest":        {layer("../../x", 3, "packs/a"), "", "is invalid"},
		"negative size":    {layer(sum, -3, "packs/a"), "", "is invalid"},
		"another content":  {layer(sum, 3, "packs/a"), "abc", "does not match its digest"},
		"more content":     {layer(sum, 3, "packs/a"), "abcd", "too large"},
		"a large manifest": {strings.Repeat(" ", 1<<17), "", "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := remotetest.NewRegistry(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				if strings.Contains(r.URL.Path, "/manifests/") {
					fmt.Fprint(w, c.manifest)
				} else {
					fmt.Fprint(w, c.blob)
				}
			})
			if data, err := open(t, r.Host(), "").Get(t.Context(), "packs/a", 10); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v; want %s", data, err, c.want)
			}
		})
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was sent to another server", r.URL) }))
	t.Cleanup(other.Close)
	for name, answer := range map[string]func(w http.ResponseWriter){
		"elsewhere": func(w http.ResponseWriter) {
			w.Header().Set("Link", `<`+other.URL+`/v2/team/pawl/tags/list?last=a>; rel="next"`)
			fmt.Fprint(w, `{"tags":[]}`)
		},
		"no list": func(w http.ResponseWriter) { fmt.Fprint(w, "yes?") },
		"endless": func(w http.ResponseWriter) {
			for range 1000 {
				_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<16))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := remotetest.NewRegistry(t, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { answer(w) })
			if list, err := open(t, r.Host(), "").List(t.Context(), ""); err == nil {
				t.Errorf("%v", list)
			}
		})
	}
}

// TestNoDeletions: a registry that forbids deletions says so.
func TestNoDeletions(t *testing.T) {
	t.Parallel()
	r := remotetest.NewRegistry(t, func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		serve.ServeHTTP(w, r)
	})
	s := open(t, r.Host(), "")
	_, err := s.Create(t.Context(), "packs/a", []byte("content"))
	must(t, err)
	if err := s.Delete(t.Context(), "packs/a"); err == nil || !strings.Contains(err.Error(), "does not allow deletions") {
		t.Errorf("%v", err)
	}
	if err := s.Delete(t.Context(), "packs/missing"); err != nil {
		t.Errorf("missing: %v", err)
	}
	if _, err := s.Get(t.Context(), "packs/missing", 1); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("missing: %v", err)
	}
}
