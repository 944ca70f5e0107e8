package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pawl/internal/disk"
)

// Fault is damage found in the store.
type Fault struct {
	File   string
	Offset int64
	ID     ID // of the object or record; zero if unknown
	What   string
}

// String returns place and description of the fault.
func (f Fault) String() string {
	if f.ID == (ID{}) {
		return fmt.Sprintf("%s: byte %d: %s", f.File, f.Offset, f.What)
	}
	return fmt.Sprintf("%s: byte %d: %s: %s", f.File, f.Offset, f.ID, f.What)
}

// Check reads all packs, objects, records, the dead list and the index, and returns every fault. It changes nothing.
// What a crash or power failure leaves behind is not a fault. Commits may continue meanwhile; Prune waits.
func (s *Store) Check(ctx context.Context) ([]Fault, error) {
	l, err := s.acquireShared(ctx)
	if err != nil {
		return nil, fmt.Errorf("check snapshots: %w", err)
	}
	c := &checker{dir: s.dir, present: map[ID]bool{}}
	if err = errors.Join(c.check(ctx), l.release()); err != nil {
		return nil, fmt.Errorf("check snapshots: %w", err)
	}
	return c.faults, nil
}

type checker struct {
	dir     string
	faults  []Fault
	present map[ID]bool // intact objects and records that are not dead
}

func (c *checker) report(file string, offset int64, id ID, what string) {
	c.faults = append(c.faults, Fault{File: filepath.Join(c.dir, file), Offset: offset, ID: id, What: what})
}

func (c *checker) check(ctx context.Context) error {
	dead, err := readDead(c.dir)
	if err != nil {
		return err
	}
	if dead.damaged != nil {
		c.report(deadName, 0, ID{}, "checksum mismatch in the list of pruned entries")
	}
	w, err := readIndexClaims(c.dir, dead.generation) // read before the packs, which must hold all that it lists
	if err != nil {
		c.report(indexName, 0, ID{}, err.Error())
	}
	numbers, err := listPacks(c.dir)
	if err != nil {
		return err
	}
	v := &view{dir: c.dir, packs: map[uint32]*packFile{}, dead: dead}
	for _, number := range numbers {
		if err := errors.Join(v.open(number), c.pack(ctx, v, number, w.covered[number])); err != nil {
			return errors.Join(err, v.close())
		}
	}
	c.compare(w, v)
	return v.close()
}

func (c *checker) pack(ctx context.Context, v *view, number uint32, known int64) error {
	p, err := v.examine(ctx, number, known)
	if err != nil {
		return err
	}
	for _, b := range p.bad {
		c.report(packName(number), b.from, b.entry.id, b.why)
	}
	for _, e := range p.entries {
		if !v.dead.holds(number, e.offset) {
			c.present[e.id] = true
		}
	}
	if known > p.size {
		c.report(packName(number), p.size, ID{}, fmt.Sprintf("the pack is truncated here; it had at least %d bytes", known))
	}
	return nil
}

// compare finds objects that the index lists and no pack holds.
func (c *checker) compare(w *indexClaims, v *view) {
	for number := range w.covered {
		if v.packs[number] == nil {
			c.report(packName(number), 0, ID{}, "the pack is missing")
		}
	}
	named := map[ID]bool{}
	for _, f := range c.faults {
		named[f.ID] = true
	}
	for _, o := range w.objects {
		if !c.present[o.id] && !named[o.id] {
			c.report(packName(o.pack), int64(o.offset), o.id, "the object is missing")
		}
	}
}

// examine reads a whole pack and verifies every hash.
func (v *view) examine(ctx context.Context, number uint32, known int64) (*packContents, error) {
	p := v.packs[number]
	found, size, err := p.scan(0, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", packName(number), err)
	}
	p.size = size
	c := &packContents{number: number, size: size, bad: found.bad}
	for _, e := range found.entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, stored, err := v.entry(e.in(number))
		if err == nil {
			_, err = e.unpack(stored)
		}
		if err != nil {
			c.bad = append(c.bad, badRange{from: e.offset, to: e.end(), entry: e, why: err.Error()})
			continue
		}
		c.entries = append(c.entries, e)
	}
	return c, nil
}

// indexClaims is the content of the index, as evidence of what the packs should hold.
type indexClaims struct {
	covered map[uint32]int64
	objects []located
}

// readIndexClaims reads the index if it belongs to the given generation. If the index is damaged, it returns an error
// and what is readable. An index that never reached the disk counts as missing.
func readIndexClaims(dir string, generation uint64) (*indexClaims, error) {
	w := &indexClaims{}
	x, err := openIndex(dir)
	if errors.Is(err, fs.ErrNotExist) || err != nil && unwritten(filepath.Join(dir, indexName)) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	defer closeIndex(x)
	if x.generation != generation {
		return w, nil
	}
	w.covered = x.covered
	_, err = x.commits()
	var worse error
	w.objects, worse = x.all()
	return w, errors.Join(err, worse)
}

// unwritten reports whether a file is empty or starts with NULs, as a power failure leaves a file that was not synced.
func unwritten(path string) bool {
	data, err := disk.ReadFile(path, disk.CacheLimit)
	return err == nil && len(bytes.Trim(data[:min(len(data), indexHeader)], "\x00")) == 0
}
