package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// Relation is how the journals of the same run in two folders differ.
type Relation int

// The relations of a journal to another one.
const (
	Same     Relation = iota
	Behind            // the other one continues it
	Ahead             // it continues the other one
	Diverged          // each has events that the other one lacks
)

// Compare compares a run's journal, up to its last whole line, with that in another folder.
func Compare(folder, other string, run pawl.RunID) (Relation, error) {
	ours, err := Files(folder, run)
	if err != nil {
		return Same, err
	}
	theirs, err := Files(other, run)
	if err != nil {
		return Same, err
	}
	for i := range min(len(ours), len(theirs)) {
		relation, err := compareFiles(ours[i], theirs[i])
		if err != nil || relation == Diverged {
			return relation, err
		}
		if relation == Behind && i < len(ours)-1 || relation == Ahead && i < len(theirs)-1 {
			return Diverged, nil // a sealed segment is complete
		}
		if relation != Same {
			return relation, nil
		}
	}
	switch {
	case len(ours) < len(theirs):
		return Behind, nil
	case len(ours) > len(theirs):
		return Ahead, nil
	}
	return Same, nil
}

// compareFiles compares the whole lines of two segments.
func compareFiles(ours, theirs string) (Relation, error) {
	a, err := WholeLines(ours)
	if err != nil {
		return Same, err
	}
	b, err := WholeLines(theirs)
	if err != nil {
		return Same, err
	}
	switch {
	case bytes.Equal(a, b):
		return Same, nil
	case bytes.HasPrefix(b, a):
		return Behind, nil
	case bytes.HasPrefix(a, b):
		return Ahead, nil
	}
	return Diverged, nil
}

// maxSegment is the largest segment that is read at once: one of segmentSize, and a batch.
const maxSegment = 256 << 20

// WholeLines returns a segment without a last line that lacks its newline.
func WholeLines(path string) ([]byte, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSegment+1))
	if err == nil && len(data) > maxSegment {
		err = &os.PathError{Op: "read", Path: path, Err: disk.ErrTooLarge}
	}
	return data[:bytes.LastIndexByte(data, '\n')+1], err
}

// Extend replaces a run's journal by one that continues it, from another folder on the same file system, which loses it. After a crash
// the journal is the old or the new one, whole; Extend can be repeated. No engine may work on the run.
func Extend(folder, from string, run pawl.RunID) (err error) {
	path := filepath.Join(homeOf(folder, run), FileName)
	file, err := disk.OpenWritable(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // unlocks it, too
	l := &Log{home: homeOf(folder, run), run: run, file: file}
	if err := l.flock(unix.LOCK_EX); err != nil {
		return err
	}
	if m, err := readMarker(l.home); err != nil || m.remote() {
		return errors.Join(err, fmt.Errorf("run %s is stored in a database", run))
	}
	relation, err := Compare(folder, from, run)
	if err != nil || relation == Same {
		return err
	}
	if relation != Behind {
		return fmt.Errorf("the other journal of run %s does not continue this one", run)
	}
	segments, err := Files(from, run)
	if err != nil {
		return err
	}
	if err := l.setTailAside(path); err != nil {
		return err
	}
	for _, segment := range segments { // the open one last: until then no reader looks at the others
		if err := disk.Rename(segment, filepath.Join(l.home, filepath.Base(segment))); err != nil {
			return err
		}
	}
	return nil
}

// setTailAside moves a last line that lacks its newline to a file of its own.
func (l *Log) setTailAside(path string) error {
	data, err := WholeLines(path)
	if err != nil {
		return err
	}
	info, err := l.file.Stat()
	if err != nil || info.Size() == int64(len(data)) {
		return err
	}
	l.chain.end, l.size = int64(len(data)), info.Size()
	return l.saveTornTail()
}
