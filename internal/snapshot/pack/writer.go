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
	// maxPack is more than any pack holds.
	maxPack = 1 << 28
	// flushAt is how much is written at once to a file that is being made.
	flushAt = 2 << 20
)

// writer gathers entries: in memory while they are few, else in new packs, files of its own that nobody else knows.
type writer struct {
	dir    string
	limits limits
	buf    []byte  // what is in no file yet; while there is none, it begins with room for a segment's header
	within []entry // those in buf while there is no file. Offsets count from the segment's beginning.
	drafts []*draft
}

// draft is a pack in the making: one segment.
type draft struct {
	file    disk.File
	key     uint64
	size    int64 // with what is still in buf
	entries []entry
	named   bool
}

func newWriter(s *Store) *writer {
	return &writer{dir: s.dir, limits: s.limits, buf: make([]byte, segmentHeader)}
}

// add appends an entry with its stored bytes.
func (w *writer) add(e entry, stored []byte) error {
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
	if len(w.drafts) > 0 && len(w.buf) >= flushAt {
		return w.flush()
	}
	return nil
}

// draft returns the pack that has room for so many bytes more.
func (w *writer) draft(n int64) (*draft, error) {
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

// spill goes on in a file with what is in memory.
func (w *writer) spill() error {
	d, err := w.begin()
	if err != nil {
		return err
	}
	d.entries, d.size, w.within = w.within, int64(len(w.buf)), nil
	return nil
}

// begin makes the file of a new pack. Its header is to be in buf.
func (w *writer) begin() (*draft, error) {
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

// flush writes what is in memory to the pack that is being made.
func (w *writer) flush() error {
	d := w.drafts[len(w.drafts)-1]
	if _, err := d.file.WriteAt(w.buf, d.size-int64(len(w.buf))); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	return nil
}

// seal makes the new packs whole and durable. They have no name yet.
func (w *writer) seal() error {
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

// segment returns what is in memory as a segment of a pack.
func (w *writer) segment(key uint64, offset int64) []byte {
	segment{key: key, offset: offset, size: int64(len(w.buf))}.append(w.buf[:0])
	return w.buf
}

// discard gives the files back, and removes those that have not got a name.
func (w *writer) discard() error {
	var errs []error
	for _, d := range w.drafts {
		errs = append(errs, d.file.Close())
		if !d.named {
			errs = append(errs, disk.Remove(d.file.Name()))
		}
	}
	w.drafts, w.buf = nil, nil
	return errors.Join(errs...)
}
