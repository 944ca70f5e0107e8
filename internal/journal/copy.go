package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
)

// submission is a group of appends on its way into the journal.
type submission struct {
	group []*pendingAppend
	batch string // ID of the batch in a store
	sent  bool   // it may have arrived
	after Head   // where the batch was last sent to
	key   string // of the run in the store that it was sent to
}

// ofEngine reports whether an append of the group is one of an engine.
func (s *submission) ofEngine() bool {
	return slices.ContainsFunc(s.group, func(a *pendingAppend) bool { return a.epoch > 0 })
}

// patience returns how long the group waits for a store that does not answer; 0: as long as its caller does.
func (s *submission) patience() time.Duration {
	if s.ofEngine() {
		return 0
	}
	return personWait
}

// commit writes the group. While the store of the run does not answer, it tries again; nothing is acknowledged meanwhile, and no lock
// is held.
func (l *Log) commit(ctx context.Context, group []*pendingAppend) error {
	s := &submission{group: group}
	begun, pause := time.Now(), firstPause()
	for {
		err := l.commitOnce(context.WithoutCancel(ctx), s)
		if !errors.Is(err, ErrUnreachable) {
			return err
		}
		if limit := s.patience(); limit > 0 && time.Since(begun)+pause > limit {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		case <-l.quit:
			return err
		}
		pause = min(2*pause, longest)
	}
}

// storeOf returns the store of the run and the run's key in it; nil if the files are the truth. The caller holds the lock, or knows
// that the answer may change.
func (l *Log) storeOf(ctx context.Context) (Remote, string, error) {
	m, err := readMarker(l.home)
	if err != nil || !m.remote() {
		return nil, "", err
	}
	store, err := l.store(ctx, m)
	return store, m.Key, err
}

func (l *Log) store(ctx context.Context, m marker) (Remote, error) {
	return connect(ctx, m.Store, filepath.Dir(l.home))
}

// writeStored commits the group in the store, and then appends it to the copy. The caller holds the lock.
func (l *Log) writeStored(ctx context.Context, store Remote, key string, s *submission) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := l.prepareCopy(ctx, store, key); err != nil {
		return err
	}
	if s.batch == "" {
		s.batch = newUUID()
	}
	for tries := 0; ; tries++ {
		before := l.chain.seq
		if tries > 0 || s.sent || !l.admitsAsIs(s.group) {
			if err := l.pull(ctx, store, key); err != nil {
				return err
			}
		}
		if l.newer != "" {
			return fmt.Errorf("the journal contains an event of type %s: %w", l.newer, pawl.ErrNewer)
		}
		if there, err := s.arrived(ctx, store, key); err != nil || there {
			return err
		}
		if tries > 0 && l.owner != "" && s.ofEngine() && l.leased != l.owner {
			return fmt.Errorf("another engine has the lease: %w", pawl.ErrFenced)
		}
		if tries > 0 && l.chain.seq == before {
			return fmt.Errorf("%w: it refuses the batch", ErrUnreachable)
		}
		added, err := l.submit(ctx, store, key, s)
		if err != nil || added {
			return err
		}
	}
}

// admitsAsIs reports whether a group may be sent without reading first what others have added: if there is anything, the store refuses
// the batch.
func (l *Log) admitsAsIs(group []*pendingAppend) bool {
	return l.chain.seq > 0 && !slices.ContainsFunc(group, func(a *pendingAppend) bool {
		return a.starts || a.epoch != 0 && a.epoch != l.chain.epoch
	})
}

// arrived reports whether an earlier try has reached the store, although its answer did not reach us, and settles the group then. It
// must be called after a pull: if the batch arrives later than this call, the next one to be sent is refused. The copy cannot tell,
// since another process may have copied the batch.
func (s *submission) arrived(ctx context.Context, store Remote, key string) (bool, error) {
	if !s.sent {
		return false, nil
	}
	page, err := store.Read(ctx, key, s.after.Seq)
	if err != nil || len(page.Lines) == 0 || page.Lines[0].Batch != s.batch {
		return false, err
	}
	s.settle(s.after.Seq + 1)
	return true, nil
}

// submit sends the group to the store. It returns false if the store has events that the copy lacks.
func (l *Log) submit(ctx context.Context, store Remote, key string, s *submission) (added bool, err error) {
	next, ends, buf, err := l.compose(nil, s.group)
	if err != nil || len(ends) == 0 {
		return err == nil, err
	}
	b := Batch{ID: s.batch, After: l.chain.place(), End: next.place()}
	if s.ofEngine() {
		b.Owner = l.owner
	}
	for line := range bytes.Lines(buf) {
		r, _ := splitLine(line)
		b.Lines = append(b.Lines, BatchLine{Seq: r.seq, Epoch: r.epoch, Type: pawl.EventType(r.kind), Line: line})
		if err := l.sendPlan(ctx, store, key, r); err != nil {
			return false, err
		}
	}
	s.after, s.key, s.sent = b.After, key, true
	if added, err = store.Append(ctx, key, b); err != nil || !added {
		return false, err
	}
	if l.writeCopy(buf, next.end) != nil {
		return true, nil // the events are durable, and the next call reads them from the store
	}
	l.mark(s.group)
	l.chain, l.ends, l.size = next, append(l.ends, ends...), next.end
	return true, nil
}

// settle sets the numbers of the events of a batch that begins with event first.
func (s *submission) settle(first pawl.Seq) {
	seq := first - 1
	for _, a := range s.group {
		if a.err == nil {
			seq += pawl.Seq(len(a.lines))
			a.seq = seq
		}
	}
}

func (c *chain) place() Head { return Head{Seq: c.seq, Epoch: c.epoch, Sum: string(c.sum[:])} }

// prepareCopy reads what others have appended to the copy, and removes what is not a part of it: a torn tail, and, if the store has
// the events, a damaged one. The caller holds the lock.
func (l *Log) prepareCopy(ctx context.Context, store Remote, key string) error {
	err := l.catchUp()
	if err != nil && err == l.damage && l.badTail {
		if err = l.dropDamage(ctx, store, key); err == nil {
			err = l.catchUp()
		}
	}
	if err != nil {
		return err
	}
	return l.prepareWrite()
}

// dropDamage moves a damaged tail of the copy aside, if the store continues the events before it.
func (l *Log) dropDamage(ctx context.Context, store Remote, key string) error {
	page, err := store.Read(ctx, key, l.chain.seq)
	if err != nil {
		return errors.Join(l.damage, err)
	}
	if page.Head.Seq < l.chain.seq || l.follow(page) != nil {
		return l.damage
	}
	if err := l.saveTornTail(); err != nil {
		return errors.Join(l.damage, err)
	}
	l.damage, l.badTail = nil, false
	return nil
}

// follow returns why a page does not continue the copy; nil if it does.
func (l *Log) follow(page Page) error {
	next := l.chain
	if len(page.Lines) == 0 && page.Head.Seq > next.seq {
		return fmt.Errorf("event %d is missing", next.seq+1)
	}
	for _, stored := range page.Lines {
		if _, err := next.follow(stored.Line); err != nil {
			return err
		}
	}
	if next.seq == page.Head.Seq && next.seq > 0 && string(next.sum[:]) != page.Head.Sum {
		return fmt.Errorf("checksum of event %d is %s, want %s", next.seq, page.Head.Sum, string(next.sum[:]))
	}
	return nil
}

// pull appends to the copy what the store has and the copy lacks. The caller holds the lock and has called prepareCopy.
func (l *Log) pull(ctx context.Context, store Remote, key string) error {
	for {
		page, err := store.Read(ctx, key, l.chain.seq)
		if err == nil {
			err = l.accept(page)
		}
		if err != nil || len(page.Lines) == 0 {
			return err
		}
		var buf []byte
		for _, stored := range page.Lines {
			buf = append(buf, stored.Line...)
			if r, ok := splitLine(stored.Line); ok {
				if err := l.receivePlan(ctx, store, key, r); err != nil {
					return err
				}
			}
		}
		if err := l.writeCopy(buf, l.chain.end+int64(len(buf))); err != nil {
			return fmt.Errorf("copy from the database: %w", err)
		}
		if err := l.catchUpFile(); err != nil {
			return err
		}
	}
}

// accept returns an error unless a page may be appended to the copy.
func (l *Log) accept(page Page) error {
	l.leased = page.Owner
	switch page.Phase {
	case Arriving, Stored:
	case Leaving:
		return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("run %s is being moved to files", l.run), Hint: "pawl store move files"}
	default:
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("run %s was moved from the database to files of another project folder", l.run), Hint: "pawl store"}
	}
	if page.Head.Seq < l.chain.seq {
		return &pawl.Error{
			Kind: pawl.KindDamaged, Hint: "pawl store move postgres",
			Err: fmt.Errorf("the database has lost events: it ends with event %d, and the copy in %s with event %d", page.Head.Seq, l.path(), l.chain.seq),
		}
	}
	if err := l.follow(page); err != nil {
		return &pawl.Error{
			Kind: pawl.KindDamaged, Hint: "pawl verify",
			Err: fmt.Errorf("the database does not continue the copy in %s: after event %d: %w", l.path(), l.chain.seq, err),
		}
	}
	return nil
}

// createCopy creates the copy of a stored run whose file is missing. The error wraps fs.ErrNotExist if the run is stored in files.
func (l *Log) createCopy() (disk.File, error) {
	m, err := readMarker(l.home)
	if err == nil && !m.remote() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return disk.File{}, err
	}
	return disk.Create(l.path())
}

// writeCopy appends to the copy, without syncing it: what a power failure takes, the store has.
func (l *Log) writeCopy(buf []byte, end int64) error {
	if _, err := l.file.WriteAt(buf, end-int64(len(buf))); err != nil {
		return errors.Join(err, l.truncateBatch())
	}
	return nil
}

// update appends to the copy of a stored run what the store has more. Without a store, the copy is read as it is.
func (l *Log) update() {
	if l.unlocked || l.dead != nil {
		return
	}
	m, err := readMarker(l.home)
	l.marker = m
	switch {
	case err != nil:
		l.stale = err
	case !m.remote():
		l.stale = nil
	case l.readOnly != nil:
		l.stale = fmt.Errorf("the copy is read-only: %w", l.readOnly)
	default:
		l.stale = l.updateFrom(m)
	}
}

func (l *Log) updateFrom(m marker) error {
	store, ctx, cancel, err := forReading(m.Store, filepath.Dir(l.home))
	if err != nil {
		return err
	}
	defer cancel()
	if l.damage == nil && l.size == l.chain.end {
		page, err := store.Read(ctx, m.Key, l.chain.seq)
		if err != nil {
			readFailed(m.Store, err)
			return err
		}
		if err := l.accept(page); err != nil || len(page.Lines) == 0 {
			return err
		}
	}
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.prepareCopy(ctx, store, m.Key); err != nil {
		return err
	}
	return l.pull(ctx, store, m.Key)
}

// Stale returns why the events of a stored run may not be all there are: the store could not be read. It returns nil for other runs.
func (l *Log) Stale() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stale
}

// sendPlan stores the plan that an event names.
func (l *Log) sendPlan(ctx context.Context, store Remote, key string, r rawLine) error {
	name, path := l.planOf(r)
	if name == "" {
		return nil
	}
	data, err := disk.ReadFile(path, disk.PlanLimit)
	if err != nil || hashOf(data) != name {
		return nil // as in files, the event is what counts
	}
	return store.PutBlob(ctx, key, name, data)
}

// receivePlan writes the plan that an event names, if it is missing.
func (l *Log) receivePlan(ctx context.Context, store Remote, key string, r rawLine) error {
	name, path := l.planOf(r)
	if name == "" || disk.Exists(path) {
		return nil
	}
	data, err := store.Blob(ctx, key, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = disk.Replace(path, data)
	}
	return err
}

// planName matches the names of a run's plan files.
var planName = lazyregexp.New(`^plan(\.\d{1,9})?\.yaml$`)

// planOf returns the SHA-256 and the file of the plan that a line names; "" if it names none.
func (l *Log) planOf(r rawLine) (name, path string) {
	if string(r.kind) != string(pawl.RunPlanned{}.Event()) {
		return "", ""
	}
	event := pawl.Event{Type: pawl.EventType(r.kind), Data: r.data}
	payload, err := event.Payload()
	planned, ok := payload.(pawl.RunPlanned)
	if err != nil || !ok || planned.SHA256 == "" || !planName.MatchString(planned.File) {
		return "", ""
	}
	return planned.SHA256, filepath.Join(l.home, planned.File)
}
