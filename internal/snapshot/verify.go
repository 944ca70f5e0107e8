package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/snapshot/pack"
)

// Fault is damage found in the store.
type Fault struct {
	Where       string              `json:"where"`
	What        string              `json:"what"`
	Checkpoints []pawl.CheckpointID `json:"checkpoints,omitempty"` // checkpoints that cannot be fully restored
}

// Verify checks packs and index byte by byte, commit records and trees, and that every object that a snapshot needs
// exists. It changes nothing.
func (s *Store) Verify(ctx context.Context) ([]Fault, error) {
	release, err := s.packs.Hold(ctx)
	if err != nil {
		return nil, err
	}
	faults, err := s.verify(ctx)
	if releaseErr := release(); err == nil {
		err = releaseErr
	}
	if err != nil {
		return nil, fmt.Errorf("verify the snapshots: %w", err)
	}
	return faults, nil
}

func (s *Store) verify(ctx context.Context) ([]Fault, error) {
	damage, err := s.packs.Check(ctx)
	if err != nil {
		return nil, err
	}
	v := verifier{store: s, found: map[Object][]int{}}
	for _, d := range damage {
		v.faults = append(v.faults, Fault{Where: fmt.Sprintf("%s, byte %d", d.File, d.Offset), What: d.What})
		if d.ID != (pack.ID{}) {
			v.found[Object{d.ID, File}] = []int{len(v.faults) - 1}
		}
	}
	commits, err := s.packs.Commits()
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		v.commit(c)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return v.faults, nil
}

// verifier walks trees, each once. The packs' check covers file content.
type verifier struct {
	store  *Store
	faults []Fault
	found  map[Object][]int // indexes of an object's faults and of those of all objects that it needs
}

func (v *verifier) commit(c pack.Commit) {
	r, err := readRecord(c)
	if err != nil {
		v.fault("commit record "+c.ID.String(), err.Error())
		return
	}
	concerned := v.entry("", Entry{Kind: Folder, ID: r.Tree})
	if r.LeftOutList != nil {
		concerned = merge(concerned, v.object("list of left-out paths", *r.LeftOutList))
	}
	for _, i := range concerned {
		v.faults[i].Checkpoints = append(v.faults[i].Checkpoints, r.Checkpoint)
	}
}

// fault records a fault and returns its index.
func (v *verifier) fault(where, what string) []int {
	v.faults = append(v.faults, Fault{Where: where, What: what})
	return []int{len(v.faults) - 1}
}

// object checks that an object exists.
func (v *verifier) object(where string, id pack.ID) []int {
	this := Object{id, File}
	if found, known := v.found[this]; known {
		return found
	}
	has, err := v.store.packs.Has(id)
	switch {
	case err != nil:
		v.found[this] = v.fault(where, err.Error())
	case !has:
		v.found[this] = v.fault(where, "missing: "+id.String())
	default:
		v.found[this] = nil
	}
	return v.found[this]
}

// entry returns the faults of an entry and of everything below it.
func (v *verifier) entry(path string, e Entry) []int {
	if e.Kind == Link {
		return nil
	}
	this := Object{e.ID, e.Kind}
	if found, known := v.found[this]; known {
		return found
	}
	found := v.object(cmp.Or(path, "."), e.ID)
	if len(found) == 0 {
		found = v.children(path, e)
	}
	v.found[this] = found
	return found
}

func (v *verifier) children(path string, e Entry) (found []int) {
	switch e.Kind {
	case Folder:
		entries, err := v.store.tree(e.ID)
		if err != nil {
			return v.fault(cmp.Or(path, "."), err.Error())
		}
		for _, below := range entries {
			found = merge(found, v.entry(join(path, below.Name), below))
		}
	case Blocks:
		ids, err := v.store.blocks(e.ID)
		if err != nil {
			return v.fault(path, err.Error())
		}
		for _, id := range ids {
			found = merge(found, v.object(path, id))
		}
	}
	return found
}

// merge returns the union of a and b.
func merge(a, b []int) []int {
	for _, i := range b {
		if !slices.Contains(a, i) {
			a = append(slices.Clip(a), i)
		}
	}
	return a
}

// CheckReadable reads a snapshot, or only the given paths and everything below them, to find out whether that can be restored.
func (s *Store) CheckReadable(ctx context.Context, r Record, paths []string) error {
	paths, err := r.Within(paths)
	if err != nil {
		return err
	}
	changes, err := s.ExportChanges(r, paths)
	if err != nil {
		return err
	}
	return s.readable(ctx, changes)
}

// readable reads the content that changes would write, so that damage is found before anything changes.
func (s *Store) readable(ctx context.Context, changes []Change) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan Change)
	var readers sync.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			for c := range work {
				if err := s.eachBlock(*c.New, func(pack.ID, []byte) error { return nil }); err != nil {
					cancel(fmt.Errorf("read %s: %w", oneline.Path(c.Path), err))
				}
			}
		})
	}
	for _, c := range changes {
		if c.New != nil && (c.New.Kind == File || c.New.Kind == Blocks) && ctx.Err() == nil {
			work <- c
		}
	}
	close(work)
	readers.Wait()
	return context.Cause(ctx)
}

// Repaired is the result of Repair.
type Repaired struct {
	Quarantined []string            `json:"quarantined"` // files that hold the damaged bytes
	Lost        int                 `json:"lost"`        // objects and records
	Checkpoints []pawl.CheckpointID `json:"checkpoints"` // checkpoints that cannot be fully restored
}

// Repair rebuilds the index and quarantines damaged bytes. It deletes nothing. The next snapshot stores lost content
// again if the workspace still has it. After a crash, Repair can be called again.
func (s *Store) Repair(ctx context.Context) (Repaired, error) {
	done, err := s.packs.Repair(ctx)
	if err == nil {
		err = disk.Remove(s.statFile()) // it may assume objects that are lost
	}
	if err != nil {
		return Repaired{}, err
	}
	faults, err := s.Verify(ctx)
	if err != nil {
		return Repaired{}, err
	}
	r := Repaired{Quarantined: done.Quarantined, Lost: len(done.Lost), Checkpoints: []pawl.CheckpointID{}}
	for _, f := range faults {
		r.Checkpoints = append(r.Checkpoints, f.Checkpoints...)
	}
	slices.Sort(r.Checkpoints)
	r.Checkpoints = slices.Compact(r.Checkpoints)
	return r, nil
}
