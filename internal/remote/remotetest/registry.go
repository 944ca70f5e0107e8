package remotetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Registry is an OCI registry with one repository, team/pawl, that fails as real ones do, but cannot be made to.
type Registry struct {
	*httptest.Server
	Protected bool // tags are not overwritten

	mu    sync.Mutex
	blobs map[string][]byte // by digest
	tags  map[string][]byte // manifests
	begun map[string]bool   // uploads
}

// repository is the path of the repository.
const repository = "/v2/team/pawl/"

// NewRegistry starts a registry, whose requests go through m; nil serves them all.
func NewRegistry(t *testing.T, m Middleware) *Registry {
	t.Helper()
	s := &Registry{blobs: map[string][]byte{}, tags: map[string][]byte{}, begun: map[string]bool{}}
	serve := http.HandlerFunc(s.serve)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m == nil {
			s.serve(w, r)
			return
		}
		m(w, r, serve)
	}))
	t.Cleanup(s.Close)
	return s
}

// Host returns the host of the registry, with its port.
func (s *Registry) Host() string { return strings.TrimPrefix(s.URL, "http://") }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s *Registry) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, repository), "/")
	switch {
	case !strings.HasPrefix(r.URL.Path, repository):
		deny(w, http.StatusNotFound, "NAME_UNKNOWN")
	case kind == "tags":
		s.list(w, r.URL.Query().Get("last"))
	case kind == "blobs":
		s.blob(w, r, name, body)
	case kind == "manifests":
		s.manifest(w, r, name, body)
	}
}

func deny(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errors":[{"code":%q,"message":"as it says"}]}`, code)
}

// tagsAtOnce is how many tags a page has.
const tagsAtOnce = 3

func (s *Registry) list(w http.ResponseWriter, after string) {
	tags := []string{}
	for tag := range s.tags {
		if tag > after {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	if len(tags) > tagsAtOnce {
		tags = tags[:tagsAtOnce]
		w.Header().Set("Link", `<`+repository+`tags/list?last=`+tags[tagsAtOnce-1]+`>; rel="next"`)
	}
	_ = json.NewEncoder(w).Encode(map[string][]string{"tags": tags}) // the client sees what is missing
}

func (s *Registry) blob(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	content, there := s.blobs[name]
	switch {
	case r.Method == http.MethodPost:
		upload := fmt.Sprintf("uploads/%d", len(s.begun)+1)
		s.begun[upload] = true
		w.Header().Set("Location", repository+"blobs/"+upload+"?state=x")
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut && !s.begun[name]:
		deny(w, http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN")
	case r.Method == http.MethodPut:
		s.begun[name] = false
		if digest := r.URL.Query().Get("digest"); digest != digestOf(body) {
			deny(w, http.StatusBadRequest, "DIGEST_INVALID")
			return
		}
		s.blobs[digestOf(body)] = body
		w.WriteHeader(http.StatusCreated)
	case !there:
		deny(w, http.StatusNotFound, "BLOB_UNKNOWN")
	case r.Method == http.MethodGet:
		_, _ = w.Write(content)
	}
}

func (s *Registry) manifest(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	content, there := s.tags[name]
	switch r.Method {
	case http.MethodPut:
		if there && s.Protected {
			deny(w, http.StatusConflict, "DENIED")
			return
		}
		s.tags[name] = body
		w.WriteHeader(http.StatusCreated)
	case http.MethodGet:
		if !there {
			deny(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
			return
		}
		_, _ = w.Write(content)
	case http.MethodDelete:
		for tag, content := range s.tags {
			if digestOf(content) == name {
				delete(s.tags, tag)
			}
		}
		w.WriteHeader(http.StatusAccepted)
	}
}
