package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// segmentSize is the size at which the open segment, journal.jsonl, is sealed. Tests lower it.
var segmentSize int64 = 16 << 20

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

// sealedIn lists the sealed segments before event first in a run's folder, in order. Files of later events are left
// from an interrupted roll-over or from a journal that was rebuilt, and are not part of the journal.
func sealedIn(home string, first pawl.Seq) ([]*sealed, error) {
	if first <= 1 {
		return nil, nil
	}
	names, err := disk.ReadNames(home)
	if err != nil {
		return nil, err
	}
	var list []*sealed
	for _, name := range names {
		if n := firstOf(name); n > 0 && n < first {
			list = append(list, &sealed{first: n, path: filepath.Join(home, name)})
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
	l.file, l.verified, l.origin, l.synced, l.open, l.size = file, v, from, 0, 0, v.chain.end
	l.newer = newer
	return true, l.flock(held)
}

// Sources returns the paths of all files on which the events of a run depend: the segments of its journal, and the marker, which is there
// only if a database has or had the run. It is an error if a database has it.
func Sources(folder string, run pawl.RunID) ([]string, error) {
	if store, err := StoredIn(folder, run); err != nil || store != "" {
		return nil, errors.Join(err, errStored)
	}
	paths, err := Files(folder, run)
	return append(paths, filepath.Join(homeOf(folder, run), markerName)), err
}

var errStored = errors.New("a database has the run")

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
