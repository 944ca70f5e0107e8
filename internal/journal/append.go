package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// errUnsynced means that a batch was written and truncated again, because the sync failed.
var errUnsynced = errors.New("sync")

// queue collects the appends that arrive while a batch is being synced, for the next batch.
type queue struct {
	mu        sync.Mutex // guards the fields below
	waiting   []*pendingAppend
	hasLeader bool // a goroutine writes, or is about to
}

// pendingAppend is one call of Append.
type pendingAppend struct {
	epoch  pawl.Epoch
	starts bool // contains an engine.started
	first  pawl.Event
	lines  []lineContent
	later  bool      // it need not be synced
	turn   chan bool // true: flush the next group; false: seq and err are set
	seq    pawl.Seq
	err    error
}

// Append adds events as one batch and returns the number of the last one; see pawl.Journal. Calls that arrive while a
// batch is being synced share the next batch. An engine.started must raise the epoch, and no other event can. Once the
// events are queued they are written, even if ctx ends. Only while the store of the run does not answer, Append returns
// when ctx ends, with an error that wraps ErrUnreachable; so it does after a while for events that are not of an engine.
func (l *Log) Append(ctx context.Context, epoch pawl.Epoch, events ...pawl.Event) (pawl.Seq, error) {
	if len(events) == 0 {
		return l.Seq(), ctx.Err()
	}
	return l.append(ctx, epoch, events, false)
}

func (l *Log) append(ctx context.Context, epoch pawl.Epoch, events []pawl.Event, later bool) (pawl.Seq, error) {
	a, err := prepare(epoch, events)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	a.later = later
	if l.queue.enter(a) || <-a.turn {
		l.flushGroup(ctx)
	}
	return a.seq, a.err
}

func prepare(epoch pawl.Epoch, events []pawl.Event) (*pendingAppend, error) {
	a := &pendingAppend{epoch: epoch, first: events[0], lines: make([]lineContent, len(events)), turn: make(chan bool, 1)}
	for i, event := range events {
		var err error
		if a.lines[i], err = encode(event); err != nil {
			return nil, err
		}
		a.starts = a.starts || event.Type == pawl.EngineStarted{}.Event()
	}
	return a, nil
}

// enter queues a and reports whether its caller must flush the queue.
func (q *queue) enter(a *pendingAppend) (lead bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, a)
	lead = !q.hasLeader
	q.hasLeader = true
	return lead
}

// next empties the queue. The first append in it is the caller's own.
func (q *queue) next() []*pendingAppend {
	q.mu.Lock()
	defer q.mu.Unlock()
	group := q.waiting
	q.waiting = nil
	return group
}

// handOff lets the next caller in the queue flush it.
func (q *queue) handOff() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hasLeader = len(q.waiting) > 0; q.hasLeader {
		q.waiting[0].turn <- true
	}
}

// flushGroup writes all queued appends as one batch: the caller's own and others'.
func (l *Log) flushGroup(ctx context.Context) {
	group := l.queue.next()
	if err := l.commit(ctx, group); err != nil {
		for _, a := range group {
			if a.err == nil {
				a.seq, a.err = 0, fmt.Errorf("append to %s: %w", l.path(), err)
			}
		}
	}
	l.queue.handOff()
	for _, a := range group[1:] {
		a.turn <- false
	}
}

// commitOnce writes the group. If the sync fails, it reopens the file and tries once more.
func (l *Log) commitOnce(ctx context.Context, s *submission) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil && (l.damage == nil || !l.badTail) {
		return err
	}
	before := l.chain.end
	err := l.write(ctx, s)
	if !errors.Is(err, errUnsynced) {
		if err == nil && l.first > 0 && l.sealDue(before, l.chain.end) {
			_ = l.seal(ctx) // the events are durable; a later batch tries again
		}
		if err == nil && l.placeIn != "" && l.chain.seq > 0 {
			if err = l.place(ctx); errors.Is(err, ErrUnreachable) {
				err = nil // the events are durable in the files, and the run's engine moves them
			}
		}
		return err
	}
	if again := l.reopen(); again != nil {
		l.dead = fmt.Errorf("%w: %w: %w", ErrDead, err, again)
		return l.dead
	}
	if err = l.write(ctx, s); errors.Is(err, errUnsynced) {
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
		return fmt.Errorf("the journal is read-only: %w", l.readOnly)
	}
	return nil
}

// write reads what others have appended, and appends the group.
func (l *Log) write(ctx context.Context, s *submission) error {
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	store, key, err := l.storeOf(ctx)
	if err != nil {
		return err
	}
	if s.sent && key != s.key { // whether the batch has arrived, nobody can say any more
		return &pawl.Error{Kind: pawl.KindInternal, Err: errors.New("the run was moved while the database did not answer: the events may be there"), Hint: "pawl log"}
	}
	if store != nil && len(s.group) == 0 {
		return nil // whoever moved the run there has made all events durable
	}
	if store != nil {
		return l.writeStored(ctx, store, key, s)
	}
	if err := l.prepareWrite(); err != nil {
		return err
	}
	group := s.group
	last, err := l.lastBatch()
	if err != nil {
		return err
	}
	next, ends, buf, err := l.compose(last, group)
	if err != nil || len(buf) == 0 || len(ends) == 0 && len(group) > 0 {
		return err
	}
	if len(last) == 0 && l.maySyncLater(s, next) {
		if _, err := l.file.WriteAt(buf, l.chain.end); err != nil {
			return errors.Join(err, l.truncateBatch())
		}
		l.noteWritten(group, next, ends)
		l.open, l.current = next.end, true
		return nil
	}
	if l.head > 0 && l.chain.end == l.head { // whoever began the segment may have crashed before its name was durable
		if err := disk.SyncFolder(l.home); err != nil {
			return err
		}
	}
	if err := l.writeDurably(buf, next.end); err != nil {
		return err
	}
	l.noteWritten(group, next, ends)
	l.synced, l.current = next.end, true
	return nil
}

// noteWritten notes that a group was written.
func (l *Log) noteWritten(group []*pendingAppend, next chain, ends []int64) {
	l.mark(group)
	l.chain, l.ends, l.size = next, append(l.ends, ends...), next.end
}

// prepareWrite reads what others have appended, and moves a torn tail aside. The caller holds the lock.
func (l *Log) prepareWrite() error {
	if err := l.catchUp(); err != nil {
		return err
	}
	if err := l.writable(); err != nil {
		return err
	}
	if l.newer != "" {
		return fmt.Errorf("the journal contains an event of type %s: %w", l.newer, pawl.ErrNewer)
	}
	if l.size > l.chain.end {
		return l.saveTornTail()
	}
	return nil
}

// mark notes the types of the group's events.
func (l *Log) mark(group []*pendingAppend) {
	for _, a := range group {
		if a.err != nil {
			continue
		}
		for _, what := range a.lines {
			l.marks.add([]byte(what.kind), func() []byte { return what.data })
		}
	}
}

// lastBatch returns the last batch if this descriptor has not synced it itself. After a failed fsync(2) the kernel may mark the pages
// clean although they never reached the disk, so that no later fsync writes them. Before appending to a batch of another writer, which
// may have died, the journal therefore writes the same bytes again and syncs them with its own.
func (l *Log) lastBatch() ([]byte, error) {
	if l.synced == l.chain.end {
		return nil, nil
	}
	buf := make([]byte, l.chain.end-l.chain.start)
	if _, err := l.file.ReadAt(buf, l.chain.start); err != nil {
		return nil, fmt.Errorf("read last batch: %w", err)
	}
	return buf, nil
}

// compose appends the group's lines to buf, and returns the chain after them.
func (l *Log) compose(buf []byte, group []*pendingAppend) (next chain, ends []int64, _ []byte, err error) {
	next = l.chain
	now := time.Now()
	batch := l.nextBatch()
	for _, a := range group {
		epoch, err := l.admit(a, next)
		if a.err = err; err != nil {
			continue
		}
		for _, what := range a.lines {
			buf = next.add(buf, batch, epoch, now, what)
			ends = append(ends, next.end)
		}
		a.seq = next.seq
	}
	return next, ends, buf, nil
}

// admit returns the epoch for a's events after c, or why they are not allowed.
func (l *Log) admit(a *pendingAppend, c chain) (pawl.Epoch, error) {
	if c.seq == 0 {
		if err := checkFirst(l.run, a.first.Type, a.first.Data); err != nil {
			return 0, fmt.Errorf("append: %w", err)
		}
	}
	switch {
	case a.epoch == 0 && !a.starts:
		return c.epoch, nil
	case a.epoch < c.epoch || a.starts && a.epoch == c.epoch:
		return 0, fmt.Errorf("append in epoch %d: epoch %d has started: %w", a.epoch, c.epoch, pawl.ErrFenced)
	case a.epoch > c.epoch && !a.starts:
		return 0, fmt.Errorf("append in epoch %d: epoch %d has not ended", a.epoch, c.epoch)
	}
	return a.epoch, nil
}

// writeDurably writes buf so that it ends at end, and syncs. On failure it truncates the journal to the end of the
// chain: after a failed write the descriptor stays usable, and a failed sync returns errUnsynced.
func (l *Log) writeDurably(buf []byte, end int64) error {
	if _, err := l.file.WriteAt(buf, end-int64(len(buf))); err != nil {
		return errors.Join(err, l.truncateBatch())
	}
	if err := l.syncBatch(buf); err != nil {
		if worse := l.truncateBatch(); worse != nil {
			l.dead = fmt.Errorf("%w: %w: %w", ErrDead, err, worse) // retrying could write the events twice
			return l.dead
		}
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return nil
}

func (l *Log) truncateBatch() error {
	if err := l.file.Truncate(l.chain.end); err != nil {
		return fmt.Errorf("truncate the failed batch: %w", err)
	}
	return nil
}

// reopen replaces a descriptor whose sync has failed by a new one, which has synced nothing yet.
func (l *Log) reopen() error {
	old := l.file
	err := l.openFile()
	return errors.Join(err, old.Close())
}
