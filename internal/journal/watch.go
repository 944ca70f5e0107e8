package journal

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"pawl/internal/disk"
)

// pollInterval is the interval at which a watch checks the file itself, since some file systems send no notifications and some
// get lost.
const pollInterval = time.Second

// Watch returns a channel that receives a value when the journal has events that this Log has not read, usually another
// writer's. The channel is closed after ctx or the Log has ended.
func (l *Log) Watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	l.background.Go(func() {
		defer close(changed)
		l.watch(ctx, changed)
	})
	return changed
}

func (l *Log) watch(ctx context.Context, changed chan<- struct{}) {
	notices := newNotices(l.path())
	defer notices.stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var others hearing
	defer func() { others.end() }()
	others.renew(ctx, l)
	for {
		behind, replaced := l.behind()
		if replaced {
			notices.renew()
		}
		if behind {
			select {
			case changed <- struct{}{}:
			default: // already signalled
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-l.quit:
			return
		case <-notices.events:
		case <-others.heard:
			l.look()
		case <-tick.C:
			l.look()
			others.renew(ctx, l)
		}
	}
}

// look reads what others have appended in the store of the run.
func (l *Log) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.update()
}

// hearing hears what others announce about a run in a store. Without it, only polling remains.
type hearing struct {
	of    marker // the zero value: of no store
	heard <-chan struct{}
	stop  func()
}

// renew hears of the run where it is stored now.
func (h *hearing) renew(ctx context.Context, l *Log) {
	l.mu.Lock()
	now := l.marker
	l.mu.Unlock()
	if !now.remote() {
		now = marker{}
	}
	if now == h.of {
		return
	}
	h.end()
	if now == (marker{}) {
		return
	}
	store, _, cancel, err := forReading(now.Store, filepath.Dir(l.home))
	if err != nil {
		return // the next tick tries again
	}
	cancel()
	h.of = now
	if announcer, ok := store.(Announcer); ok {
		h.heard, h.stop = announcer.Hear(ctx, now.Key)
	}
}

func (h *hearing) end() {
	if h.stop != nil {
		h.stop()
	}
	*h = hearing{}
}

// notices are the system's notifications about writes to a file. Without them only polling remains.
type notices struct {
	path    string
	watcher *fsnotify.Watcher
	events  <-chan fsnotify.Event
}

func newNotices(path string) *notices {
	n := &notices{path: path}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return n
	}
	n.watcher, n.events = watcher, watcher.Events
	n.renew()
	return n
}

// renew watches the file that has the path now.
func (n *notices) renew() {
	if n.watcher == nil {
		return
	}
	_ = n.watcher.Remove(n.path) // it may not be watched
	_ = n.watcher.Add(n.path)    // without it, only polling remains
}

func (n *notices) stop() {
	if n.watcher != nil {
		n.watcher.Close()
	}
}

// behind reports whether another writer has appended events that NewEvents has not returned, and whether journal.jsonl is
// another file than the open one. With a torn tail behind is always true, since the lines that replace the tail may have
// the same length.
func (l *Log) behind() (behind, replaced bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := l.file.Stat()
	if err != nil {
		return l.lastOther > l.delivered, false
	}
	named, err := disk.Lstat(l.path())
	replaced = err == nil && !os.SameFile(info, named)
	return l.lastOther > l.delivered || info.Size() != l.chain.end || replaced && l.dead == nil, replaced
}
