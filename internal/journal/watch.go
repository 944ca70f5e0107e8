package journal

import (
	"context"
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
	notices, stop := l.notices()
	defer stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if l.behind() {
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
		case <-notices:
		case <-tick.C:
		}
	}
}

// notices returns the system's notifications about writes; nil if there are none, so that only polling remains.
func (l *Log) notices() (<-chan fsnotify.Event, func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	if err := watcher.Add(l.path()); err != nil {
		watcher.Close()
		return nil, func() {}
	}
	return watcher.Events, func() { watcher.Close() }
}

// behind reports whether another writer has appended events that NewEvents has not returned. With a torn tail it is
// always true, since the lines that replace the tail may have the same length.
func (l *Log) behind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := l.file.Stat()
	return l.lastOther > l.delivered || err == nil && info.Size() != l.chain.end
}
