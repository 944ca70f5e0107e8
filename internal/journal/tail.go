package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// tailSize is the number of bytes at the end of a journal that Add reads.
const tailSize = 4 * maxLine

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
	_, err = l.Append(ctx, 0, events...)
	return err
}

// openTail opens a journal for appending only.
func openTail(folder string, run pawl.RunID) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, fmt.Errorf("%w: %w", pawl.ErrNoRun, err)
	}
	l := &Log{run: run, home: homeOf(folder, run), quit: make(chan struct{}), verified: newVerified()}
	if err := l.openFile(); err != nil {
		return nil, err
	}
	known, err := l.scanTail()
	if err != nil || !known {
		if err := errors.Join(err, l.Close()); err != nil {
			return nil, err
		}
		return Open(folder, run)
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

// Ended reports whether the lines after an offset end the run, and returns the offset after the last complete line. It
// only searches for event types, without verifying or folding anything. It is meant for callers that know the run was
// not ended at that offset.
func Ended(folder string, run pawl.RunID, after int64) (ended bool, end int64, err error) {
	file, err := disk.Open(filepath.Join(homeOf(folder, run), FileName))
	if err != nil {
		return false, after, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() <= after {
		return false, after, err
	}
	added := make([]byte, info.Size()-after)
	if _, err := file.ReadAt(added, after); err != nil {
		return false, after, err
	}
	added = added[:bytes.LastIndexByte(added, '\n')+1]
	word := func(p pawl.Payload) []byte { return fmt.Appendf(nil, `"type":%q`, p.Event()) }
	if !bytes.Contains(added, word(pawl.RunEnded{})) {
		return false, after + int64(len(added)), nil
	}
	last := func(p pawl.Payload) int { return bytes.LastIndex(added, word(p)) }
	return last(pawl.RunEnded{}) > last(pawl.RunReopened{}), after + int64(len(added)), nil
}
