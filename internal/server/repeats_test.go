package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/tokens"
)

// keyed sends a request with a key to a handler behind repeats.
func keyed(t *testing.T, r *repeats, client, key string, do http.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest("POST", "/api/x", strings.NewReader("{}"))
	request.Header.Set(repeatHeader, key)
	answer := httptest.NewRecorder()
	r.once(do).ServeHTTP(answer, request.WithContext(context.WithValue(t.Context(), clientKey{}, tokens.Token{ID: client})))
	return answer
}

// TestRepeatLimits: where there is no room for the record of a key, nothing is done. Records go when they expire, not before.
func TestRepeatLimits(t *testing.T) {
	t.Parallel()
	r, calls := &repeats{folder: filepath.Join(t.TempDir(), "repeats")}, 0
	do := func(w http.ResponseWriter, _ *http.Request) { calls++; fmt.Fprint(w, calls) }
	want := func(client, key string, code int, body string) {
		t.Helper()
		a := keyed(t, r, client, key, do)
		if a.Code != code || body != "" && a.Body.String() != body {
			t.Errorf("%s %s: %d %s, want %d %s", client, key, a.Code, a.Body, code, body)
		}
		if code == http.StatusTooManyRequests && a.Header().Get("Retry-After") != "3600" {
			t.Errorf("Retry-After %q", a.Header().Get("Retry-After"))
		}
	}
	want("ann", "a", 200, "1")
	ann := clientOfRecord(recordName("ann", ""))
	r.clients[ann] = maxOfClient
	want("ann", "b", 429, "")
	want("ann", "a", 200, "1") // a repetition needs no room
	want("bob", "b", 200, "2")
	r.clients[ann] = 1
	r.bytes += maxRepeats
	want("ann", "b", 429, "")
	r.bytes -= maxRepeats
	for i := range maxRecords - 2 {
		r.sizes[fmt.Sprint(i)] = 0
	}
	want("ann", "b", 429, "")
	if calls != 2 {
		t.Errorf("%d requests were done", calls)
	}
	leftOver, record := filepath.Join(r.folder, ".x.pawl-new"), filepath.Join(r.folder, recordName("ann", "a"))
	old := time.Now().Add(-repeatLasts - time.Minute)
	if err := errors.Join(os.WriteFile(leftOver, nil, 0o600), os.Chtimes(leftOver, old, old), os.Chtimes(record, old, old)); err != nil {
		t.Fatal(err)
	}
	r.counted = old // the folder is read again: only bob's record is there
	want("ann", "b", 200, "3")
	if entries, err := os.ReadDir(r.folder); len(entries) != 2 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	var size int64
	for _, n := range r.sizes {
		size += n
	}
	if len(r.sizes) != 2 || r.bytes != size || size == 0 || r.clients[ann] != 1 {
		t.Errorf("%v, %v, %d bytes", r.sizes, r.clients, r.bytes)
	}
	want("ann", "a", 200, "4")
}

// TestRepeatAnswers: an answer that is too long to keep, a server that dies and a record that is damaged never lead to a second time. A
// request that failed in the server is done again.
func TestRepeatAnswers(t *testing.T) {
	t.Parallel()
	r, calls := &repeats{folder: t.TempDir()}, map[string]int{}
	for _, c := range []struct {
		key    string
		do     func(http.ResponseWriter)
		first  int
		again  int
		second int // calls then
	}{
		{"long", func(w http.ResponseWriter) { w.Write(bytes.Repeat([]byte("x"), maxRecord+1)) }, 200, 409, 1},
		{"dies", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, 409, 1},
		{"fails", func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 503, 503, 2},
		{"torn", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, 204, 500, 1},
	} {
		do := func(w http.ResponseWriter, _ *http.Request) { calls[c.key]++; c.do(w) }
		func() {
			defer func() { _ = recover() }()
			if a := keyed(t, r, "ann", c.key, do); a.Code != c.first {
				t.Errorf("%s: %d, want %d", c.key, a.Code, c.first)
			}
		}()
		if c.key == "torn" {
			if err := os.Truncate(filepath.Join(r.folder, recordName("ann", c.key)), 5); err != nil {
				t.Fatal(err)
			}
		}
		if a := keyed(t, r, "ann", c.key, do); a.Code != c.again || calls[c.key] != c.second {
			t.Errorf("%s again: %d after %d calls, want %d after %d: %s", c.key, a.Code, calls[c.key], c.again, c.second, a.Body)
		}
	}
	if len(r.sizes) != 3 {
		t.Errorf("%v", r.sizes)
	}
}
