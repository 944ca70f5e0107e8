package server

import (
	"encoding/json"
	"sync"
	"time"
)

// maxEvents is how many events a client may be behind. One that is further behind must read the lists again.
const maxEvents = 1000

// event is a message of the stream of changes.
type event struct {
	id   int64
	kind string
	data []byte
}

// hub keeps the newest changes for the clients that follow them.
type hub struct {
	mu       sync.Mutex // guards what follows
	events   []event    // the newest ones
	last     int64      // id of the newest one
	changed  chan struct{}
	closed   bool
	watchers int
}

// newHub returns a hub without events. Its ids are larger than those of servers that started before.
func newHub(now time.Time) *hub { return &hub{last: now.UnixMicro(), changed: make(chan struct{})} }

// publish adds an event.
func (h *hub) publish(kind string, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		return // a client that reads the list sees it
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.events = append(h.events, event{h.last, kind, encoded})
	if over := len(h.events) - maxEvents; over > 0 {
		h.events = h.events[over:] // clients may hold a part of the array, so nothing in it is overwritten
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// after returns the events after one. reset reports that some of them are gone: then there are none, and cursor is the newest one's id.
// changed is closed when there are more. open is false once the server ends.
func (h *hub) after(cursor int64) (events []event, next int64, reset bool, changed <-chan struct{}, open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest := h.last - int64(len(h.events)) // the last one that was dropped
	if cursor < oldest || cursor > h.last {
		return nil, h.last, true, h.changed, !h.closed
	}
	return h.events[cursor-oldest:], h.last, false, h.changed, !h.closed
}

// newest returns the id of the newest event.
func (h *hub) newest() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// close ends all streams.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// maxStreams is how many clients can follow the changes.
const maxStreams = 64

// join counts a client. ok is false if there are too many.
func (h *hub) join() (leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers >= maxStreams {
		return nil, false
	}
	h.watchers++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.watchers--
	}, true
}

// watched reports whether a client follows the changes.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers > 0
}
