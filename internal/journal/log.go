package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// Log is a run's open journal. Its methods may be called concurrently.
type Log struct {
	run  pawl.RunID
	home string // folder of the run

	queue queue // pending appends; its lock is never held together with mu

	mu        sync.Mutex // guards the fields below, and the flock, of which a descriptor holds one
	file      disk.File
	locked    int          // how the file is locked
	readOnly  error        // why the file is open for reading only, or nil
	unlocked  bool         // it takes no flock; see Glance
	proven    bool         // see Proven
	unread    bool         // nothing was read yet; see Unread
	limit     int64        // size at which the file is sealed
	sealed    []*sealed    // the segments before the open one
	origin    *origin      // header of the open segment; nil for the first one
	verified               // of the open segment
	size      int64        // size of the file when last checked; bytes after chain.end are a torn tail
	synced    int64        // chain.end at the last sync by this descriptor
	open      int64        // chain.end at the last AppendLater that did not sync
	damage    error        // damage after chain.end, or nil
	badTail   bool         // the damage is in lines at the end of the open segment
	stale     error        // see Stale
	marker    marker       // where the run was stored at the last update
	owner     string       // by which this Log has a lease; "" for none
	leased    string       // owner of the lease when the store was last read
	placeIn   string       // ID of the store to which the first append moves the run; "" for none
	dead      error        // why nothing can be appended any more, or nil
	lastOther pawl.Seq     // last event that another writer appended
	delivered pawl.Seq     // last event that State or NewEvents returned
	current   bool         // the last call that read the file to its end was an append
	cached    pawl.Seq     // last event in the cached state, as far as known
	early     chan *cached // receives the cache, read while a long journal is verified; may be nil
	commits   *Commits     // through which appends are synced; may be nil
	unnamed   bool         // the names of the folder and the file are not durable yet

	closing    sync.Once
	quit       chan struct{}  // closed by Close
	background sync.WaitGroup // goroutines that Close waits for
}

// Open opens a run's journal and verifies all of it. A torn tail is ignored and left in place. Damage is an error of
// KindDamaged that names file, line and byte; Dir.Read yields the events before it.
func Open(folder string, run pawl.RunID) (*Log, error) { return openIntact(folder, run, true) }

// openIntact is Open; forState says that State will be called.
func openIntact(folder string, run pawl.RunID, forState bool) (*Log, error) {
	l, err := open(folder, run, forState)
	if err != nil {
		return nil, err
	}
	if l.damage != nil {
		return nil, errors.Join(l.damage, l.Close())
	}
	return l, nil
}

// OpenAfter is Open for a caller that passes a known state to StateAfter.
func OpenAfter(folder string, run pawl.RunID, known *Known) (*Log, error) {
	return openIntact(folder, run, known.State == nil && known.Cache == "")
}

// Unread is Open for a journal whose state after event seq the caller knows, and that has no later event. It reads nothing yet: what is
// wrong with the journal, the first call that needs its lines reports. NewEvents continues after seq.
func Unread(folder string, run pawl.RunID, seq pawl.Seq) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, fmt.Errorf("%w: %w", pawl.ErrNoRun, err)
	}
	l := blankLog(folder, run)
	if err := l.openFile(); err != nil {
		return nil, err
	}
	l.delivered, l.unread, l.proven = seq, true, true
	return l, nil
}

// read reads a journal that Unread opened.
func (l *Log) read() error {
	if !l.unread {
		return nil
	}
	return l.refresh()
}

// Glance is Open for a read that does not wait and changes nothing: it takes no lock, so the last batch may be there in part. A
// journal that is damaged, or is sealed at this moment, gives an error.
func Glance(folder string, run pawl.RunID) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, fmt.Errorf("%w: %w", pawl.ErrNoRun, err)
	}
	l := blankLog(folder, run)
	file, err := disk.Open(l.path())
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	l.file, l.unlocked, l.readOnly = disk.File{File: file}, true, errors.New("opened without a lock")
	if err := l.refresh(); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal: %w", err), l.Close())
	}
	return l, nil
}

// open is like openIntact, but also returns a damaged journal, with the events before the damage.
func open(folder string, run pawl.RunID, forState bool) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, fmt.Errorf("%w: %w", pawl.ErrNoRun, err)
	}
	l := blankLog(folder, run)
	if err := l.openFile(); err != nil {
		return nil, err
	}
	if forState {
		l.readCacheEarly()
	}
	if err := l.refresh(); err != nil && err != l.damage {
		return nil, errors.Join(fmt.Errorf("open journal: %w", err), l.Close())
	}
	return l, nil
}

func blankLog(folder string, run pawl.RunID) *Log {
	return &Log{run: run, home: filepath.Join(folder, string(run)), quit: make(chan struct{}), limit: segmentSize, verified: newVerified()}
}

func (l *Log) path() string { return filepath.Join(l.home, FileName) }

// openFile opens the journal for writing, or for reading if writing is not permitted.
func (l *Log) openFile() error {
	file, err := l.openForWriting(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		file, err = l.createCopy()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run %s: %w", l.run, pawl.ErrNoRun)
	}
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	l.file, l.synced, l.open = file, 0, 0
	return nil
}

// openForWriting opens a segment for writing, or for reading if writing is not permitted or would change another file. A writer
// that died while it sealed or replaced the segment may have left it with a second name of the journal's own.
func (l *Log) openForWriting(path string) (disk.File, error) {
	file, err := disk.OpenWritable(path)
	if errors.Is(err, disk.ErrLinked) {
		own, globErr := disk.Glob(l.home, "journal.*")
		if globErr != nil {
			return disk.File{}, globErr
		}
		own = slices.DeleteFunc(own, func(name string) bool { return name == path })
		file, err = disk.OpenWritable(path, own...)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, disk.ErrLinked) {
		l.readOnly = err
		file.File, err = disk.Open(path)
	}
	return file, err
}

// Close closes the journal and ends its watches.
func (l *Log) Close() error {
	l.closing.Do(func() { close(l.quit) })
	l.background.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := []error{l.file.Close()}
	for _, s := range l.sealed {
		if s.index != nil {
			errs = append(errs, s.index.file.Close())
		}
	}
	return errors.Join(errs...)
}

// broken reports whether the journal is damaged or failed.
func (l *Log) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.damage != nil || l.dead != nil
}

// Seq returns the number of the last known event.
func (l *Log) Seq() pawl.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.seq
}

// lock takes the journal's flock. It waits for other writers, which hold the lock during one batch.
func (l *Log) lock(how int) (unlock func(), err error) {
	if err := l.flock(how); err != nil {
		return nil, err
	}
	return func() { _ = l.flock(unix.LOCK_UN) }, nil // closing the file would unlock it too
}

func (l *Log) flock(how int) error {
	l.locked = how
	if l.unlocked {
		return nil
	}
	for {
		if err := unix.Flock(int(l.file.Fd()), how); err == nil {
			return nil
		} else if err != unix.EINTR {
			return fmt.Errorf("lock %s: %w", l.path(), err)
		}
	}
}

// refresh reads what others have appended, also in the store of the run.
func (l *Log) refresh() error {
	l.unread = false
	if err := l.refreshFile(); err != nil && (err != l.damage || !l.badTail) {
		return err
	}
	l.update()
	return l.damage
}

// refreshFile reads what others have appended to the file. Under the lock, it never sees part of a batch.
func (l *Log) refreshFile() error {
	if l.damage != nil {
		return l.damage
	}
	unlock, err := l.lock(unix.LOCK_SH)
	if err != nil {
		return err
	}
	defer unlock()
	return l.catchUp()
}

// catchUp verifies the lines appended since the last call, through all segments. The caller holds the lock.
func (l *Log) catchUp() error {
	for more := true; more; {
		err := l.catchUpFile()
		if err != nil {
			return err
		}
		if more, err = l.advance(); err != nil {
			return err
		}
	}
	return nil
}

// catchUpFile verifies the lines appended to the open segment since the last call.
func (l *Log) catchUpFile() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.size = info.Size()
	if l.size < l.chain.end {
		l.damage = damaged(l.path(), l.lineNumber()-1, l.size, fmt.Errorf("the file is truncated here; it had at least %d bytes", l.chain.end))
		return l.damage
	}
	if l.size == l.chain.end {
		return nil
	}
	if l.chain.end == 0 {
		if err := l.begin(); err != nil {
			return err
		}
	}
	return l.scan()
}

// begin reads the header of the open segment, if it has one, and checks the sealed segments.
func (l *Log) begin() error {
	v, from, err := readHeader(l.file, l.size, l.run)
	if err != nil {
		l.damage = damaged(l.path(), 1, 0, err)
		return l.damage
	}
	if from == nil {
		return nil
	}
	l.verified, l.origin = v, from
	if err := l.checkSealed(from); err != nil {
		l.damage = err
	}
	return l.damage
}

// scan verifies the lines after the end of the chain.
func (l *Log) scan() error {
	before := l.chain.seq
	if l.scanParallel() {
		return l.afterScan(before)
	}
	in := newLines(l.file, l.chain.end, l.size)
	line, why, err := l.check(in)
	if err != nil {
		return err
	}
	if err := l.afterScan(before); err != nil || line == nil {
		return err
	}
	return l.classifyTail(in, line, why)
}

// afterScan updates the Log after the events that follow event before were scanned.
func (l *Log) afterScan(before pawl.Seq) error {
	if l.chain.seq > before {
		l.lastOther = l.chain.seq
	}
	if before > 0 || l.chain.seq == 0 {
		return nil
	}
	first, err := l.lineAt(1)
	if err != nil {
		return err
	}
	r, _ := splitLine(first)
	if err := checkFirst(l.run, pawl.EventType(r.kind), r.data); err != nil {
		l.verified = newVerified()
		l.damage = damaged(l.path(), 1, 0, err)
	}
	return l.damage
}

// classifyTail distinguishes a torn tail from damage. line is the first bad line.
func (l *Log) classifyTail(in *lines, line []byte, why error) error {
	bad := damaged(l.path(), l.lineNumber(), l.chain.end, why)
	switch harmless, err := torn(in, line, l.chain); {
	case err != nil:
		return err
	case !harmless:
		l.damage, l.badTail = bad, true
	}
	return l.damage
}

// checkFirst verifies that a journal starts as the journal of run, in a known format.
func checkFirst(run pawl.RunID, kind pawl.EventType, data []byte) error {
	var p pawl.RunCreated
	if kind != p.Event() {
		return fmt.Errorf("a journal must start with %s, not %s", p.Event(), kind)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if p.Format > pawl.Format {
		return fmt.Errorf("format %d; this pawl reads formats up to %d: %w", p.Format, pawl.Format, pawl.ErrNewer)
	}
	if p.Run != run {
		return fmt.Errorf("this is the journal of run %s, not %s", p.Run, run)
	}
	return nil
}

// NewEvents returns the events that neither State nor NewEvents has returned yet, in order, including this Log's own.
func (l *Log) NewEvents() ([]pawl.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return l.deliver()
}

// Appended is NewEvents as of the last Append or AppendLater of this Log, which read the file to its end. What others have appended since
// comes with the next call.
func (l *Log) Appended() ([]pawl.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.current {
		if err := l.refresh(); err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
	}
	l.current = false
	return l.deliver()
}

// deliver returns the events that were read and not yet returned.
func (l *Log) deliver() ([]pawl.Event, error) {
	if l.delivered == l.chain.seq {
		return nil, nil
	}
	news := make([]pawl.Event, 0, l.chain.seq-l.delivered)
	for event, err := range l.eventsAfter(l.delivered) {
		if err != nil {
			return nil, err
		}
		news = append(news, event)
	}
	l.delivered = l.chain.seq
	return news, nil
}

// Event returns the event with this number.
func (l *Log) Event(seq pawl.Seq) (pawl.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(); err != nil {
		return pawl.Event{}, fmt.Errorf("read journal: %w", err)
	}
	if seq < 1 || seq > l.chain.seq {
		return pawl.Event{}, fmt.Errorf("read journal: no event %d", seq)
	}
	file, known, path := l.file.File, &l.verified, l.path()
	if s := l.segmentOf(seq); s != nil {
		index, err := s.load(l.run)
		if err != nil {
			return pawl.Event{}, fmt.Errorf("read event %d: %w", seq, err)
		}
		file, known, path = index.file, &index.verified, s.path
	}
	line := make([]byte, known.endOf(seq)-known.startOf(seq))
	if _, err := file.ReadAt(line, known.startOf(seq)); err != nil {
		return pawl.Event{}, fmt.Errorf("read event %d: %w", seq, err)
	}
	return decode(path, &decoder{}, line, known.startOf(seq))
}

// lineAt returns the line of an event in the open segment.
func (l *Log) lineAt(seq pawl.Seq) ([]byte, error) {
	line := make([]byte, l.endOf(seq)-l.startOf(seq))
	if _, err := l.file.ReadAt(line, l.startOf(seq)); err != nil {
		return nil, fmt.Errorf("read event %d: %w", seq, err)
	}
	return line, nil
}

// Events yields the events after seq, up to the last one at the time of the call. At damage it ends with an error of
// KindDamaged.
func (l *Log) Events(after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		l.mu.Lock()
		damage := l.refresh()
		events := l.eventsAfter(after)
		l.mu.Unlock()
		for event, err := range events {
			if !yield(event, err) || err != nil {
				return
			}
		}
		if damage != nil {
			yield(pawl.Event{}, fmt.Errorf("read journal: %w", damage))
		}
	}
}

// eventsAfter yields the known events after seq. Their bytes never change, so iterating needs no lock. It verifies the
// lines of sealed segments, which were not verified when the journal was opened.
func (l *Log) eventsAfter(after pawl.Seq) iter.Seq2[pawl.Event, error] {
	after = min(max(after, 0), l.chain.seq)
	var older []*sealed
	for _, s := range l.sealed {
		if s.last > after || s.last == 0 { // 0: damaged
			older = append(older, s)
		}
	}
	from := l.startOf(max(after+1, l.first))
	in, path := newLines(l.file, from, l.chain.end), l.path()
	return func(yield func(pawl.Event, error) bool) {
		for _, s := range older {
			if !s.events(l.run, after, yield) {
				return
			}
		}
		var d decoder
		for {
			line, err := in.next()
			if err != nil {
				yield(pawl.Event{}, fmt.Errorf("read journal: %w", err))
			}
			if line == nil {
				return
			}
			event, err := decode(path, &d, line, from)
			from += int64(len(line))
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// events yields the events of a sealed segment after a number. It returns false when the caller stops, and after an
// error.
func (s *sealed) events(run pawl.RunID, after pawl.Seq, yield func(pawl.Event, error) bool) (more bool) {
	fail := func(at *verified, why error) bool {
		yield(pawl.Event{}, fmt.Errorf("read journal: %w", damaged(s.path, at.lineNumber(), at.chain.end, why)))
		return false
	}
	at := newVerified()
	file, err := disk.Open(s.path)
	if err != nil {
		return fail(&at, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		at, _, err = readHeader(file, info.Size(), run)
	}
	if err != nil {
		return fail(&at, err)
	}
	var d decoder
	for in := newLines(file, at.head, info.Size()); ; {
		line, err := in.next()
		if err != nil {
			return fail(&at, err)
		}
		if line == nil {
			break
		}
		offset := at.chain.end
		if _, err := at.chain.follow(line); err != nil {
			return fail(&at, err)
		}
		if at.chain.seq <= after {
			continue
		}
		event, err := decode(s.path, &d, line, offset)
		if !yield(event, err) || err != nil {
			return false
		}
	}
	if s.last == 0 || at.chain.seq != s.last || at.chain.sum != s.end.sum {
		return fail(&at, errors.New("the next segment does not follow this one"))
	}
	return true
}

// decode decodes a verified line of a file.
func decode(path string, d *decoder, line []byte, offset int64) (pawl.Event, error) {
	r, ok := splitLine(line)
	if !ok {
		return pawl.Event{}, damaged(path, r.seq, offset, errors.New("the line changed after it was verified"))
	}
	event, err := d.event(r)
	if err != nil {
		return pawl.Event{}, damaged(path, r.seq, offset, err)
	}
	return event, nil
}

// fold applies the events after state.Seq.
func (l *Log) fold(ctx context.Context, state *pawl.State) error {
	for event, err := range l.eventsAfter(state.Seq) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("fold journal: %w", err)
		}
		state.Apply(event)
	}
	return nil
}
