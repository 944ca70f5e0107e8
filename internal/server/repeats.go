package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/disk"
)

// repeatHeader names a request, so that a client can repeat it without knowing whether it was done.
const repeatHeader = "Idempotency-Key"

// Limits of repeated requests.
const (
	repeatLasts = 24 * time.Hour
	maxKey      = 200     // bytes
	maxRecord   = 4 << 20 // bytes of an answer that is kept
	pruneEvery  = time.Hour
)

// repeats does a request with a key once, and answers its repetitions with the answer of the first one. It records the key before the
// request is done, so that after a crash nothing is done twice.
type repeats struct {
	folder  string
	running exclusive // by the hash of client and key

	mu     sync.Mutex // guards what follows
	pruned time.Time
}

// done is the record of a request.
type done struct {
	Request string    `json:"request"` // hash of method, path and body
	Until   time.Time `json:"until"`
	Status  int       `json:"status,omitempty"` // missing: the server ended before it had an answer
	Type    string    `json:"type,omitempty"`
	Tag     string    `json:"tag,omitempty"`
	Body    []byte    `json:"body,omitempty"`
}

// once does requests with a key once.
func (r *repeats) once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		key := req.Header.Get(repeatHeader)
		if key == "" || req.Method == http.MethodGet || req.Method == http.MethodHead || slices.Contains(open, req.URL.Path) {
			next.ServeHTTP(w, req)
			return
		}
		if refused := r.do(w, req, key, next); refused != nil {
			refused.write(w)
		}
	})
}

func (r *repeats) do(w http.ResponseWriter, req *http.Request, key string, next http.Handler) *Problem {
	if len(key) > maxKey {
		return badRequest("%s is longer than %d bytes", repeatHeader, maxKey)
	}
	body, err := io.ReadAll(req.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return problem(http.StatusRequestEntityTooLarge, err.Error(), "")
	}
	if err != nil {
		return badRequest("%v", err)
	}
	sum := sha256.Sum256([]byte(clientOf(req.Context()).ID + "\n" + key))
	name := hex.EncodeToString(sum[:])
	release, ok := r.running.acquire(req.Context(), name)
	if !ok {
		return problem(http.StatusConflict, "the first request with this key is still under way", "")
	}
	defer release()
	now := time.Now()
	request := sha256.Sum256(append([]byte(req.Method+" "+req.URL.RequestURI()+"\n"), body...))
	path := filepath.Join(r.folder, name+".json")
	before, known, err := readDone(path, now)
	if err != nil {
		return problemOf(err)
	}
	if known && !(before.unanswered(hex.EncodeToString(request[:])) && startsRun(req)) {
		return before.repeat(w, hex.EncodeToString(request[:]))
	}
	first := done{Request: hex.EncodeToString(request[:]), Until: now.Add(repeatLasts).UTC()}
	if err := errors.Join(r.prune(now), disk.MakeFolders(r.folder), first.save(path)); err != nil {
		return problemOf(err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	answer := &recorder{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(answer, req.WithContext(context.WithValue(req.Context(), requestKey{}, name)))
	if answer.status >= http.StatusInternalServerError || answer.status == http.StatusLocked || answer.long {
		_ = disk.Remove(path) // a repetition tries again: nothing was done, or it can be done again
		return nil
	}
	first.Status, first.Type, first.Tag, first.Body = answer.status, w.Header().Get("Content-Type"), w.Header().Get("ETag"), answer.body.Bytes()
	_ = first.save(path) // without it a repetition is refused
	return nil
}

// unanswered reports whether the server ended while it worked on this request.
func (d done) unanswered(request string) bool { return d.Request == request && d.Status == 0 }

// requestKey is the key in a context for the name of a request.
type requestKey struct{}

// requestOf returns the name of a request that has a key; "" for others.
func requestOf(ctx context.Context) string {
	name, _ := ctx.Value(requestKey{}).(string)
	return name
}

// startsRun reports whether a request starts a run: then its name is in the run's journal, and doing it again starts no other one.
func startsRun(req *http.Request) bool {
	return req.Method == http.MethodPost && strings.HasPrefix(req.URL.Path, "/api/projects/") && strings.HasSuffix(req.URL.Path, "/runs")
}

// readDone reads the record of a request, if there is one that has not expired.
func readDone(path string, now time.Time) (d done, known bool, err error) {
	data, err := disk.ReadFile(path, disk.RecordLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return d, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	return d, err == nil && d.Until.After(now), err
}

func (d done) save(path string) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return disk.Replace(path, data)
}

// repeat answers a repetition.
func (d done) repeat(w http.ResponseWriter, request string) *Problem {
	switch {
	case d.Request != request:
		return problem(http.StatusUnprocessableEntity, "another request had the same "+repeatHeader, "")
	case d.Status == 0:
		return problem(http.StatusConflict, "the server ended while it worked on this request: it may be done; look at the state, then use another key", "")
	}
	w.Header().Set("Content-Type", d.Type)
	w.Header().Set("Idempotent-Replayed", "true")
	if d.Tag != "" {
		w.Header().Set("ETag", d.Tag)
	}
	w.WriteHeader(d.Status)
	_, _ = w.Write(d.Body) // the client has gone
	return nil
}

// prune removes expired records, now and then.
func (r *repeats) prune(now time.Time) error {
	r.mu.Lock()
	due := now.Sub(r.pruned) > pruneEvery
	if due {
		r.pruned = now
	}
	r.mu.Unlock()
	if !due {
		return nil
	}
	paths, err := disk.Glob(r.folder, "*.json")
	for _, path := range paths {
		if info, statErr := disk.Lstat(path); statErr == nil && now.Sub(info.ModTime()) > repeatLasts {
			err = errors.Join(err, disk.Remove(path))
		}
	}
	return err
}

// recorder passes an answer on, and keeps it if it is not too long.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
	long   bool // the answer has more than maxRecord bytes
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	if r.long = r.long || r.body.Len()+len(data) > maxRecord; !r.long {
		r.body.Write(data)
	}
	return r.ResponseWriter.Write(data)
}
