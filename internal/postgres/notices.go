package postgres

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/internal/disk"
	"pawl/internal/journal"
)

// noticesChannel is the channel on which a program announces that it has changed something: NOTIFY pawl, 'KEY'. KEY is that of a run, or
// the id of a project whose rows it has changed.
const noticesChannel = "pawl"

// Pauses before a lost connection is opened again.
const firstReconnect, longestReconnect = time.Second, 30 * time.Second

// Notices hears what other programs announce, on one connection for each database. It connects on the first call of Hear. What is
// announced while there is no connection is not heard, so whoever hears looks from time to time too. The zero value is ready to use.
type Notices struct {
	once   sync.Once
	sender string // of what this process announces, which it does not hear

	mu       sync.Mutex // guards what follows
	closed   bool
	hearings map[string]*hearing // by DSN
}

// hearing is a connection, and who waits for what.
type hearing struct {
	dsn     string
	end     context.CancelFunc
	ended   chan struct{}
	mu      sync.Mutex                 // guards waiting
	waiting map[string][]chan struct{} // by key
}

// name returns the name of this process in what it announces.
func (n *Notices) name() string {
	n.once.Do(func() { n.sender = disk.RandomHex(8) })
	return n.sender
}

// Payload returns what this process announces about a key.
func (n *Notices) Payload(key string) string { return key + " " + n.name() }

// Announcement is the statement that announces a payload. It is sent after the change, not as a part of it: commits with a notice wait
// for each other. Whoever hears looks from time to time too, so nothing is lost if it fails.
const Announcement = `select pg_notify('` + noticesChannel + `', $1)`

// announcements are those that are being sent, by key. Whoever appends does not wait for them. What is announced meanwhile is sent
// once.
type announcements struct {
	all sync.WaitGroup

	mu    sync.Mutex
	again map[string]bool // whether to send once more
}

// tell calls send in the background.
func (a *announcements) tell(key string, send func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, sending := a.again[key]; sending {
		a.again[key] = true
		return
	}
	if a.again == nil {
		a.again = map[string]bool{}
	}
	a.again[key] = false
	a.all.Go(func() {
		for {
			send()
			if !a.repeat(key) {
				return
			}
		}
	})
}

// repeat reports whether something was announced while the last announcement was sent.
func (a *announcements) repeat(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.again[key] {
		a.again[key] = false
		return true
	}
	delete(a.again, key)
	return false
}

// Hear returns a channel that gets a value when another process has announced a change of one of the keys, or may have. stop ends that.
func (n *Notices) Hear(ctx context.Context, dsn string, keys ...string) (heard <-chan struct{}, stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, func() {}
	}
	h := n.hearings[dsn]
	if h == nil {
		h = &hearing{dsn: dsn, ended: make(chan struct{}), waiting: map[string][]chan struct{}{}}
		ctx, h.end = context.WithCancel(context.WithoutCancel(ctx))
		if n.hearings == nil {
			n.hearings = map[string]*hearing{}
		}
		n.hearings[dsn] = h
		go h.run(ctx, n.name())
	}
	to := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		h.waiting[key] = append(h.waiting[key], to)
	}
	return to, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, key := range keys {
			if h.waiting[key] = slices.DeleteFunc(h.waiting[key], func(c chan struct{}) bool { return c == to }); len(h.waiting[key]) == 0 {
				delete(h.waiting, key)
			}
		}
	}
}

// Close closes the connections.
func (n *Notices) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, h := range n.hearings {
		h.end()
		<-h.ended
	}
	n.hearings = nil
}

// run listens until ctx ends, and connects again when the connection is lost.
func (h *hearing) run(ctx context.Context, sender string) {
	defer close(h.ended)
	for pause := firstReconnect; ctx.Err() == nil; pause = min(2*pause, longestReconnect) {
		if h.listen(ctx, sender) {
			pause = firstReconnect
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// listen listens on one connection until it is lost, and reports whether there was one.
func (h *hearing) listen(ctx context.Context, sender string) (connected bool) {
	config, err := parse(h.dsn)
	if err != nil {
		return false
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return false
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "listen "+noticesChannel); err != nil {
		return false
	}
	h.tell("", sender) // something may have been announced before
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		h.tell(notice.Payload, sender)
	}
}

// tell tells those who wait for what was announced, or, without a payload, all.
func (h *hearing) tell(payload, sender string) {
	key, from, _ := strings.Cut(payload, " ")
	if from == sender {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for waits, all := range h.waiting {
		if payload != "" && waits != key {
			continue
		}
		for _, to := range all {
			select {
			case to <- struct{}{}:
			default: // it has not looked yet
			}
		}
	}
}

var _ journal.Announcer = (*Store)(nil)

// Hear implements journal.Announcer.
func (s *Store) Hear(ctx context.Context, key string) (heard <-chan struct{}, stop func()) {
	return s.notices.Hear(ctx, s.dsn, key)
}
