package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
)

// A Remote stores the journals of runs where several hosts reach them. The files of such a run are a copy: they have the same lines,
// or fewer, and never more.
type Remote interface {
	// Read returns the end of a run, and its lines after event after. Of many lines it returns the first ones.
	Read(ctx context.Context, key string, after pawl.Seq) (Page, error)
	// Append adds a batch if the run ends at b.After, and reports whether it did. When it returns true, the batch survives a power
	// failure of the store. After an error that wraps ErrUnreachable, the batch may or may not be there; it can be added again,
	// since it is never there twice. After other errors it is not there.
	Append(ctx context.Context, key string, b Batch) (added bool, err error)
	// PutBlob stores data by its SHA-256. It is durable when PutBlob returns.
	PutBlob(ctx context.Context, key, name string, data []byte) error
	// Blob returns the data with a SHA-256. The error for one that is missing wraps fs.ErrNotExist.
	Blob(ctx context.Context, key, name string) ([]byte, error)
}

// An Announcer is a Remote that tells when others have appended to a run, so that whoever watches it need not wait for the next look.
type Announcer interface {
	// Hear returns a channel that gets a value when somebody else has appended to a run, or may have. stop ends that.
	Hear(ctx context.Context, key string) (heard <-chan struct{}, stop func())
}

// A Head is the end of a journal.
type Head struct {
	Seq   pawl.Seq   // of the last event; 0: there is none
	Epoch pawl.Epoch // of the last event
	Sum   string     // checksum of the last line
}

// RunPhase says where the lines of a run are the truth, according to a store.
type RunPhase string

// The phases of a run in a store.
const (
	Arriving RunPhase = "arriving" // the files have the truth, and are being copied to the store
	Stored   RunPhase = "stored"   // the store has the truth
	Leaving  RunPhase = "leaving"  // the store has the truth, and appends nothing: the run is being moved to files
	Left     RunPhase = "left"     // the files have the truth
)

// A Page is a part of a run in a store.
type Page struct {
	Head  Head
	Phase RunPhase
	Owner string // the engine that has, or had, the lease; see Lease
	Lines []StoredLine
}

// StoredLine is a line of a journal, with its newline.
type StoredLine struct {
	Line  []byte
	Batch string // id of the batch that begins with this line; empty for a batch's other lines
}

// A Batch are lines to append.
type Batch struct {
	ID    string // UUID
	After Head
	End   Head
	Owner string // the lease's owner must be this one; empty: anybody
	Lines []BatchLine
}

// BatchLine is a line of a Batch.
type BatchLine struct {
	Seq   pawl.Seq
	Epoch pawl.Epoch
	Type  pawl.EventType
	Line  []byte
}

var (
	// ErrUnreachable means that the store of a run does not answer. What was sent to it may or may not be done.
	ErrUnreachable = &pawl.Error{Kind: pawl.KindInternal, Err: errors.New("the database does not answer"), Hint: "pawl doctor"}
	// ErrNotConnected means that this process does not know how to reach the store of a run.
	ErrNotConnected = &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("the run is stored in Postgres, and PAWL_POSTGRES is not set"), Hint: "pawl store --help"}
)

// Connection is how a process reaches the stores of runs.
type Connection struct {
	// Open opens the store with an ID for a folder of runs. An error wraps ErrNotConnected or ErrUnreachable, or says what is wrong
	// with the store.
	Open func(ctx context.Context, store, folder string) (Remote, error)
	// Retry is the first pause before an append to a store that does not answer is tried again. Defaults to a second.
	Retry time.Duration
}

// connections are the stores that this process has opened.
var connections struct {
	mu sync.Mutex // guards the fields below
	Connection
	base   context.Context
	stores map[string]Remote
	failed map[string]failure
}

// failure is why a store could not be reached, for readers, which then use the files for a while.
type failure struct {
	err error
	at  time.Time
}

// Connect sets how this process reaches the stores of runs. Reading ends with ctx. Without Connect, the files of a run that is stored
// elsewhere can be read, and nothing can be appended to it.
func Connect(ctx context.Context, c Connection) {
	connections.mu.Lock()
	defer connections.mu.Unlock()
	connections.Connection, connections.base = c, ctx
	connections.Retry = cmp.Or(c.Retry, time.Second)
	connections.stores, connections.failed = map[string]Remote{}, map[string]failure{}
}

// Connected reports whether Connect was called.
func Connected() bool {
	connections.mu.Lock()
	defer connections.mu.Unlock()
	return connections.Open != nil
}

// firstPause returns the first pause before an append is tried again.
func firstPause() time.Duration {
	connections.mu.Lock()
	defer connections.mu.Unlock()
	return cmp.Or(connections.Retry, time.Second)
}

// Limits of calls of a store.
const (
	callLimit  = 10 * time.Second // to append
	readLimit  = 5 * time.Second  // to read what others have appended
	readPause  = 5 * time.Second  // after a failure, before a reader tries again
	personWait = 15 * time.Second // how long appends wait for a store that does not answer, other than those of engines
	longest    = 30 * time.Second // pause before an append is tried again
)

// connect returns the store with an ID, for a folder of runs.
func connect(ctx context.Context, store, folder string) (Remote, error) {
	connections.mu.Lock()
	defer connections.mu.Unlock()
	if connections.Open == nil {
		return nil, ErrNotConnected
	}
	if known := connections.stores[store]; known != nil {
		return known, nil
	}
	opened, err := connections.Open(ctx, store, folder)
	if err != nil {
		return nil, err
	}
	connections.stores[store] = opened
	return opened, nil
}

// forReading returns the store with an ID, and a context for a call of it. Soon after a failure it returns that.
func forReading(store, folder string) (Remote, context.Context, context.CancelFunc, error) {
	connections.mu.Lock()
	last, base := connections.failed[store], connections.base
	connections.mu.Unlock()
	if base == nil {
		return nil, nil, nil, ErrNotConnected
	}
	if last.err != nil && time.Since(last.at) < readPause {
		return nil, nil, nil, last.err
	}
	ctx, cancel := context.WithTimeout(base, readLimit)
	remote, err := connect(ctx, store, folder)
	if err != nil {
		cancel()
		readFailed(store, err)
		return nil, nil, nil, err
	}
	return remote, ctx, cancel, nil
}

func readFailed(store string, err error) {
	connections.mu.Lock()
	defer connections.mu.Unlock()
	connections.failed[store] = failure{err: err, at: time.Now()}
}

// markerName is the file in a run's folder that says that the run is stored elsewhere. The same file in the folder of all runs says
// where new runs are stored.
const markerName = "store.json"

const markerFormat = 1

// marker is the content of a marker. Its zero value means that the files are the truth.
type marker struct {
	Format int      `json:"format"`
	Store  string   `json:"store"`          // ID of the database
	Key    string   `json:"key,omitempty"`  // of the run there
	Copy   string   `json:"copy,omitempty"` // random ID of this copy of the run
	Phase  RunPhase `json:"phase"`
}

// remote reports whether the store has the truth.
func (m marker) remote() bool { return m.Phase == Stored }

// blobName matches a SHA-256.
var blobName = lazyregexp.New(`^[0-9a-f]{64}$`)

// uuidText matches the IDs in a marker.
var uuidText = lazyregexp.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// readMarker returns the marker in a folder.
func readMarker(folder string) (m marker, err error) {
	path := filepath.Join(folder, markerName)
	data, err := disk.ReadFile(path, disk.IdentityLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return marker{}, nil
	}
	if err == nil {
		m, err = parseMarker(data)
	}
	if err != nil {
		return marker{}, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s: %w", path, err)}
	}
	return m, nil
}

func parseMarker(data []byte) (m marker, err error) {
	if err := json.Unmarshal(data, &m); err != nil {
		return marker{}, err
	}
	if m.Format > markerFormat {
		return marker{}, fmt.Errorf("format %d: %w", m.Format, pawl.ErrNewer)
	}
	if !uuidText.MatchString(m.Store) || m.Key != "" && !uuidText.MatchString(m.Key) {
		return marker{}, errors.New("invalid ID")
	}
	if m.Phase != Arriving && m.Phase != Stored && m.Phase != Left {
		return marker{}, fmt.Errorf("invalid phase %q", m.Phase)
	}
	return m, nil
}

func (m marker) write(folder string) error {
	m.Format = markerFormat
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(folder, markerName), append(data, '\n'))
}

// StoredIn returns the ID of the database that a run is stored in; "" if its files are the truth.
func StoredIn(folder string, run pawl.RunID) (store string, err error) {
	m, err := readMarker(homeOf(folder, run))
	if !m.remote() {
		return "", err
	}
	return m.Store, err
}

// newUUID returns a random UUID.
func newUUID() string {
	h := disk.RandomHex(16)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}
