package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Fault is something that is not as it was written.
type Fault struct {
	File   string
	Offset int64
	ID     ID // of the object or record that is meant; zero where that is not known
	What   string
}

// String names the fault and its place.
func (f Fault) String() string {
	if f.ID == (ID{}) {
		return fmt.Sprintf("%s: byte %d: %s", f.File, f.Offset, f.What)
	}
	return fmt.Sprintf("%s: byte %d: %s: %s", f.File, f.Offset, f.ID, f.What)
}

// Check reads everything: each pack, object, record, the list of what was pruned, and the index. It lists every fault
// and changes nothing. What death or a power cut leaves behind is no fault. Others may commit meanwhile; Prune waits.
func (s *Store) Check(ctx context.Context) ([]Fault, error) {
	l, err := acquire(ctx, filepath.Join(s.dir, lockName), unix.LOCK_SH)
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
	present map[ID]bool // what is alive and well
}

func (c *checker) find(file string, offset int64, id ID, what string) {
	c.faults = append(c.faults, Fault{File: filepath.Join(c.dir, file), Offset: offset, ID: id, What: what})
}

func (c *checker) check(ctx context.Context) error {
	dead, err := readDead(c.dir)
	if err != nil {
		return err
	}
	if dead.damaged != nil {
		c.find(deadName, 0, ID{}, "the list of what was pruned has another checksum")
	}
	w, err := readWitness(c.dir, dead.generation) // before the packs: it may know no more than they hold
	if err != nil {
		c.find(indexName, 0, ID{}, err.Error())
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
		c.find(packName(number), b.from, b.entry.id, b.why)
	}
	for _, e := range p.entries {
		if !v.dead.holds(number, e.offset) {
			c.present[e.id] = true
		}
	}
	if known > p.size {
		c.find(packName(number), p.size, ID{}, fmt.Sprintf("the pack ends here, but once went on to byte %d", known))
	}
	return nil
}

// compare looks for what the index says that the packs do not hold.
func (c *checker) compare(w *witness, v *view) {
	for number := range w.covered {
		if v.packs[number] == nil {
			c.find(packName(number), 0, ID{}, "the pack is missing")
		}
	}
	named := map[ID]bool{}
	for _, f := range c.faults {
		named[f.ID] = true
	}
	for _, o := range w.objects {
		if !c.present[o.id] && !named[o.id] {
			c.find(packName(o.pack), int64(o.offset), o.id, "the object is missing")
		}
	}
}

// examine reads a whole pack and checks each hash.
func (v *view) examine(ctx context.Context, number uint32, known int64) (*counted, error) {
	p := v.packs[number]
	found, size, err := p.scan(0, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", packName(number), err)
	}
	p.size = size
	c := &counted{number: number, size: size, bad: found.bad}
	for _, e := range found.entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, stored, err := v.entry(e.in(number))
		if err == nil {
			_, err = e.unpack(stored)
		}
		if err != nil {
			c.bad = append(c.bad, stretch{from: e.offset, to: e.end(), entry: e, why: err.Error()})
			continue
		}
		c.entries = append(c.entries, e)
	}
	return c, nil
}

// witness is what the index says, for those who do not believe it.
type witness struct {
	covered map[uint32]int64
	objects []located
}

// readWitness reads the index where there is one of this generation. An error says that it is damaged: then as much is
// returned as can be read. One that never reached the disk is not damaged.
func readWitness(dir string, generation uint64) (*witness, error) {
	w := &witness{}
	x, err := openIndex(dir)
	if errors.Is(err, fs.ErrNotExist) || err != nil && unwritten(filepath.Join(dir, indexName)) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	defer drop(x)
	if x.generation != generation {
		return w, nil
	}
	w.covered = x.covered
	_, err = x.commits()
	var worse error
	w.objects, worse = x.all()
	return w, errors.Join(err, worse)
}

// unwritten reports whether a file is empty, or begins with NUL: a power cut leaves that of one that was not synced.
func unwritten(path string) bool {
	data, err := os.ReadFile(path)
	return err == nil && len(bytes.Trim(data[:min(len(data), indexHeader)], "\x00")) == 0
}
