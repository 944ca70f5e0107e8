package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// Log is one run's journal, opened. It is safe for concurrent use.
type Log struct {
	run  pawl.RunID
	home string // the run's folder

	queue queue // of appends; never held together with mu

	mu       sync.Mutex // guards all below, and the flock: one descriptor holds one lock
	file     disk.File
	readOnly error // why the file could be opened only for reading
	scanned
	size      int64        // of the file when it was last looked at: what lies behind chain.end is a torn tail
	synced    int64        // chain.end after the last sync that this descriptor made
	damage    error        // what stands behind chain.end, where that is no torn tail
	dead      error        // why nothing can be appended any more
	foreign   pawl.Seq     // the last event that this Log did not write
	delivered pawl.Seq     // by State and News
	cached    pawl.Seq     // up to where the state is cached, as far as this Log knows
	early     chan *cached // gets the cache, read while a long journal is checked; nil otherwise

	closing sync.Once
	quit    chan struct{}  // closed by Close
	helpers sync.WaitGroup // the goroutines whose end Close waits for
}

// Open opens a run's journal and checks all of it. A torn tail is no event and is left where it is. Damage gives an
// error of KindDamaged that names file, line and byte; Dir.Read yields what stands before it.
func Open(folder string, run pawl.RunID) (*Log, error) {
	l, err := open(folder, run)
	if err != nil {
		return nil, err
	}
	if l.damage != nil {
		return nil, errors.Join(l.damage, l.Close())
	}
	return l, nil
}

// open is Open for those who can do with the part of the journal that stands before damage.
func open(folder string, run pawl.RunID) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, fmt.Errorf("%w: %w", pawl.ErrNoRun, err)
	}
	l := &Log{run: run, home: filepath.Join(folder, string(run)), quit: make(chan struct{}), scanned: newScanned()}
	if err := l.openFile(); err != nil {
		return nil, err
	}
	l.readCacheEarly()
	if err := l.refresh(); err != nil && err != l.damage {
		return nil, errors.Join(fmt.Errorf("open journal: %w", err), l.Close())
	}
	return l, nil
}

func (l *Log) path() string { return filepath.Join(l.home, FileName) }

// openFile opens the journal for writing, or where that is not allowed for reading.
func (l *Log) openFile() error {
	file, err := os.OpenFile(l.path(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		l.readOnly = err
		file, err = os.Open(l.path())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run %s: %w", l.run, pawl.ErrNoRun)
	}
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	l.file, l.synced = disk.File{File: file}, 0
	return nil
}

// Close closes the journal and ends its watches.
func (l *Log) Close() error {
	l.closing.Do(func() { close(l.quit) })
	l.helpers.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// broken reports whether the Log has met damage or given up.
func (l *Log) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.damage != nil || l.dead != nil
}

// Seq returns the number of the last event that this Log knows of.
func (l *Log) Seq() pawl.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.seq
}

// lock takes the journal's flock, and waits for it: others hold it for the time of one batch.
func (l *Log) lock(how int) (unlock func(), err error) {
	flock := func(how int) error {
		for {
			if err := unix.Flock(int(l.file.Fd()), how); err != unix.EINTR {
				return err
			}
		}
	}
	if err := flock(how); err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.path(), err)
	}
	return func() { _ = flock(unix.LOCK_UN) }, nil // closing the file would unlock it as well
}

// refresh takes in what others have added. The lock makes sure that no batch is seen half.
func (l *Log) refresh() error {
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

// catchUp checks the lines that were added since it was last called. The lock is held.
func (l *Log) catchUp() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.size = info.Size()
	if l.size < l.chain.end {
		l.damage = damaged(l.path(), l.chain.seq, l.size, fmt.Errorf("the file ends here, but it once went on to byte %d", l.chain.end))
		return l.damage
	}
	if l.size == l.chain.end {
		return nil
	}
	return l.scan()
}

// scan checks the lines behind the chain's end.
func (l *Log) scan() error {
	before := l.chain.seq
	if l.inParts() {
		return l.scannedFrom(before)
	}
	in := newLines(l.file, l.chain.end, l.size)
	line, why, err := l.take(in)
	if err != nil {
		return err
	}
	if err := l.scannedFrom(before); err != nil || line == nil {
		return err
	}
	return l.judge(in, line, why)
}

// scannedFrom takes note of what was scanned after event before.
func (l *Log) scannedFrom(before pawl.Seq) error {
	if l.chain.seq > before {
		l.foreign = l.chain.seq
	}
	if before > 0 || l.chain.seq == 0 {
		return nil
	}
	first, err := l.lineAt(1)
	if err != nil {
		return err
	}
	r, _ := cut(first)
	if err := checkFirst(l.run, pawl.EventType(r.kind), r.data); err != nil {
		l.scanned = newScanned()
		l.damage = damaged(l.path(), 1, 0, err)
	}
	return l.damage
}

// judge tells a torn tail, which is nothing to worry about, from damage. line is the first bad one.
func (l *Log) judge(in *lines, line []byte, why error) error {
	bad := damaged(l.path(), l.chain.seq+1, l.chain.end, why)
	switch harmless, err := torn(in, line, l.chain); {
	case err != nil:
		return err
	case !harmless:
		l.damage = bad
	}
	return l.damage
}

// checkFirst checks that a journal begins as the journal of run, in a format that can be read.
func checkFirst(run pawl.RunID, kind pawl.EventType, data []byte) error {
	var p pawl.RunCreated
	if kind != p.Event() {
		return fmt.Errorf("a journal begins with %s, not with %s", p.Event(), kind)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if p.Format > pawl.Format {
		return fmt.Errorf("format %d, but this pawl reads up to format %d: %w", p.Format, pawl.Format, pawl.ErrNewer)
	}
	if p.Run != run {
		return fmt.Errorf("this is the journal of run %s, not of %s", p.Run, run)
	}
	return nil
}

// News returns the events that neither State nor News has returned yet, this Log's own and others', in their order.
func (l *Log) News() ([]pawl.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	if l.delivered == l.chain.seq {
		return nil, nil
	}
	news := make([]pawl.Event, 0, l.chain.seq-l.delivered)
	for event, err := range l.stretch(l.delivered) {
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
	if seq < 1 || seq > l.chain.seq {
		return pawl.Event{}, fmt.Errorf("read journal: there is no event %d", seq)
	}
	line, err := l.lineAt(seq)
	if err != nil {
		return pawl.Event{}, err
	}
	return l.decode(&decoder{}, line, l.startOf(seq))
}

func (l *Log) lineAt(seq pawl.Seq) ([]byte, error) {
	line := make([]byte, l.ends[seq-1]-l.startOf(seq))
	if _, err := l.file.ReadAt(line, l.startOf(seq)); err != nil {
		return nil, fmt.Errorf("read event %d: %w", seq, err)
	}
	return line, nil
}

// Events yields the events after seq, up to the last one that is there when it begins. Damage ends it with an error
// of KindDamaged, after the events before it.
func (l *Log) Events(after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		l.mu.Lock()
		damage := l.refresh()
		events := l.stretch(after)
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

// stretch yields the events after seq that are known now. Their bytes never change, so it needs no lock later.
func (l *Log) stretch(after pawl.Seq) iter.Seq2[pawl.Event, error] {
	from := l.startOf(min(max(after, 0), l.chain.seq) + 1)
	in := newLines(l.file, from, l.chain.end)
	return func(yield func(pawl.Event, error) bool) {
		var d decoder
		for {
			line, err := in.next()
			if err != nil {
				yield(pawl.Event{}, fmt.Errorf("read journal: %w", err))
			}
			if line == nil {
				return
			}
			event, err := l.decode(&d, line, from)
			from += int64(len(line))
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// startOf returns the offset of a line, or of the end for the one behind the last.
func (l *Log) startOf(seq pawl.Seq) int64 {
	if seq < 2 {
		return 0
	}
	return l.ends[seq-2]
}

// decode decodes a line that was checked.
func (l *Log) decode(d *decoder, line []byte, offset int64) (pawl.Event, error) {
	r, ok := cut(line)
	if !ok {
		return pawl.Event{}, damaged(l.path(), r.seq, offset, errors.New("it has changed since it was checked"))
	}
	event, err := d.event(r)
	if err != nil {
		return pawl.Event{}, damaged(l.path(), r.seq, offset, err)
	}
	return event, nil
}

// fold applies the events after state.Seq.
func (l *Log) fold(ctx context.Context, state *pawl.State) error {
	for event, err := range l.stretch(state.Seq) {
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
