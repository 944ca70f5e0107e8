package pack

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pawl/internal/disk"
)

const (
	tempPrefix = "temp-"
	// maxPack is an upper bound for the size of a pack.
	maxPack = 1 << 28
)

// packWriter collects entries, in memory while they are few, otherwise in temporary files that become new packs.
type packWriter struct {
	dir    string
	limits limits
	buf    []byte  // bytes not in a file yet; before the first draft they start with space for a segment header
	spare  []byte  // an empty buffer, or nil
	within []entry // entries in buf, before the first draft; offsets are relative to the segment
	drafts []*draft
}

// draft is a new pack being written, with one segment.
type draft struct {
	file    disk.File
	key     uint64
	size    int64 // including the bytes in buf
	entries []entry
	named   bool
}

func newPackWriter(s *Store) *packWriter {
	return &packWriter{dir: s.dir, limits: s.limits, buf: make([]byte, segmentHeader)}
}

// add adds an entry with its stored bytes. When isFull reports true, flush or take is due.
func (w *packWriter) add(e entry, stored []byte) error {
	if len(w.drafts) == 0 && int64(len(w.buf))+e.size() > int64(w.limits.memory) {
		if err := w.spill(); err != nil {
			return err
		}
	}
	if len(w.drafts) == 0 {
		e.offset = int64(len(w.buf))
		w.within = append(w.within, e)
	} else {
		d, err := w.draft(e.size())
		if err != nil {
			return err
		}
		e.offset = d.size
		d.entries, d.size = append(d.entries, e), d.size+e.size()
	}
	w.buf = append(e.append(w.buf), stored...)
	return nil
}

// isFull reports whether there is enough in buf to be written.
func (w *packWriter) isFull() bool { return len(w.drafts) > 0 && len(w.buf) >= w.limits.flush }

// draft returns the current draft, or a new one if it lacks space for n bytes.
func (w *packWriter) draft(n int64) (*draft, error) {
	d := w.drafts[len(w.drafts)-1]
	if d.size == segmentHeader || d.size+n <= w.limits.pack {
		return d, nil
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	w.buf = append(w.buf, make([]byte, segmentHeader)...)
	return w.begin()
}

// spill moves the entries in memory to a first draft.
func (w *packWriter) spill() error {
	d, err := w.begin()
	if err != nil {
		return err
	}
	d.entries, d.size, w.within = w.within, int64(len(w.buf)), nil
	return nil
}

// begin creates a draft. Space for its header is already in buf.
func (w *packWriter) begin() (*draft, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	d := &draft{key: binary.LittleEndian.Uint64(random[:]), size: segmentHeader}
	file, err := disk.Create(filepath.Join(w.dir, fmt.Sprintf("%s%d-%016x", tempPrefix, os.Getpid(), d.key)))
	if err != nil {
		return nil, err
	}
	d.file = file
	w.drafts = append(w.drafts, d)
	return d, nil
}

// flush writes buf to the current draft.
func (w *packWriter) flush() error {
	c := w.take()
	err := c.write()
	w.giveBack(c)
	return err
}

// stretch is what was in a packWriter's buf, and where it belongs.
type stretch struct {
	file   disk.File
	data   []byte
	offset int64
}

func (c stretch) write() error {
	_, err := c.file.WriteAt(c.data, c.offset)
	c.file.StartWriteback(c.offset, int64(len(c.data)))
	return err
}

// take returns what is in buf. It belongs to the current draft, which must not be sealed before it is written.
func (w *packWriter) take() stretch {
	d := w.drafts[len(w.drafts)-1]
	c := stretch{d.file, w.buf, d.size - int64(len(w.buf))}
	w.buf, w.spare = w.spare, nil
	return c
}

// giveBack lets the buffer of a written chunk be used again, unless it is much larger: the first one has what was added before the first
// draft.
func (w *packWriter) giveBack(c stretch) {
	if cap(c.data) <= 2*w.limits.flush {
		w.spare = c.data[:0]
	}
}

// seal completes the drafts and syncs them. They still have temporary names.
func (w *packWriter) seal() error {
	if err := w.flush(); err != nil {
		return err
	}
	for _, d := range w.drafts {
		if _, err := d.file.WriteAt(segment{key: d.key, size: d.size}.append(nil), 0); err != nil {
			return err
		}
		if err := d.file.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", d.file.Name(), err)
		}
	}
	return nil
}

// segment returns the entries in memory as a segment of a pack.
func (w *packWriter) segment(key uint64, offset int64) []byte {
	segment{key: key, offset: offset, size: int64(len(w.buf))}.append(w.buf[:0])
	return w.buf
}

// discard closes the drafts and removes those that are still temporary.
func (w *packWriter) discard() error {
	var errs []error
	for _, d := range w.drafts {
		errs = append(errs, d.file.Close())
		if !d.named {
			errs = append(errs, disk.Remove(d.file.Name()))
		}
	}
	w.drafts, w.buf, w.spare = nil, nil, nil
	return errors.Join(errs...)
}
