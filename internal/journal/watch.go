package journal

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// poll is how often a watch looks by itself: notices do not come from every file system, and can be lost.
const poll = time.Second

// Watch returns a channel that gets a value when there is something that this Log has not read, most often another
// writer's batch. It is closed after ctx or the Log has ended.
func (l *Log) Watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	l.helpers.Go(func() {
		defer close(changed)
		l.watch(ctx, changed)
	})
	return changed
}

func (l *Log) watch(ctx context.Context, changed chan<- struct{}) {
	notices, stop := l.notices()
	defer stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if l.behind() {
			select {
			case changed <- struct{}{}:
			default: // told already
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

// notices returns the system's notices of writes; where it gives none, the poll has to do.
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

// behind reports whether there is something in the file, or taken in while appending, that another writer wrote and
// News has not returned. Under a torn tail it is always true: what takes its place may be just as long.
func (l *Log) behind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := l.file.Stat()
	return l.foreign > l.delivered || err == nil && info.Size() != l.chain.end
}
