package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/remote"
	"pawl/internal/remote/remotetest"
	"pawl/internal/remote/request"
	"pawl/internal/remote/s3"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStorage(t *testing.T) *remotetest.Storage {
	t.Helper()
	s := remotetest.NewStorage()
	s.Page = 2
	t.Cleanup(s.Close)
	return s
}

// impatient returns a client that waits for nothing.
func impatient() *request.Client {
	c := request.New(nil)
	c.Pause, c.Tries = time.Millisecond, 30
	return c
}

func open(t *testing.T, s *remotetest.Storage, bucket string) *s3.Store {
	t.Helper()
	return openWith(t, s, bucket, impatient())
}

func openWith(t *testing.T, s *remotetest.Storage, bucket string, client *request.Client) *s3.Store {
	t.Helper()
	store, err := s3.Open(&url.URL{Scheme: "s3", Host: bucket, Path: "/below"}, client, s.Getenv)
	must(t, err)
	return store
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	bucket := s.Bucket(t, nil)
	remotetest.Run(t, func(t *testing.T) remote.Store { return open(t, s, bucket) })
}

// everyOther spoils each odd request.
func everyOther(spoil remotetest.Middleware) remotetest.Middleware {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if n.Add(1)%2 == 1 {
			spoil(w, r, serve)
		} else {
			serve.ServeHTTP(w, r)
		}
	}
}

// TestUnreliableServer: whatever is lost on the way, the store keeps its promises. A key whose creation was not answered counts as
// created if it has the content.
func TestUnreliableServer(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]remotetest.Middleware{
		"connection cut": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { remotetest.Cut(w) },
		"answer lost":    remotetest.Lost,
		"service unavailable": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"too many requests": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"half an answer": func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			whole := httptest.NewRecorder()
			serve.ServeHTTP(whole, r)
			if whole.Body.Len() == 0 {
				remotetest.Cut(w)
				return
			}
			w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
			w.WriteHeader(whole.Code)
			_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		},
		"conflict of a PUT": func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			if r.Method != http.MethodPut {
				serve.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusConflict)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorage(t)
			bucket := s.Bucket(t, everyOther(spoil))
			remotetest.Run(t, func(t *testing.T) remote.Store { return open(t, s, bucket) })
		})
	}
}

// TestServerThatIgnoresConditions: it is found before anything relies on it.
func TestServerThatIgnoresConditions(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	bucket := s.Bucket(t, func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		r.Header.Del("If-None-Match")
		serve.ServeHTTP(w, r)
	})
	if err := remote.Probe(t.Context(), open(t, s, bucket)); !errors.Is(err, remote.ErrIgnoresConditions) {
		t.Errorf("%v", err)
	}
}

// TestHostileServer: answers that are too large, endless or invalid, and redirects, are errors. Credentials go nowhere else.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was sent to another server", r.URL) }))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "answered 307"},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		}, "too large"},
		"a large announcement": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
			w.WriteHeader(http.StatusOK)
		}, "too large"},
		"no listing":         {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes?") }, "parse the server's answer"},
		"an endless listing": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<x><IsTruncated>true</IsTruncated></x>") }, "incomplete"},
		"control characters": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>No</Code><Message>&#10;go\u202eaway</Message></Error>")
		}, "answered 403: No"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorage(t)
			store := open(t, s, s.Bucket(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) { c.answer(w, r) }))
			_, err := store.List(t.Context(), "packs/")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("list: %v, want %s", err, c.want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n\u202e") {
				t.Errorf("control characters: %q", err)
			}
			if data, err := store.Get(t.Context(), "packs/a", 10); err == nil {
				if len(data) > 10 {
					t.Errorf("got %d bytes", len(data))
				}
			} else if errors.Is(err, fs.ErrNotExist) || c.want == "too large" && !errors.Is(err, disk.ErrTooLarge) {
				t.Errorf("get: %v", err)
			}
		})
	}
}

// TestListedKeys: names that a store does not use, or that are not below its prefix, are no keys.
func TestListedKeys(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	store := open(t, s, s.Bucket(t, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		fmt.Fprint(w, `<x><Contents><Key>below/../../etc</Key></Contents><Contents><Key>elsewhere/packs/a</Key></Contents><Contents><Key>below/runs/a</Key></Contents>`+
			`<Contents><Key>below/packs/b</Key><Size>3</Size></Contents><Contents><Key>below/packs/b</Key><Size>3</Size></Contents>`+
			`<Contents><Key>below/packs/c</Key><Size>-3</Size></Contents></x>`)
	}))
	if list, err := store.List(t.Context(), "packs/"); err != nil || len(list) != 1 || list[0].Key != "packs/b" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestGivesUp: a server that never recovers is an error that names it.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	var tries atomic.Int64
	client := impatient()
	client.Tries = 4
	store := openWith(t, s, s.Bucket(t, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		tries.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}), client)
	_, err := store.Get(t.Context(), "packs/a", 10)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1") || tries.Load() != 4 {
		t.Errorf("after %d tries: %v", tries.Load(), err)
	}
	nowhere := &remotetest.Storage{Server: &httptest.Server{URL: "http://127.0.0.1:1"}}
	if _, err := openWith(t, nowhere, "bucket", client).Get(t.Context(), "packs/a", 10); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// TestMissingBucket, and a region that is another one, say what to do.
func TestMissingBucket(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	if _, err := open(t, s, "missing").Get(t.Context(), "packs/a", 10); pawl.KindOf(err) != pawl.KindUsage || !strings.Contains(err.Error(), `no bucket "missing"`) {
		t.Errorf("%v", err)
	}
	store := open(t, s, s.Bucket(t, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>")
	}))
	if _, err := store.Get(t.Context(), "packs/a", 10); pawl.HintOf(err) != "export AWS_REGION=eu-west-3" {
		t.Errorf("%v, %s", err, pawl.HintOf(err))
	}
}
