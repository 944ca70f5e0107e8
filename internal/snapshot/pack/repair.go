package pack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/disk"
)

const quarantineName = "quarantine"

// Repaired is what a repair did.
type Repaired struct {
	Quarantined []string // the files that hold what was not as it was written
	Lost        []ID     // the objects and records that are known to be lost, by id
	Forgotten   bool     // what had been pruned is no longer known and may be back, in part: prune again
}

// Repair makes the index anew, moves the bytes that are not as they were written to files in quarantine/, and lists
// what is lost with them. Nothing is deleted; who has copies can Put what is lost once more. What refers to a lost
// object is still there: a Prune that does not name it removes it. It waits until no batch and no hold is open, and
// until ctx ends. It may die at any moment, and be called again.
func (s *Store) Repair(ctx context.Context) (Repaired, error) {
	r := &repair{store: s, suspect: map[ID]bool{}, alive: map[ID]bool{}}
	if err := s.alone(ctx, func() error { return r.run(ctx) }); err != nil {
		return r.done, fmt.Errorf("repair snapshots: %w", err)
	}
	return r.done, nil
}

type repair struct {
	store   *Store
	done    Repaired
	suspect map[ID]bool // objects and records that may be lost
	alive   map[ID]bool
}

func (r *repair) run(ctx context.Context) error {
	s := r.store
	if err := r.deadList(); err != nil {
		return err
	}
	if err := s.tidy(ctx); err != nil {
		return err
	}
	damaged, err := r.examine(ctx)
	if err != nil {
		return err
	}
	if err := r.newGeneration(); err != nil {
		return err
	}
	if err := r.move(ctx, damaged); err != nil {
		return err
	}
	r.summary()
	return s.committing(ctx, s.saveNewIndex)
}

// deadList replaces a list of what was pruned that cannot be believed.
func (r *repair) deadList() error {
	dir := r.store.dir
	dead, err := readDead(dir)
	if err != nil || dead.damaged == nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, deadName))
	if err != nil {
		return err
	}
	if err := r.setAside(deadName, data); err != nil {
		return err
	}
	numbers, err := listPacks(dir)
	if err != nil {
		return err
	}
	fresh := &deadList{}
	if len(numbers) > 0 {
		fresh.next = uint64(slices.Max(numbers)) + 1
	}
	r.done.Forgotten = true
	return fresh.write(dir)
}

// setAside keeps data in quarantine.
func (r *repair) setAside(name string, data []byte) error {
	folder := filepath.Join(r.store.dir, quarantineName)
	if err := disk.MakeFolders(folder); err != nil {
		return err
	}
	path := filepath.Join(folder, fmt.Sprintf("%s-%.8s", name, IDOf(data)))
	if err := disk.Replace(path, data); err != nil {
		return err
	}
	r.done.Quarantined = append(r.done.Quarantined, path)
	return nil
}

// examine reads all packs, and returns those with damage in them.
func (r *repair) examine(ctx context.Context) (damaged []*counted, err error) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	w, _ := readWitness(s.dir, s.view.dead.generation) // what is wrong with the index does not matter: it is made anew
	for _, o := range w.objects {
		r.suspect[o.id] = true
	}
	if err := s.reload(false); err != nil {
		return nil, err
	}
	for _, number := range s.view.numbers() {
		p, err := s.view.examine(ctx, number, w.covered[number])
		if err != nil {
			return nil, err
		}
		r.sort(p)
		if len(p.bad) > 0 {
			damaged = append(damaged, p)
		}
	}
	return damaged, nil
}

// sort finds out what is alive in a pack, and what may be lost with it.
func (r *repair) sort(p *counted) {
	dead := r.store.view.dead
	for _, e := range p.entries {
		if !dead.holds(p.number, e.offset) {
			p.live = append(p.live, e)
			r.alive[e.id] = true
		}
	}
	for _, b := range p.bad {
		if b.entry.kind != "" && !dead.holds(p.number, b.from) {
			r.suspect[b.entry.id] = true
		}
	}
}

// newGeneration makes every index void.
func (r *repair) newGeneration() error {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	fresh := &deadList{next: uint64(s.view.next()), places: s.view.dead.places}
	if err := fresh.write(s.dir); err != nil {
		return err
	}
	s.view.dead = fresh
	return nil
}

// move sets aside what is damaged, and moves what is good to packs that are.
func (r *repair) move(ctx context.Context, damaged []*counted) error {
	avoid := map[uint32]bool{}
	for _, p := range damaged {
		avoid[p.number] = true
	}
	for _, p := range damaged {
		for _, b := range p.bad {
			data, err := r.store.bytes(p.number, b)
			if err != nil {
				return err
			}
			if err := r.setAside(fmt.Sprintf("%s-%d", packName(p.number), b.from), data); err != nil {
				return err
			}
		}
		if err := r.store.move(ctx, p, avoid); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns what stands in a bad stretch of a pack, as far as it can be read.
func (s *Store) bytes(number uint32, b stretch) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	in := window{file: s.view.packs[number].file, size: b.to}
	return in.bytes(b.from, int(b.to-b.from))
}

// summary says what is lost.
func (r *repair) summary() {
	for id := range r.suspect {
		if !r.alive[id] {
			r.done.Lost = append(r.done.Lost, id)
		}
	}
	slices.SortFunc(r.done.Lost, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
}
