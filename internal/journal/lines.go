package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"pawl"
)

// chunk is the size of a read: enough for the longest line, and small enough for the processor's cache.
const chunk = 256 << 10

// lines splits part of a file into lines, through one buffer.
type lines struct {
	file    io.ReaderAt
	at, end int64  // unread part of the file
	buf     []byte // read, but not yet returned
	storage []byte // the allocation behind buf
}

func newLines(file io.ReaderAt, from, to int64) *lines {
	return &lines{file: file, at: from, end: to, storage: make([]byte, min(chunk, to-from))}
}

// next returns the next line including its newline, or nil at the end. Bytes without newline are the last line, or the
// start of a line that is too long. The line is valid until the next call.
func (in *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(in.buf, '\n'); i >= 0 {
			return in.consume(i + 1), nil
		}
		if len(in.buf) > MaxLine {
			return in.consume(MaxLine + 1), nil
		}
		if in.at == in.end {
			return in.consume(len(in.buf)), nil
		}
		if err := in.fill(); err != nil {
			return nil, err
		}
	}
}

func (in *lines) consume(n int) []byte {
	if n == 0 {
		return nil
	}
	line := in.buf[:n:n]
	in.buf = in.buf[n:]
	return line
}

func (in *lines) fill() error {
	kept := copy(in.storage, in.buf)
	n := min(int64(len(in.storage)-kept), in.end-in.at)
	if _, err := in.file.ReadAt(in.storage[kept:kept+int(n)], in.at); err != nil {
		return fmt.Errorf("read at byte %d: %w", in.at, err)
	}
	in.at += n
	in.buf = in.storage[:kept+int(n)]
	return nil
}

// done reports whether the last line was returned.
func (in *lines) done() bool { return in.at == in.end && len(in.buf) == 0 }

// damaged returns an error for damage at a line of a file.
func damaged(path string, line pawl.Seq, offset int64, why error) error {
	title, hint := "damaged journal: ", "pawl recover "+filepath.Base(filepath.Dir(path))
	if errors.Is(why, pawl.ErrNewer) {
		title, hint = "", pawl.ErrNewer.Hint
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged,
		Err:  fmt.Errorf("%s%s: line %d, byte %d: %w", title, path, line, offset, why),
		Hint: hint,
	}
}
