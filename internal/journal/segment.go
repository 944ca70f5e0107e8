package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// segmentSize is the size at which the open segment, journal.jsonl, is sealed. Tests lower it.
var segmentSize int64 = 16 << 20

// segmentFormat is the format of a journal with sealed segments. Its number makes an older pawl, which knows format 1
// only, refuse the journal with pawl.ErrNewer: the header of a segment looks to it like the first event of a run.
const segmentFormat = 2

// header is the data of the first line of every segment but the first. That line is no event. Its checksum follows
// noSum, so that an older pawl can verify it.
type header struct {
	Format  int        `json:"format"`
	Run     pawl.RunID `json:"run"`
	Segment *origin    `json:"segment"`
}

// origin ties a segment to the one before it.
type origin struct {
	First    pawl.Seq `json:"first"`    // number of the segment's first event
	Previous pawl.Seq `json:"previous"` // number of the first event of the previous segment, which is in its file's name
	Length   int64    `json:"length"`   // size of the previous segment's file
	LastCRC  string   `json:"last_crc"` // checksum of the last line there
	Fold     *fold    `json:"fold"`     // the state before this segment
	marks
}

// fold names the state after an event, as a blob.
type fold struct {
	Version int    `json:"version"` // of the state, as in the cache
	State   string `json:"state"`   // SHA-256 of the blob with the state as JSON
}

// marks are what a scan notes about the events without folding them.
type marks struct {
	Gated bool   `json:"gated,omitempty"` // there is an event of gates, blockers, budgets, reviews or rollbacks
	Plan  string `json:"plan,omitempty"`  // SHA-256 of the current plan, by the last run.planned
}

// add notes an event's type, and its data if it is a run.planned.
func (m *marks) add(kind []byte, data func() []byte) {
	switch family, _, _ := bytes.Cut(kind, []byte{'.'}); {
	case string(kind) == "run.planned":
		var planned pawl.RunPlanned
		_ = json.Unmarshal(data(), &planned) // without its hash the plan counts as unknown
		m.Plan = planned.SHA256
	case string(kind) == "step.reviewed", string(family) == "gate", string(family) == "blocker", string(family) == "budget", string(family) == "rollback":
		m.Gated = true
	}
}

// join adds the marks of later events.
func (m *marks) join(later marks) {
	m.Gated = m.Gated || later.Gated
	if later.Plan != "" {
		m.Plan = later.Plan
	}
}

// sealed is a segment that was sealed: its file never changes.
type sealed struct {
	first pawl.Seq
	last  pawl.Seq // number of its last event, according to the next segment's header
	end   chain    // size and last checksum according to that header
	path  string
	index *segmentIndex // nil until an event is looked up
}

// segmentIndex is a sealed segment's open file with the offsets of its lines.
type segmentIndex struct {
	file *os.File
	verified
}

// sealedName is the file name of a sealed segment.
func sealedName(first pawl.Seq) string { return fmt.Sprintf("journal.%d.jsonl", first) }

// firstOf is the inverse of sealedName; 0 for other names.
func firstOf(name string) pawl.Seq {
	text, ok := strings.CutPrefix(name, "journal.")
	if text, isSegment := strings.CutSuffix(text, ".jsonl"); ok && isSegment {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && sealedName(pawl.Seq(n)) == name {
			return pawl.Seq(n)
		}
	}
	return 0
}

// readHeader returns the start of a segment's verification if its first line is a header. Otherwise it returns ok false,
// and the file starts with the first event of the run. An error is damage.
func readHeader(file io.ReaderAt, size int64, run pawl.RunID) (v verified, from *origin, err error) {
	line, err := firstLine(file, size)
	if err != nil || line == nil {
		return newVerified(), nil, err
	}
	at := chain{sum: noSum}
	kind, bad := at.follow(line)
	if bad != nil || string(kind) != string(pawl.RunCreated{}.Event()) {
		return newVerified(), nil, nil
	}
	r, _ := splitLine(line)
	var h header
	if json.Unmarshal(r.data, &h) != nil || h.Segment == nil {
		return newVerified(), nil, nil
	}
	switch {
	case h.Format > segmentFormat:
		return v, nil, fmt.Errorf("format %d; this pawl reads formats up to %d: %w", h.Format, segmentFormat, pawl.ErrNewer)
	case h.Run != run:
		return v, nil, fmt.Errorf("this is the journal of run %s, not %s", h.Run, run)
	case h.Segment.First < 2 || h.Segment.Previous < 1 || h.Segment.Previous >= h.Segment.First:
		return v, nil, fmt.Errorf("its header says that event %d follows a segment that begins with event %d", h.Segment.First, h.Segment.Previous)
	}
	length := int64(len(line))
	v = verified{
		chain: chain{seq: h.Segment.First - 1, epoch: r.epoch, sum: r.sum, start: length, end: length},
		first: h.Segment.First, head: length, marks: h.Segment.marks,
	}
	return v, h.Segment, nil
}

// firstLine returns the first line of a file, or its start if the line is too long; nil for an empty file.
func firstLine(file io.ReaderAt, size int64) ([]byte, error) {
	const usual = 2048 // a header is shorter
	line, err := newLines(file, 0, min(size, usual)).next()
	if err == nil && len(line) == usual {
		line, err = newLines(file, 0, min(size, maxLine)).next()
	}
	return line, err
}

// follows reports why a segment with this header does not follow the segment that begins with event first and ends at
// end; nil if it does.
func (o *origin) follows(first pawl.Seq, end chain) error {
	switch {
	case first > 0 && o.Previous != first:
		return fmt.Errorf("the segment follows %s, not %s", sealedName(o.Previous), sealedName(first))
	case o.First != end.seq+1:
		return fmt.Errorf("the segment begins with event %d, want event %d", o.First, end.seq+1)
	case o.Length != end.end:
		return fmt.Errorf("%s has %d bytes, want %d", sealedName(o.Previous), end.end, o.Length)
	case o.LastCRC != string(end.sum[:]):
		return fmt.Errorf("the last checksum of %s is %s, want %s", sealedName(o.Previous), string(end.sum[:]), o.LastCRC)
	}
	return nil
}

// sealedIn lists the sealed segments before event first in a run's folder, in order. Files of later events are left
// from an interrupted roll-over or from a journal that was rebuilt, and are not part of the journal.
func sealedIn(home string, first pawl.Seq) ([]*sealed, error) {
	if first <= 1 {
		return nil, nil
	}
	entries, err := disk.ReadDir(home)
	if err != nil {
		return nil, err
	}
	var list []*sealed
	for _, entry := range entries {
		if n := firstOf(entry.Name()); n > 0 && n < first {
			list = append(list, &sealed{first: n, path: filepath.Join(home, entry.Name())})
		}
	}
	slices.SortFunc(list, func(a, b *sealed) int { return int(a.first - b.first) })
	return list, nil
}

// checkSealed finds the sealed segments and compares the size and the last line of each with the header of the next one.
// It returns the damage, if any. l.sealed then ends with the damaged segment.
func (l *Log) checkSealed(open *origin) error {
	list, err := sealedIn(l.home, l.first)
	if err != nil {
		return err
	}
	headers, faults := readSealed(list, l.run)
	headers = append(headers, open)
	for i, s := range list {
		if err = faults[i]; err == nil && i == 0 && headers[0] != nil {
			err = fmt.Errorf("missing segment %s", sealedName(headers[0].Previous))
		}
		if err != nil {
			l.sealed = list[:i]
			return damaged(s.path, 1, 0, err)
		}
		if i+1 < len(list) && faults[i+1] != nil {
			continue // reported next
		}
		s.end.seq = headers[i+1].First - 1
		if err := headers[i+1].follows(s.first, s.end); err != nil {
			l.sealed = list[:i+1]
			return damaged(s.path, s.end.seq-s.first+1, s.end.end, err)
		}
		s.last = s.end.seq
	}
	if l.sealed = list; len(list) == 0 {
		return damaged(l.path(), 1, 0, fmt.Errorf("missing segment %s", sealedName(open.Previous)))
	}
	return nil
}

// readSealed reads the segments concurrently, since a long journal has hundreds, and returns the header of each and what is
// wrong with it.
func readSealed(list []*sealed, run pawl.RunID) (headers []*origin, faults []error) {
	headers, faults = make([]*origin, len(list)), make([]error, len(list))
	workers := min(runtime.GOMAXPROCS(0), 1+len(list)/8)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(list); i += workers {
				headers[i], faults[i] = list[i].read(run)
			}
		})
	}
	all.Wait()
	return headers, faults
}

// read reads the size and the last checksum of the segment, and returns its header; nil for the first segment.
func (s *sealed) read(run pawl.RunID) (*origin, error) {
	file, err := disk.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s.end = chain{end: info.Size()}
	if _, err := file.ReadAt(s.end.sum[:], max(0, info.Size()-int64(len(sum{})+len(lineEnd)))); err != nil {
		return nil, fmt.Errorf("read the last line: %w", err)
	}
	v, from, err := readHeader(file, info.Size(), run)
	if err == nil && v.first != s.first {
		err = fmt.Errorf("the file begins with event %d", v.first)
	}
	return from, err
}

// load opens a sealed segment and verifies all of it.
func (s *sealed) load(run pawl.RunID) (*segmentIndex, error) {
	if s.index != nil {
		return s.index, nil
	}
	file, err := disk.Open(s.path)
	if err != nil {
		return nil, damaged(s.path, 1, 0, err)
	}
	index := &segmentIndex{file: file}
	if err := index.scan(s, run); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.index = index
	return index, nil
}

func (x *segmentIndex) scan(s *sealed, run pawl.RunID) (err error) {
	if x.verified, _, err = readHeader(x.file, s.end.end, run); err != nil {
		return damaged(s.path, 1, 0, err)
	}
	line, why, err := x.check(newLines(x.file, x.head, s.end.end))
	if err == nil && line == nil && (x.chain.seq != s.last || x.chain.sum != s.end.sum) {
		line, why = []byte{'\n'}, fmt.Errorf("the segment ends with event %d, want event %d", x.chain.seq, s.last)
	}
	if err == nil && line != nil {
		err = damaged(s.path, x.lineNumber(), x.chain.end, why)
	}
	return err
}

// segmentOf returns the sealed segment of an event; nil if the event is in the open one.
func (l *Log) segmentOf(seq pawl.Seq) *sealed {
	for _, s := range slices.Backward(l.sealed) {
		if seq >= s.first {
			if seq <= s.last {
				return s
			}
			break
		}
	}
	return nil
}

// advance continues with the next segment if the open one was sealed meanwhile. It returns false if it was not. The
// caller holds the lock of the old file, and then that of the new one. If the journal was replaced, nothing more can be
// appended.
func (l *Log) advance() (more bool, err error) {
	ours, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := disk.Lstat(l.path())
	if errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(ours, named) {
		return false, nil // if the folder was moved away, finish the write there
	}
	if err != nil {
		return false, err
	}
	for _, path := range []string{l.path(), filepath.Join(l.home, sealedName(l.chain.seq+1))} {
		if done, err := l.continueIn(path); done || err != nil {
			return done, err
		}
	}
	l.dead = fmt.Errorf("%w: another process has rebuilt the journal", ErrDead)
	return false, nil
}

// continueIn makes the file at path the open segment if it follows the current one.
func (l *Log) continueIn(path string) (done bool, err error) {
	file, err := l.openForWriting(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	info, err := file.Stat()
	if err != nil {
		return false, errors.Join(err, file.Close())
	}
	v, from, err := readHeader(file, info.Size(), l.run)
	if err != nil || from == nil || from.follows(l.first, l.chain) != nil {
		return false, file.Close()
	}
	held := l.locked
	if err := l.flock(unix.LOCK_UN); err != nil {
		return false, errors.Join(err, file.Close())
	}
	if l.first > 0 { // not of a Log that knows only the end of its file
		l.sealed = append(l.sealed, &sealed{
			first: l.first, last: l.chain.seq, end: l.chain, path: filepath.Join(l.home, sealedName(l.first)),
			index: &segmentIndex{file: l.file.File, verified: l.verified},
		})
	} else if err := l.file.Close(); err != nil {
		return false, errors.Join(err, file.Close())
	}
	newer := l.newer
	l.file, l.verified, l.origin, l.synced, l.size = file, v, from, 0, v.chain.end
	l.newer = newer
	return true, l.flock(held)
}

// sealDue reports whether a batch that grew the open segment from one size to another makes it due to be sealed. After a
// failure it is due again when it has grown by another sixteenth.
func (l *Log) sealDue(before, after int64) bool {
	if after < l.limit {
		return false
	}
	step := max(1, l.limit/16)
	return before < l.limit || (before-l.limit)/step != (after-l.limit)/step
}

// seal seals the open segment: it gets a name of its own, and a new journal.jsonl begins, whose header names the state up
// to there. After a crash between any two calls the journal is complete: until the last rename the old file is the open
// segment, and its second name is ignored.
func (l *Log) seal(ctx context.Context) error {
	first := l.first
	state := l.foldedBefore()
	if err := l.fold(ctx, state); err != nil { // most of the work, before others must wait
		return err
	}
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.prepareWrite(); err != nil || l.first != first || l.chain.end < l.limit {
		return err // another process was faster
	}
	if l.synced != l.chain.end {
		_, _, buf, err := l.compose(nil)
		if err != nil {
			return err
		}
		if err := l.writeDurably(buf, l.chain.end); err != nil {
			return err
		}
		l.synced = l.chain.end
	}
	if err := l.fold(ctx, state); err != nil {
		return err
	}
	if err := l.rollOver(state); err != nil {
		return err
	}
	_, err = l.advance()
	return err
}

// sealNow is seal for callers that do not hold l.mu.
func (l *Log) sealNow(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seal(ctx)
}

// rollOver writes the next segment with only a header, and gives both files their names.
func (l *Log) rollOver(state *pawl.State) error {
	line, err := l.nextHeader(state)
	if err != nil {
		return err
	}
	next := filepath.Join(l.home, ".journal.next")
	if err := disk.Replace(next, line); err != nil {
		return err
	}
	if err := l.linkSealed(); err != nil {
		return err
	}
	return disk.Rename(next, l.path())
}

// nextHeader stores the state and returns the first line of the segment after the open one.
func (l *Log) nextHeader(state *pawl.State) ([]byte, error) {
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("store the state: %w", err)
	}
	name, err := l.PutBlob(data)
	if err != nil {
		return nil, err
	}
	event, err := encode(headerEvent(header{Format: segmentFormat, Run: l.run, Segment: &origin{
		First: l.chain.seq + 1, Previous: l.first, Length: l.chain.end, LastCRC: string(l.chain.sum[:]),
		Fold: &fold{Version: cacheVersion, State: name}, marks: l.marks,
	}}))
	if err != nil {
		return nil, err
	}
	start := chain{sum: noSum}
	return start.add(nil, 1, l.chain.epoch, time.Now(), event), nil
}

func headerEvent(h header) pawl.Event {
	data, err := json.Marshal(h)
	if err != nil {
		panic("a header is plain data: " + err.Error())
	}
	return pawl.Event{By: pawl.Author{Kind: pawl.ByEngine, Name: "journal"}, Type: pawl.RunCreated{}.Event(), Data: data}
}

// linkSealed gives the open segment the name of a sealed one. Files with names of the same or later events are left from
// a rebuilt journal; they are moved aside.
func (l *Log) linkSealed() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	entries, err := disk.ReadDir(l.home)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		n, path := firstOf(entry.Name()), filepath.Join(l.home, entry.Name())
		if n < l.first {
			continue
		}
		if other, err := disk.Lstat(path); err == nil && n == l.first && os.SameFile(info, other) {
			return disk.SyncFolder(l.home) // linked by a process that died then
		}
		if err := disk.Rename(path, damagedName(l.home, n)); err != nil {
			return err
		}
	}
	return disk.Link(l.path(), filepath.Join(l.home, sealedName(l.first)))
}

// foldedBefore returns the state before the open segment, as its header names it. If that is not certainly valid, it
// returns an empty state, from which the whole journal is folded.
func (l *Log) foldedBefore() *pawl.State {
	if l.origin == nil || l.origin.Fold == nil || l.origin.Fold.Version != cacheVersion {
		return pawl.NewState()
	}
	data, err := l.Blob(l.origin.Fold.State)
	if err != nil {
		return pawl.NewState()
	}
	state := pawl.NewState()
	if err := json.Unmarshal(data, state); err != nil || state.Seq != l.first-1 {
		return pawl.NewState()
	}
	return state
}

// Files returns the paths of a journal's segments in order. The last one is the open segment.
func Files(folder string, run pawl.RunID) ([]string, error) {
	home := homeOf(folder, run)
	open := filepath.Join(home, FileName)
	file, err := disk.Open(open)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	at, _, err := readHeader(file, info.Size(), run)
	if err != nil {
		return nil, damaged(open, 1, 0, err)
	}
	list, err := sealedIn(home, at.first)
	var paths []string
	for _, s := range list {
		paths = append(paths, s.path)
	}
	return append(paths, open), err
}
