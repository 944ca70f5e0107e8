package remotetest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Storage is an S3 server that fails as real ones do, but cannot be made to. It checks no signatures.
type Storage struct {
	*httptest.Server
	Page int // keys that a listing has at once

	mu      sync.Mutex
	buckets map[string]map[string][]byte
	between map[string]Middleware // by bucket
}

// Middleware answers a request, or lets serve do that.
type Middleware func(w http.ResponseWriter, r *http.Request, serve http.Handler)

// NewStorage starts a server.
func NewStorage() *Storage {
	s := &Storage{Page: 1000, buckets: map[string]map[string][]byte{}, between: map[string]Middleware{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.handle))
	return s
}

// Getenv returns the variables by which clients find the server.
func (s *Storage) Getenv(name string) string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "a secret key"}[name]
}

// Bucket makes a bucket, whose requests go through m; nil serves them all. It returns the bucket's name.
func (s *Storage) Bucket(t *testing.T, m Middleware) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprintf("bucket-%d", len(s.buckets)+1)
	s.buckets[name], s.between[name] = map[string][]byte{}, m
	return name
}

// Between replaces what requests of a bucket go through.
func (s *Storage) Between(bucket string, m Middleware) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between[bucket] = m
}

// Cut closes the connection of a request without an answer.
func Cut(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

// Lost serves a request whose answer is lost.
func Lost(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	serve.ServeHTTP(httptest.NewRecorder(), r)
	Cut(w)
}

func (s *Storage) handle(w http.ResponseWriter, r *http.Request) {
	bucket, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	m := s.between[bucket]
	s.mu.Unlock()
	if m == nil {
		s.serve(w, r)
		return
	}
	m(w, r, http.HandlerFunc(s.serve))
}

func (s *Storage) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	objects, ok := s.buckets[bucket]
	content, there := objects[key]
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case r.Method == http.MethodGet && key == "":
		printList(w, objects, r.URL.Query().Get("prefix"), r.URL.Query().Get("continuation-token"), s.Page)
	case r.Method == http.MethodGet && there:
		_, _ = io.Copy(w, bytes.NewReader(content))
	case r.Method == http.MethodGet:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodPut && there && r.Header.Get("If-None-Match") == "*":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		objects[key] = body
	case r.Method == http.MethodDelete:
		delete(objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as it says</Message></Error>", code)
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string
	Contents              []listedObject
}

type listedObject struct {
	Key          string
	Size         int
	LastModified time.Time
}

func printList(w io.Writer, objects map[string][]byte, prefix, after string, limit int) {
	var keys []string
	for key := range objects {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var page listing
	for i, key := range keys {
		if i == limit {
			page.IsTruncated, page.NextContinuationToken = true, keys[i-1]
			break
		}
		page.Contents = append(page.Contents, listedObject{key, len(objects[key]), time.Now().UTC()})
	}
	_ = xml.NewEncoder(w).Encode(page) // the client sees what is missing
}
