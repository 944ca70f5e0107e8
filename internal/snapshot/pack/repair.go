package pack

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"pawl/internal/disk"
)

const quarantineName = "quarantine"

// Repaired is the result of Repair.
type Repaired struct {
	Quarantined  []string // files that hold the damaged bytes
	Lost         []ID     // objects and records known to be lost, by ID
	DeadListLost bool     // the dead list was damaged: pruned entries may be back in part, so prune again
}

// Repair rebuilds the index, moves damaged bytes to files in quarantine/, and lists what was lost with them. It deletes
// nothing. Lost objects can be added again with Put. Objects that refer to lost ones stay until a Prune removes them.
// Repair waits until no process has a batch or hold open, or ctx ends. After a crash at any point it can be called
// again.
func (s *Store) Repair(ctx context.Context) (Repaired, error) {
	r := &repair{store: s, suspect: map[ID]bool{}, alive: map[ID]bool{}}
	if err := s.exclusively(ctx, func() error { return r.run(ctx) }); err != nil {
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
	if err := s.cleanUp(ctx); err != nil {
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
	return s.withCommitLock(ctx, s.saveNewIndex)
}

// deadList replaces a damaged dead list.
func (r *repair) deadList() error {
	dir := r.store.dir
	dead, err := readDead(dir)
	if err != nil || dead.damaged == nil {
		return err
	}
	data, err := disk.ReadFile(filepath.Join(dir, deadName), disk.CacheLimit)
	if err != nil {
		return err
	}
	if err := r.quarantine(deadName, data); err != nil {
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
	r.done.DeadListLost = true
	return fresh.write(dir)
}

// quarantine saves data to a file in quarantine/.
func (r *repair) quarantine(name string, data []byte) error {
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

// examine reads all packs, and returns the damaged ones.
func (r *repair) examine(ctx context.Context) (damaged []*packContents, err error) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	w, _ := readIndexClaims(s.dir, s.view.dead.generation) // errors do not matter: the index is rebuilt
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
		r.classify(p)
		if len(p.bad) > 0 {
			damaged = append(damaged, p)
		}
	}
	return damaged, nil
}

// classify records which objects in a pack are live, and which may be lost.
func (r *repair) classify(p *packContents) {
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

// newGeneration invalidates every index.
func (r *repair) newGeneration() error {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	fresh := &deadList{next: uint64(s.view.next()), locations: s.view.dead.locations}
	if err := fresh.write(s.dir); err != nil {
		return err
	}
	s.view.dead = fresh
	return nil
}

// move quarantines the damaged ranges, and moves the intact entries to sound packs.
func (r *repair) move(ctx context.Context, damaged []*packContents) error {
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
			if err := r.quarantine(fmt.Sprintf("%s-%d", packName(p.number), b.from), data); err != nil {
				return err
			}
		}
		if err := r.store.move(ctx, p, avoid); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns the readable bytes of a damaged range.
func (s *Store) bytes(number uint32, b badRange) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	in := window{file: s.view.packs[number].file, size: b.to}
	return in.bytes(b.from, int(b.to-b.from))
}

// summary lists the lost objects.
func (r *repair) summary() {
	for id := range r.suspect {
		if !r.alive[id] {
			r.done.Lost = append(r.done.Lost, id)
		}
	}
	slices.SortFunc(r.done.Lost, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
}
