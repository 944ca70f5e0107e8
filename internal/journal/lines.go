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

// maxTorn is the largest torn tail. A journal with more behind its last good line was not left by a writer of one batch, and
// is not read to its end: a sparse file can have any size.
const maxTorn = 256 << 20

// torn reports whether the bad line, where event c.seq+1 should be, starts a torn tail, as left by a writer that died
// before its sync: the end of the file is missing, or blocks that never reached the disk read as NUL, and no line of a
// later batch follows. A later batch would prove that this one was synced.
func torn(in *lines, line []byte, c chain) (bool, error) {
	if in.end-c.end > maxTorn || !in.unterminated(line) && !hasNUL(line) || lostNewline(line, c) {
		return false, nil
	}
	for {
		line, err := in.next()
		if line == nil || err != nil {
			return err == nil, err
		}
		if in.unterminated(line) || hasNUL(line) {
			continue
		}
		if r, ok := splitLine(line); !ok || r.seq <= c.seq+1 || r.batch > c.seq+1 {
			return false, nil
		}
	}
}

// unterminated reports whether line is the last one and lacks its newline.
func (in *lines) unterminated(line []byte) bool { return line[len(line)-1] != '\n' && in.done() }

func hasNUL(line []byte) bool { return bytes.IndexByte(line, 0) >= 0 }

// lostNewline reports whether line would be the valid next line if its last byte were a newline.
func lostNewline(line []byte, c chain) bool {
	last := len(line) - 1
	if line[last] == '\n' || line[last] == 0 {
		return false
	}
	_, err := c.follow(append(bytes.Clone(line[:last]), '\n')) // c is a copy
	return err == nil
}

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
