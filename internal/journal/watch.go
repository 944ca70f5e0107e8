package journal

import (
	"context"
	"os"
	"pawl/internal/disk"
	"time"

	"github.com/fsnotify/fsnotify"
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
		case <-tick.C:
			l.mu.Lock()
			l.update()
			l.mu.Unlock()
		}
	}
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
