// Package page is the web page of `pawl serve`: one document with its scripts and styles, which use the server's API.
//
// src has the sources, dist what `make page` makes of them. dist is committed, so that nobody needs Node.js to build pawl. The page needs
// nothing from elsewhere, evaluates no text as code, and cannot be framed: the policy that the handler sends has the browser enforce that.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed dist/index.html dist/page.js dist/layout.js dist/style.css dist/icon.svg
var files embed.FS

// policy is the Content-Security-Policy of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// names are the files of the page by their paths. A one-time link leads to /login; its code, behind #, stays in the browser.
var names = map[string]string{
	"/": "index.html", "/login": "index.html", "/page.js": "page.js", "/layout.js": "layout.js", "/style.css": "style.css", "/icon.svg": "icon.svg",
}

// file is a file of the page.
type file struct {
	name string
	data []byte
	tag  string // hash of data
}

// Handler serves the page. Browsers ask each time whether a file has changed.
func Handler() http.Handler {
	mux := http.NewServeMux()
	for path, name := range names {
		data, err := files.ReadFile("dist/" + name)
		if err != nil {
			panic("the page is compiled in: " + err.Error())
		}
		sum := sha256.Sum256(data)
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle("GET "+path, file{name, data, `"` + hex.EncodeToString(sum[:8]) + `"`})
	}
	return secured(mux)
}

// ServeHTTP serves the file.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", f.tag)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.data))
}

// secured sets the headers that restrict what the page can do, and who can use it.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
