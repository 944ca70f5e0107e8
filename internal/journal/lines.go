package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"pawl"
)

// chunk is how much is read at once: enough for the longest line, and small enough to stay in the processor's cache.
const chunk = 256 << 10

// lines splits a stretch of a file into lines, through one buffer.
type lines struct {
	file    io.ReaderAt
	at, end int64  // what is still to be read
	buf     []byte // read and not yet given out
	room    []byte // what buf is a part of
}

func newLines(file io.ReaderAt, from, to int64) *lines {
	return &lines{file: file, at: from, end: to, room: make([]byte, min(chunk, to-from))}
}

// next returns the next line with its newline, nil at the end. What has no newline is the last line, or the beginning
// of one that is too long. It is valid until the next call.
func (in *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(in.buf, '\n'); i >= 0 {
			return in.take(i + 1), nil
		}
		if len(in.buf) > maxLine {
			return in.take(maxLine + 1), nil
		}
		if in.at == in.end {
			return in.take(len(in.buf)), nil
		}
		if err := in.fill(); err != nil {
			return nil, err
		}
	}
}

func (in *lines) take(n int) []byte {
	if n == 0 {
		return nil
	}
	line := in.buf[:n:n]
	in.buf = in.buf[n:]
	return line
}

func (in *lines) fill() error {
	kept := copy(in.room, in.buf)
	n := min(int64(len(in.room)-kept), in.end-in.at)
	if _, err := in.file.ReadAt(in.room[kept:kept+int(n)], in.at); err != nil {
		return fmt.Errorf("read at byte %d: %w", in.at, err)
	}
	in.at += n
	in.buf = in.room[:kept+int(n)]
	return nil
}

// done reports whether the line given out last was the last one.
func (in *lines) done() bool { return in.at == in.end && len(in.buf) == 0 }

// torn reports whether the tail that begins with the bad line where event c.seq+1 should stand is what a writer left
// that died before its sync: the end of the file is missing, or blocks of NUL stand where its bytes never reached the
// disk, and nothing there belongs to a later batch. A later batch would prove that this one was synced once.
func torn(in *lines, line []byte, c chain) (bool, error) {
	if !in.missing(line) && !holdsNUL(line) || lostNewline(line, c) {
		return false, nil
	}
	for {
		line, err := in.next()
		if line == nil || err != nil {
			return err == nil, err
		}
		if in.missing(line) || holdsNUL(line) {
			continue
		}
		if r, ok := cut(line); !ok || r.seq <= c.seq+1 || r.batch > c.seq+1 {
			return false, nil
		}
	}
}

// missing reports whether line is the last one and has no newline.
func (in *lines) missing(line []byte) bool { return line[len(line)-1] != '\n' && in.done() }

func holdsNUL(line []byte) bool { return bytes.IndexByte(line, 0) >= 0 }

// lostNewline reports whether line would be the next one, had its last byte not been changed.
func lostNewline(line []byte, c chain) bool {
	last := len(line) - 1
	if line[last] == '\n' || line[last] == 0 {
		return false
	}
	_, err := c.follow(append(bytes.Clone(line[:last]), '\n')) // c is a copy
	return err == nil
}

// damaged is the error for damage at a line of a file.
func damaged(path string, line pawl.Seq, offset int64, why error) error {
	hint := "pawl recover " + filepath.Base(filepath.Dir(path))
	if errors.Is(why, pawl.ErrNewer) {
		hint = pawl.ErrNewer.Hint
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged,
		Err:  fmt.Errorf("%s: line %d, byte %d: %w", path, line, offset, why),
		Hint: hint,
	}
}
