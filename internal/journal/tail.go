package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// tailSize is the number of bytes at the end of a journal that Add reads.
const tailSize = 4 * MaxLine

// Add appends events to a run's journal as one batch, at a cost independent of the journal's length. It reads and
// verifies only the end, from the start of a batch on; if that fails in any way, it opens the journal like Open. It is
// meant for processes that write one event and exit, such as agent hooks.
//
// Add guarantees what Append does, except that it does not notice damage or unknown event types before the end; readers
// do.
func Add(ctx context.Context, folder string, run pawl.RunID, events ...pawl.Event) (err error) {
	l, err := openTail(folder, run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	before := l.chain.end
	if _, err = l.Append(ctx, 0, events...); err != nil || l.first > 0 || !l.sealDue(before, l.chain.end) {
		return err
	}
	whole, err := Open(folder, run)
	if err != nil {
		return nil // the events are durable; a later batch tries again
	}
	_ = whole.sealNow(ctx)
	return whole.Close()
}

// openTail opens a journal for appending only.
func openTail(folder string, run pawl.RunID) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, fmt.Errorf("%w: %w", pawl.ErrNoRun, err)
	}
	l := blankLog(folder, run)
	if err := l.openFile(); err != nil {
		return nil, err
	}
	known, err := l.scanTail()
	if err != nil || !known {
		if err := errors.Join(err, l.Close()); err != nil {
			return nil, err
		}
		return openIntact(folder, run, false)
	}
	return l, nil
}

// scanTail assumes the first complete line near the end to be valid, and verifies all lines after it. It returns false
// and changes nothing if that does not reach the end of the file, or if the last batch starts earlier.
func (l *Log) scanTail() (known bool, err error) {
	unlock, err := l.lock(unix.LOCK_SH)
	if err != nil {
		return false, err
	}
	defer unlock()
	info, err := l.file.Stat()
	if err != nil || info.Size() <= tailSize {
		return false, err
	}
	from, ok := chainNear(l.file.File, info.Size()-tailSize)
	if !ok {
		return false, nil
	}
	tail := verified{chain: from}
	if bad, _, err := tail.check(newLines(l.file, from.end, info.Size())); bad != nil || err != nil {
		return false, err
	}
	if tail.chain.end != info.Size() || tail.chain.start < 0 {
		return false, nil
	}
	l.verified, l.size = tail, info.Size()
	return true, nil
}

// Position is a place in the journal: an offset in the file of a segment.
type Position struct {
	Segment pawl.Seq `json:"segment,omitempty"` // number of the segment's first event; 0: the first segment
	Offset  int64    `json:"offset,omitempty"`
}

// End returns the position n bytes before the end of a run's journal, within its open segment.
func End(folder string, run pawl.RunID, n int64) (Position, error) {
	file, at, size, err := openSegment(filepath.Join(folder, string(run), FileName), run)
	if err != nil {
		return Position{}, err
	}
	return Position{Segment: at, Offset: max(0, size-n)}, file.Close()
}

// openSegment opens a segment's file for reading, and returns the number of its first event.
func openSegment(path string, run pawl.RunID) (file *os.File, first pawl.Seq, size int64, err error) {
	if file, err = disk.Open(path); err != nil {
		return nil, 0, 0, err
	}
	info, err := file.Stat()
	if err == nil {
		var v verified
		v, _, err = readHeader(file, info.Size(), run)
		first, size = v.first, info.Size()
	}
	if err != nil {
		return nil, 0, 0, errors.Join(err, file.Close())
	}
	return file, first, size, nil
}

// Ended reports whether the lines after a position end the run, and returns the position after the last complete line. It
// only searches for event types, without verifying or folding anything. It is meant for callers that know the run was
// not ended at that position.
func Ended(folder string, run pawl.RunID, after Position) (ended bool, end Position, err error) {
	home := filepath.Join(folder, string(run))
	file, first, size, err := openSegment(filepath.Join(home, FileName), run)
	if err != nil {
		return false, after, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if ended, err = endedSince(home, run, after, first); err != nil {
		return false, after, err
	}
	end = Position{Segment: first}
	if first == max(after.Segment, 1) {
		end.Offset = after.Offset
	}
	ended, end.Offset, err = endedIn(file, end.Offset, size, ended)
	return ended, end, err
}

// endedSince reports whether the segments that were sealed since a position end the run. open is the number of the first
// event in the open segment.
func endedSince(home string, run pawl.RunID, after Position, open pawl.Seq) (ended bool, err error) {
	first := max(after.Segment, 1)
	if first == open {
		return false, nil
	}
	list, err := sealedIn(home, open)
	if err != nil {
		return false, err
	}
	for _, s := range list {
		if s.first < first {
			continue
		}
		file, _, size, err := openSegment(s.path, run)
		if err != nil {
			return false, err
		}
		from := int64(0)
		if s.first == first {
			from = after.Offset
		}
		ended, _, err = endedIn(file, from, size, ended)
		if err := errors.Join(err, file.Close()); err != nil {
			return false, err
		}
	}
	return ended, nil
}

// endedIn reports whether the lines of a file between two offsets end the run, which was ended before or not, and returns
// the offset after the last complete line.
func endedIn(file *os.File, from, to int64, before bool) (ended bool, end int64, err error) {
	if to <= from {
		return before, from, nil
	}
	from = max(from, to-maxTorn) // more was not appended by pawl between two calls
	added := make([]byte, to-from)
	if _, err := file.ReadAt(added, from); err != nil {
		return false, from, err
	}
	added = added[:bytes.LastIndexByte(added, '\n')+1]
	last := func(p pawl.Payload) int { return bytes.LastIndex(added, fmt.Appendf(nil, `"type":%q`, p.Event())) }
	switch done, again := last(pawl.RunEnded{}), last(pawl.RunReopened{}); {
	case done > again:
		before = true
	case again > done:
		before = false
	}
	return before, from + int64(len(added)), nil
}
