package page_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pawl/internal/server/page"
)

// TestHandler serves the files of the page with headers that restrict them, and nothing else.
func TestHandler(t *testing.T) {
	t.Parallel()
	handler := page.Handler()
	call := func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for path, kind := range map[string]string{
		"/": "text/html", "/login": "text/html", "/page.js": "text/javascript", "/layout.js": "text/javascript", "/style.css": "text/css", "/icon.svg": "image/svg+xml",
	} {
		w := call(http.MethodGet, path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %s, %d bytes; want %s", path, w.Code, w.Header().Get("Content-Type"), w.Body.Len(), kind)
		}
		policy := w.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, w.Header())
		}
		if again := call(http.MethodGet, path, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again: %d, %d bytes", path, again.Code, again.Body.Len())
		}
	}
	for path, want := range map[string]int{"/nothing": http.StatusNotFound, "/src/main.tsx": http.StatusNotFound, "/LICENSES": http.StatusNotFound, "/login/x": http.StatusNotFound} {
		if w := call(http.MethodGet, path); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	if w := call(http.MethodPost, "/"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestDocument: all that the document needs comes from the server itself.
func TestDocument(t *testing.T) {
	t.Parallel()
	handler := page.Handler()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	for _, bad := range []string{"://", "<style", "onclick", "onload", "<script>"} {
		if strings.Contains(w.Body.String(), bad) {
			t.Errorf("the document contains %q", bad)
		}
	}
}
