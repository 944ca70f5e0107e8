package pack

import (
	"bytes"
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
	if got, err := w.file.ReadAt(w.buf, at); got < n {
		w.buf = nil
		return fmt.Errorf("read at byte %d: %w", at, err)
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
