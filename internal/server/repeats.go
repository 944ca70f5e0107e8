package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	maxKey      = 200       // bytes
	maxRecord   = 4 << 20   // bytes of an answer that is kept
	maxRecords  = 50_000    // of all clients
	maxOfClient = 20_000    // records
	maxRepeats  = 256 << 20 // bytes of all records
	countEvery  = time.Hour // other servers of the user add and remove records too
)

// repeats does a request with a key once, and answers its repetitions with the answer of the first one. It records the key before the
// request is done, so that after a crash nothing is done twice. Where there is no room for a record, nothing is done: no record goes
// before its time.
type repeats struct {
	folder  string
	running exclusive // by the name of the record

	mu      sync.Mutex // guards what follows
	counted time.Time  // when the folder was read
	sizes   map[string]int64
	clients map[string]int // records of a client
	bytes   int64
}

// done is the record of a request.
type done struct {
	Request string    `json:"request"` // hash of method, path and body
	Until   time.Time `json:"until"`
	Status  int       `json:"status,omitempty"` // missing: the server ended before it had an answer
	Type    string    `json:"type,omitempty"`
	Tag     string    `json:"tag,omitempty"`
	Body    []byte    `json:"body,omitempty"`
	Long    bool      `json:"long,omitempty"` // the answer was too long to keep
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
	name := recordName(clientOf(req.Context()).ID, key)
	release, ok := r.running.acquire(req.Context(), name)
	if !ok {
		return problem(http.StatusConflict, "the first request with this key is still under way", "")
	}
	defer release()
	now := time.Now()
	request := sha256.Sum256(append([]byte(req.Method+" "+req.URL.RequestURI()+"\n"), body...))
	path := filepath.Join(r.folder, name)
	before, known, err := readDone(path, now)
	if err != nil {
		return problemOf(err)
	}
	if known && !(before.unanswered(hex.EncodeToString(request[:])) && startsRun(req)) {
		return before.repeat(w, hex.EncodeToString(request[:]))
	}
	first := done{Request: hex.EncodeToString(request[:]), Until: now.Add(repeatLasts).UTC()}
	if full, err := r.reserve(name, now); full {
		return tooMany(w, countEvery, "too many requests had an "+repeatHeader+" in 24 hours", 0)
	} else if err != nil {
		return problemOf(err)
	}
	if err := r.save(name, first); err != nil {
		r.forget(name)
		return problemOf(err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	answer := &recorder{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(answer, req.WithContext(context.WithValue(req.Context(), requestKey{}, strings.TrimSuffix(name, recordSuffix))))
	if answer.status >= http.StatusInternalServerError || answer.status == http.StatusLocked {
		if disk.Remove(path) == nil { // a repetition tries again
			r.forget(name)
		}
		return nil
	}
	first.Status, first.Type, first.Tag, first.Long = answer.status, w.Header().Get("Content-Type"), w.Header().Get("ETag"), answer.long
	if !answer.long {
		first.Body = answer.body.Bytes()
	}
	_ = r.save(name, first) // without it a repetition is refused
	return nil
}

// recordName returns the name of the record of a client's key. It begins with that of the client.
func recordName(client, key string) string {
	of, sum := sha256.Sum256([]byte(client)), sha256.Sum256([]byte(client+"\n"+key))
	return hex.EncodeToString(of[:8]) + recordDash + hex.EncodeToString(sum[:]) + recordSuffix
}

const (
	recordDash   = "-"
	recordSuffix = ".json"
)

func clientOfRecord(name string) string {
	client, _, _ := strings.Cut(name, recordDash)
	return client
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

// save writes a record.
func (r *repeats) save(name string, d done) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := disk.Replace(filepath.Join(r.folder, name), data); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(name, int64(len(data)))
	return nil
}

// repeat answers a repetition.
func (d done) repeat(w http.ResponseWriter, request string) *Problem {
	switch {
	case d.Request != request:
		return problem(http.StatusUnprocessableEntity, "another request had the same "+repeatHeader, "")
	case d.Status == 0:
		return problem(http.StatusConflict, "the server ended while it worked on this request: it may be done; look at the state, then use another key", "")
	case d.Long:
		return problem(http.StatusConflict, fmt.Sprintf("the request was done, with status %d; its answer was too long to keep", d.Status), "")
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

// reserve makes room for a record. full reports that there is none.
func (r *repeats) reserve(name string, now time.Time) (full bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.counted) > countEvery || now.Before(r.counted) {
		if err := r.read(now); err != nil {
			return false, err
		}
	}
	if r.clients[clientOfRecord(name)] >= maxOfClient || len(r.sizes) >= maxRecords || r.bytes >= maxRepeats {
		return true, nil
	}
	r.count(name, 0)
	return false, nil
}

// read counts the records in the folder. It removes expired ones, and what servers that were killed left of others.
func (r *repeats) read(now time.Time) error {
	if err := disk.MakeFolders(r.folder); err != nil {
		return err
	}
	paths, err := disk.Glob(r.folder, "*")
	if err != nil {
		return err
	}
	r.sizes, r.clients, r.bytes = map[string]int64{}, map[string]int{}, 0
	for _, path := range paths {
		info, err := disk.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) { // another server was faster
			continue
		}
		if err == nil && now.Sub(info.ModTime()) > repeatLasts {
			err = disk.Remove(path)
			info = nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if info != nil {
			r.count(filepath.Base(path), info.Size())
		}
	}
	r.counted = now
	return nil
}

// count counts a record, also one that was counted with another size before.
func (r *repeats) count(name string, size int64) {
	before, known := r.sizes[name]
	if !known {
		r.clients[clientOfRecord(name)]++
	}
	r.sizes[name] = size
	r.bytes += size - before
}

// forget is count for a record that is removed.
func (r *repeats) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if size, known := r.sizes[name]; known {
		r.bytes -= size
		r.clients[clientOfRecord(name)]--
		delete(r.sizes, name)
	}
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

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
