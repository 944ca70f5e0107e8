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
)

// tailSize is how much of a journal's end is read to append to it without looking at the rest.
const tailSize = 4 * maxLine

// Add appends events to a run's journal as one batch, at a cost that does not grow with the journal: of what is there
// only the end is read and checked, back to where a batch begins. At the least trouble there it opens the journal as Open
// does. It is for those who write one event and go, as the hooks of agents do.
//
// It promises what Append does. It differs in two things: damage before the end is not noticed, and neither is an unknown
// type of event; whoever reads the journal finds both.
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
	l := &Log{run: run, home: filepath.Join(folder, string(run)), quit: make(chan struct{}), scanned: newScanned()}
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

// scanTail takes the first whole line near the end at its word and checks all that follows. It is false, and has learned
// nothing, where that does not lead to the end, or the last batch begins before.
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
	tail := scanned{chain: from}
	if bad, _, err := tail.take(newLines(l.file, from.end, info.Size())); bad != nil || err != nil {
		return false, err
	}
	if tail.chain.end != info.Size() || tail.chain.start < 0 {
		return false, nil
	}
	l.scanned, l.size = tail, info.Size()
	return true, nil
}

// Ended reports whether a run has ended, by what its journal's lines behind an offset say, and returns the offset behind the
// last of them. It only looks for the words: nothing is checked, nor folded. It is for those who have known since that offset
// that the run went on.
func Ended(folder string, run pawl.RunID, after int64) (ended bool, end int64, err error) {
	file, err := os.Open(filepath.Join(folder, string(run), FileName))
	if err != nil {
		return false, after, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() <= after {
		return false, after, err
	}
	news := make([]byte, info.Size()-after)
	if _, err := file.ReadAt(news, after); err != nil {
		return false, after, err
	}
	news = news[:bytes.LastIndexByte(news, '\n')+1]
	word := func(p pawl.Payload) []byte { return fmt.Appendf(nil, `"type":%q`, p.Event()) }
	if !bytes.Contains(news, word(pawl.RunEnded{})) {
		return false, after + int64(len(news)), nil
	}
	last := func(p pawl.Payload) int { return bytes.LastIndex(news, word(p)) }
	return last(pawl.RunEnded{}) > last(pawl.RunReopened{}), after + int64(len(news)), nil
}
