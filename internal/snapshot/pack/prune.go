package pack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pawl/internal/disk"
)

// Pruned is what a prune did.
type Pruned struct {
	Commits int   // records that are gone
	Objects int   // objects that are gone
	Bytes   int64 // by how much the folder has shrunk
}

// Prune removes the commits that live does not keep, and the objects that it does not name. It waits until no batch
// and no hold is open, in any process, and until ctx ends; live may use Get, but nothing that waits for Prune.
//
// It may die at any moment: what is kept is never in danger. First it is written down durably what is dead, in one
// file; then packs that hold nothing else are removed, and those with much dead in them are replaced, one after the
// other, so that no more space is needed than the largest of them. Whoever holds nothing may still see what is dead
// for a moment. A pack with damage in it is left alone: see Repair.
func (s *Store) Prune(ctx context.Context, live func(commits []Commit) (keep, objects map[ID]bool, err error)) (Pruned, error) {
	var pruned Pruned
	err := s.alone(ctx, func() error {
		before, err := s.Size()
		if err != nil {
			return err
		}
		if err := s.tidy(ctx); err != nil {
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

// census is all that stands in the packs, whatever the index says.
type census struct {
	packs []*counted
	dead  *deadList // what was pruned before
	next  uint32    // the number of the next pack
}

// counted is a pack with what is in it.
type counted struct {
	number  uint32
	size    int64
	entries []entry
	bad     []stretch
	live    []entry // of entries
	used    int64   // bytes of live
}

// count reads all packs. Nobody else is at work.
func (s *Store) count() (*census, error) {
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
		c.packs = append(c.packs, &counted{number: number, size: size, entries: found.entries, bad: found.bad})
	}
	return c, nil
}

func (s *Store) prune(ctx context.Context, keep, objects map[ID]bool) (Pruned, error) {
	c, err := s.count()
	if err != nil {
		return Pruned{}, err
	}
	records, content := newSorting(c.dead, keep), newSorting(c.dead, objects)
	dead := &deadList{next: uint64(c.next), places: map[[2]uint32]bool{}}
	for _, p := range c.packs {
		for _, e := range p.entries {
			by := content
			if e.kind == kindCommit {
				by = records
			}
			if by.lives(p.number, e) {
				p.live, p.used = append(p.live, e), p.used+e.size()
			} else {
				dead.places[[2]uint32{p.number, uint32(e.offset)}] = true
			}
		}
	}
	pruned := Pruned{Objects: len(content.gone), Commits: len(records.gone)}
	if err := s.bury(dead, c); err != nil {
		return Pruned{}, err
	}
	return pruned, s.compact(ctx, c.packs)
}

// sorting tells the living from the dead.
type sorting struct {
	dead              *deadList
	keep, found, gone map[ID]bool
}

func newSorting(dead *deadList, keep map[ID]bool) *sorting {
	return &sorting{dead: dead, keep: keep, found: map[ID]bool{}, gone: map[ID]bool{}}
}

// lives reports whether an entry is to be kept. Of several copies the oldest is; the others are dead space.
func (by *sorting) lives(pack uint32, e entry) bool {
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

// bury writes down what is dead, and forgets it. The new generation makes every index void, so that none names a pack
// that is about to be removed.
func (s *Store) bury(dead *deadList, c *census) error {
	if err := dead.write(s.dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	v := s.view
	v.dead, v.tail, v.records, v.index = dead, map[ID]place{}, nil, drop(v.index)
	for _, p := range c.packs {
		v.packs[p.number].covered = 0
		for _, e := range p.live {
			v.add(p.number, e)
		}
	}
	return nil
}

// compact gives the space of the dead back, as far as that is worth it.
func (s *Store) compact(ctx context.Context, packs []*counted) error {
	var wasteful []*counted
	avoid := map[uint32]bool{} // what stands in them is to be moved: nothing must be added
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
	return s.committing(ctx, s.saveNewIndex)
}

// wasteful reports whether more than a quarter of the pack is dead.
func (p *counted) wasteful() bool { return 4*(p.size-p.used) > p.size }

// move copies what lives in a pack to others, durably, and removes the pack.
func (s *Store) move(ctx context.Context, p *counted, avoid map[uint32]bool) error {
	w := newWriter(s)
	err := s.copyTo(w, p)
	if err == nil && len(p.live) > 0 {
		err = s.publish(ctx, w, avoid)
	}
	if err = errors.Join(err, w.discard()); err != nil {
		return fmt.Errorf("move %s: %w", packName(p.number), err)
	}
	return s.remove(p.number)
}

func (s *Store) copyTo(w *writer, p *counted) error {
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
		if err := w.add(e, stored); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a pack in which nothing lives.
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
