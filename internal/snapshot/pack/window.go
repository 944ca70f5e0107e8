package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// chunk is the minimum size of a read.
const chunk = 256 << 10

// window reads a file sequentially through one buffer.
type window struct {
	file    io.ReaderAt
	size    int64 // of the file
	from    int64 // offset of buf
	buf     []byte
	storage []byte // the allocation behind buf
	// unread is the last read error. The unreadable bytes then look damaged.
	unread error
}

// bytes returns n bytes at an offset, fewer at the end of the file. They are valid until the next call.
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
	if cap(w.storage) < n {
		w.storage = make([]byte, n)
	}
	w.from, w.buf = at, w.storage[:n]
	_, err := w.file.ReadAt(w.buf, at)
	if err != nil {
		return w.salvage(at, err)
	}
	return nil
}

// salvage reads page by page after a failed read. It fills unreadable pages with bytes that fail every checksum.
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
			return fmt.Errorf("the file is truncated before byte %d: %w", w.size, io.ErrUnexpectedEOF)
		}
		w.unread = why
		copy(part, bytes.Repeat([]byte{0xff}, len(part)))
	}
	return nil
}

// find returns the first offset in the range at which word occurs and right returns true; otherwise to.
func (w *window) find(from, to int64, word string, right func(at int64) (bool, error)) (int64, error) {
	for to-from >= int64(len(word)) {
		if _, err := w.bytes(from, len(word)); err != nil {
			return 0, err
		}
		buf := w.buf[from-w.from:]
		buf = buf[:min(int64(len(buf)), to-from)]
		i := bytes.Index(buf, []byte(word))
		if i < 0 {
			from += int64(len(buf) - len(word) + 1) // word may straddle the end of the buffer
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
