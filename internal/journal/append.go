package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// errUnsynced means that a batch was written and taken back, because it could not be made durable.
var errUnsynced = errors.New("sync")

// queue gathers the appends that come while a batch is being synced, for the next batch.
type queue struct {
	mu      sync.Mutex // guards all below
	waiting []*appending
	led     bool // somebody writes, or is about to
}

// appending is one call of Append.
type appending struct {
	epoch  pawl.Epoch
	starts bool // it holds an engine.started
	first  pawl.Event
	lines  []content
	turn   chan bool // true: lead the next batch; false: all is said in seq and err
	seq    pawl.Seq
	err    error
}

// Append adds events as one batch and returns the last one's number: see pawl.Journal. Calls that come while a batch
// is being synced share the next one. An engine.started must raise the epoch; nothing else can. ctx counts until the
// events are queued: from then on they are written.
func (l *Log) Append(ctx context.Context, epoch pawl.Epoch, events ...pawl.Event) (pawl.Seq, error) {
	if len(events) == 0 {
		return l.Seq(), ctx.Err()
	}
	a, err := prepare(epoch, events)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	if l.queue.enter(a) || <-a.turn {
		l.lead()
	}
	return a.seq, a.err
}

func prepare(epoch pawl.Epoch, events []pawl.Event) (*appending, error) {
	a := &appending{epoch: epoch, first: events[0], lines: make([]content, len(events)), turn: make(chan bool, 1)}
	for i, event := range events {
		var err error
		if a.lines[i], err = encode(event); err != nil {
			return nil, err
		}
		a.starts = a.starts || event.Type == pawl.EngineStarted{}.Event()
	}
	return a, nil
}

// enter queues a and reports whether it is to lead.
func (q *queue) enter(a *appending) (lead bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, a)
	lead = !q.led
	q.led = true
	return lead
}

// take empties the queue. Its first is the caller's own.
func (q *queue) take() []*appending {
	q.mu.Lock()
	defer q.mu.Unlock()
	group := q.waiting
	q.waiting = nil
	return group
}

// leave lets the next in the queue lead.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.led = len(q.waiting) > 0; q.led {
		q.waiting[0].turn <- true
	}
}

// lead writes what is queued, the caller's own append and others', as one batch.
func (l *Log) lead() {
	group := l.queue.take()
	if err := l.commit(group); err != nil {
		for _, a := range group {
			if a.err == nil {
				a.seq, a.err = 0, fmt.Errorf("append to %s: %w", l.path(), err)
			}
		}
	}
	l.queue.leave()
	for _, a := range group[1:] {
		a.turn <- false
	}
}

// commit writes the group, a second time in a reopened file where it could not be synced.
func (l *Log) commit(group []*appending) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	err := l.write(group)
	if !errors.Is(err, errUnsynced) {
		return err
	}
	if again := l.reopen(); again != nil {
		l.dead = fmt.Errorf("%w: %w: %w", ErrDead, err, again)
		return l.dead
	}
	if err = l.write(group); errors.Is(err, errUnsynced) {
		l.dead = fmt.Errorf("%w: %w", ErrDead, err)
		return l.dead
	}
	return err
}

func (l *Log) writable() error {
	switch {
	case l.dead != nil:
		return l.dead
	case l.damage != nil:
		return l.damage
	case l.readOnly != nil:
		return fmt.Errorf("it can only be read: %w", l.readOnly)
	}
	return nil
}

// write takes in what others wrote and writes the group behind it.
func (l *Log) write(group []*appending) error {
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.stillNamed(); err != nil {
		return err
	}
	if err := l.catchUp(); err != nil {
		return err
	}
	if l.newer != "" {
		return fmt.Errorf("it holds a %s: %w", l.newer, pawl.ErrNewer)
	}
	if l.size > l.chain.end {
		if err := l.setAside(); err != nil {
			return err
		}
	}
	next, ends, buf, err := l.compose(group)
	if err != nil || len(ends) == 0 {
		return err
	}
	if err := l.put(buf, next.end); err != nil {
		return err
	}
	l.chain, l.ends = next, append(l.ends, ends...)
	l.size, l.synced = next.end, next.end
	return nil
}

// stillNamed makes sure that the file is the run's journal still: a damaged one may have been set aside for a rebuilt one
// while the lock was waited for.
func (l *Log) stillNamed() error {
	ours, err := l.file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(l.path())
	if err == nil && os.SameFile(ours, named) || errors.Is(err, fs.ErrNotExist) {
		return nil // one whose folder was moved away is ours to finish
	}
	if err == nil {
		l.dead = fmt.Errorf("%w: the journal was rebuilt meanwhile", ErrDead)
		err = l.dead
	}
	return err
}

// tornPrefix begins the names of the files for torn tails; their offset and the time follow.
const tornPrefix = "journal.torn-"

// setAside moves a torn tail into a file of its own. The tail is durable there before it is cut off here, and it is
// cut off durably before anything is written in its place.
func (l *Log) setAside() error {
	tail := make([]byte, l.size-l.chain.end)
	if _, err := l.file.ReadAt(tail, l.chain.end); err != nil {
		return fmt.Errorf("read torn tail: %w", err)
	}
	name := fmt.Sprintf("%s%d-%s", tornPrefix, l.chain.end, time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := disk.Replace(filepath.Join(l.home, name), tail); err != nil {
		return fmt.Errorf("set torn tail aside: %w", err)
	}
	if err := l.file.Truncate(l.chain.end); err != nil {
		return fmt.Errorf("cut torn tail off: %w", err)
	}
	l.size = l.chain.end
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return nil
}

// compose returns the bytes to be written and the place behind them.
//
// They begin with the last batch where this descriptor has not synced that itself. After a failed fsync(2) the kernel
// holds the pages for clean although they never reached the disk, and no later fsync writes them. So whoever builds
// on a batch that it has not synced itself, a dead writer's perhaps, writes the same bytes again and syncs them with
// its own.
func (l *Log) compose(group []*appending) (next chain, ends []int64, buf []byte, err error) {
	if l.synced != l.chain.end {
		buf = make([]byte, l.chain.end-l.chain.start)
		if _, err := l.file.ReadAt(buf, l.chain.start); err != nil {
			return next, nil, nil, fmt.Errorf("read last batch: %w", err)
		}
	}
	next = l.chain
	now := time.Now()
	for _, a := range group {
		epoch, err := l.admit(a, next)
		if a.err = err; err != nil {
			continue
		}
		for _, what := range a.lines {
			buf = next.add(buf, l.chain.seq+1, epoch, now, what)
			ends = append(ends, next.end)
		}
		a.seq = next.seq
	}
	return next, ends, buf, nil
}

// admit returns the epoch of a's events behind c, or why they must not stand there.
func (l *Log) admit(a *appending, c chain) (pawl.Epoch, error) {
	if c.seq == 0 {
		if err := checkFirst(l.run, a.first.Type, a.first.Data); err != nil {
			return 0, fmt.Errorf("append: %w", err)
		}
	}
	switch {
	case a.epoch == 0 && !a.starts:
		return c.epoch, nil
	case a.epoch < c.epoch || a.starts && a.epoch == c.epoch:
		return 0, fmt.Errorf("append in epoch %d: epoch %d has begun: %w", a.epoch, c.epoch, pawl.ErrFenced)
	case a.epoch > c.epoch && !a.starts:
		return 0, fmt.Errorf("append in epoch %d: epoch %d has not ended", a.epoch, c.epoch)
	}
	return a.epoch, nil
}

// put writes buf so that it ends at end, durably. Where it cannot, it takes back what stands behind the chain's end:
// a failed write leaves the journal as it was, and its descriptor good; a failed sync gives errUnsynced.
func (l *Log) put(buf []byte, end int64) error {
	if _, err := l.file.WriteAt(buf, end-int64(len(buf))); err != nil {
		return errors.Join(err, l.takeBack())
	}
	if err := l.file.Sync(); err != nil {
		if worse := l.takeBack(); worse != nil {
			l.dead = fmt.Errorf("%w: %w: %w", ErrDead, err, worse) // a second try could write the events twice
			return l.dead
		}
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return nil
}

func (l *Log) takeBack() error {
	if err := l.file.Truncate(l.chain.end); err != nil {
		return fmt.Errorf("take the batch back: %w", err)
	}
	return nil
}

// reopen gives up a descriptor whose sync has failed for a new one, which has synced nothing yet.
func (l *Log) reopen() error {
	old := l.file
	err := l.openFile()
	return errors.Join(err, old.Close())
}
