package pack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pawl/internal/disk"
)

// Pruned is the result of Prune.
type Pruned struct {
	Commits int   // removed records
	Objects int   // removed objects
	Bytes   int64 // space freed on disk
}

// Prune removes all commits and objects except those that live returns. It waits until no process has a batch or hold
// open, or ctx ends. live may call Get, but nothing that waits for Prune.
//
// A crash at any point leaves everything that is kept intact. Prune first durably records what is dead in one file.
// Then it removes packs with only dead entries, and rewrites packs with many of them one after the other, so the extra
// space needed is at most the largest pack. Readers without a hold may still see dead entries for a moment. Packs with
// damage are left alone: see Repair.
func (s *Store) Prune(ctx context.Context, live func(commits []Commit) (keep, objects map[ID]bool, err error)) (Pruned, error) {
	var pruned Pruned
	err := s.exclusively(ctx, func() error {
		before, err := s.Size()
		if err != nil {
			return err
		}
		if err := s.cleanUp(ctx); err != nil {
			return err
		}
		commits, err := s.Commits()
		if err != nil {
			return err
		}
		keep, objects, err := live(commits)
		if err != nil {
			return err
		}
		pruned, err = s.prune(ctx, keep, objects)
		after, worse := s.Size()
		pruned.Bytes = before - after
		return errors.Join(err, worse)
	})
	if err != nil {
		err = fmt.Errorf("prune snapshots: %w", err)
	}
	return pruned, err
}

// census is the content of all packs, regardless of the index.
type census struct {
	packs []*packContents
	dead  *deadList // entries pruned earlier
	next  uint32    // number of the next pack
}

// packContents is a pack with its entries.
type packContents struct {
	number  uint32
	size    int64
	entries []entry
	bad     []badRange
	live    []entry // the part of entries that is kept
	used    int64   // size of live
}

// readPacks reads all packs. The caller has exclusive access.
func (s *Store) readPacks() (*census, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	c := &census{dead: s.view.dead, next: s.view.next()}
	for _, number := range s.view.numbers() {
		found, size, err := s.view.packs[number].scan(0, s.view.known[number])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", packName(number), err)
		}
		c.packs = append(c.packs, &packContents{number: number, size: size, entries: found.entries, bad: found.bad})
	}
	return c, nil
}

func (s *Store) prune(ctx context.Context, keep, objects map[ID]bool) (Pruned, error) {
	c, err := s.readPacks()
	if err != nil {
		return Pruned{}, err
	}
	records, content := newSelection(c.dead, keep), newSelection(c.dead, objects)
	dead := &deadList{next: uint64(c.next), locations: map[[2]uint32]bool{}}
	for _, p := range c.packs {
		for _, e := range p.entries {
			by := content
			if e.kind == kindCommit {
				by = records
			}
			if by.keeps(p.number, e) {
				p.live, p.used = append(p.live, e), p.used+e.size()
			} else {
				dead.locations[[2]uint32{p.number, uint32(e.offset)}] = true
			}
		}
	}
	pruned := Pruned{Objects: len(content.gone), Commits: len(records.gone)}
	if err := s.markDead(dead, c); err != nil {
		return Pruned{}, err
	}
	return pruned, s.compact(ctx, c.packs)
}

// selection divides entries into live and dead ones.
type selection struct {
	dead              *deadList
	keep, found, gone map[ID]bool
}

func newSelection(dead *deadList, keep map[ID]bool) *selection {
	return &selection{dead: dead, keep: keep, found: map[ID]bool{}, gone: map[ID]bool{}}
}

// keeps reports whether an entry is live. Of several copies only the oldest is.
func (by *selection) keeps(pack uint32, e entry) bool {
	switch {
	case by.dead.holds(pack, e.offset):
		return false
	case !by.keep[e.id]:
		by.gone[e.id] = true
		return false
	case by.found[e.id]:
		return false
	}
	by.found[e.id] = true
	return true
}

// markDead durably records the dead entries and removes them from the view. The new generation invalidates every index,
// so that none refers to a pack about to be removed.
func (s *Store) markDead(dead *deadList, c *census) error {
	if err := dead.write(s.dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	v := s.view
	v.dead, v.tail, v.records, v.index = dead, map[ID]location{}, nil, closeIndex(v.index)
	for _, p := range c.packs {
		v.packs[p.number].covered = 0
		for _, e := range p.live {
			v.add(p.number, e)
		}
	}
	return nil
}

// compact removes dead packs, and rewrites wasteful ones.
func (s *Store) compact(ctx context.Context, packs []*packContents) error {
	var wasteful []*packContents
	avoid := map[uint32]bool{} // packs about to be rewritten: nothing must be added to them
	for i, p := range packs {
		switch newest := i == len(packs)-1; {
		case len(p.bad) > 0:
		case len(p.live) == 0:
			if err := s.remove(p.number); err != nil {
				return err
			}
		case p.wasteful() || p.size < s.limits.small && !newest:
			wasteful = append(wasteful, p)
			avoid[p.number] = true
		}
	}
	for _, p := range wasteful {
		if err := s.move(ctx, p, avoid); err != nil {
			return err
		}
	}
	return s.withCommitLock(ctx, s.saveNewIndex)
}

// wasteful reports whether more than a quarter of the pack is dead.
func (p *packContents) wasteful() bool { return 4*(p.size-p.used) > p.size }

// move durably copies a pack's live entries to other packs and removes it.
func (s *Store) move(ctx context.Context, p *packContents, avoid map[uint32]bool) error {
	w := newPackWriter(s)
	err := s.copyTo(w, p)
	if err == nil && len(p.live) > 0 {
		err = s.publish(ctx, w, avoid)
	}
	if err = errors.Join(err, w.discard()); err != nil {
		return fmt.Errorf("move %s: %w", packName(p.number), err)
	}
	return s.remove(p.number)
}

func (s *Store) copyTo(w *packWriter, p *packContents) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return err
	}
	for _, e := range p.live {
		_, stored, err := s.view.entry(e.in(p.number))
		if err != nil {
			return s.damaged(e.id, e.in(p.number), err)
		}
		if e.kind == kindCommit {
			e.born = e.bornIn(p.number)
		}
		err = w.add(e, stored)
		if err == nil && w.isFull() {
			err = w.flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes a pack without live entries.
func (s *Store) remove(number uint32) error {
	if err := disk.Remove(filepath.Join(s.dir, packName(number))); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	s.view.forget(number)
	return nil
}
