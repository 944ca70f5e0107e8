package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// chunk is how much is read at once.
const chunk = 1 << 20

// window reads a file forwards through one buffer.
type window struct {
	file io.ReaderAt
	size int64 // of the file
	from int64 // where buf stands
	buf  []byte
	room []byte // what buf is a part of
	// unread is why something could not be read. It looks like damage then.
	unread error
}

// bytes returns n bytes at an offset, fewer at the file's end. They are valid until the next call.
func (w *window) bytes(at int64, n int) ([]byte, error) {
	n = int(min(int64(n), w.size-at))
	if at < w.from || at+int64(n) > w.from+int64(len(w.buf)) {
		if err := w.fill(at, n); err != nil {
			return nil, err
		}
	}
	i := int(at - w.from)
	return w.buf[i : i+n : i+n], nil
}

func (w *window) fill(at int64, n int) error {
	n = int(min(int64(max(n, chunk)), w.size-at))
	if cap(w.room) < n {
		w.room = make([]byte, n)
	}
	w.from, w.buf = at, w.room[:n]
	_, err := w.file.ReadAt(w.buf, at)
	if err != nil {
		return w.salvage(at, err)
	}
	return nil
}

// salvage reads what can be read, one page after the other, where the disk refuses the whole. What it cannot read it
// fills with bytes that no checksum fits.
func (w *window) salvage(at int64, why error) error {
	const page = 4096
	for i := 0; i < len(w.buf); i += page {
		part := w.buf[i:min(i+page, len(w.buf))]
		n, err := w.file.ReadAt(part, at+int64(i))
		if n == len(part) {
			continue
		}
		if errors.Is(err, io.EOF) {
			w.buf = nil
			return fmt.Errorf("the file ends before byte %d: %w", w.size, io.ErrUnexpectedEOF)
		}
		w.unread = why
		copy(part, bytes.Repeat([]byte{0xff}, len(part)))
	}
	return nil
}

// find returns the first offset from one to another where word stands and is right, else the other.
func (w *window) find(from, to int64, word string, right func(at int64) (bool, error)) (int64, error) {
	for to-from >= int64(len(word)) {
		if _, err := w.bytes(from, len(word)); err != nil {
			return 0, err
		}
		buf := w.buf[from-w.from:]
		buf = buf[:min(int64(len(buf)), to-from)]
		i := bytes.Index(buf, []byte(word))
		if i < 0 {
			from += int64(len(buf) - len(word) + 1) // a word may stand across the end
			continue
		}
		from += int64(i)
		if ok, err := right(from); ok || err != nil {
			return from, err
		}
		from++
	}
	return to, nil
}
