package snapshot

import (
	"context"
	"fmt"

	"pawl"
	"pawl/internal/disk"
)

// Repaired is what a repair did, and what it could not mend.
type Repaired struct {
	Quarantined []string // files that hold what was not as it was written
	Lost        int      // objects that are known to be lost
	Forgotten   bool     // what had been pruned may be back, in part
	Left        []Fault  // what is still wrong: snapshots of which something is lost
}

// Repair makes the index anew, moves what is not as it was written out of the way, and has the next snapshot look at
// every file again, so that what is still in the workspace comes back into the store. It deletes nothing. Cut off
// anywhere, it can be done again.
func (s *Store) Repair(ctx context.Context) (Repaired, error) {
	done, err := s.packs.Repair(ctx)
	if err != nil {
		return Repaired{}, err
	}
	if err := disk.Remove(s.statFile()); err != nil {
		return Repaired{}, fmt.Errorf("forget what the files were: %w", err)
	}
	left, err := s.Verify(ctx)
	return Repaired{Quarantined: done.Quarantined, Lost: len(done.Lost), Forgotten: done.Forgotten, Left: left}, err
}

// Sound is an error of KindDamaged where something in the packs is not as it was written.
func (s *Store) Sound(ctx context.Context) error {
	faults, err := s.packs.Check(ctx)
	if err != nil || len(faults) == 0 {
		return err
	}
	why := fmt.Errorf("the snapshots are damaged: %s", faults[0])
	if more := len(faults) - 1; more > 0 {
		why = fmt.Errorf("%w, and %d more", why, more)
	}
	return &pawl.Error{Kind: pawl.KindDamaged, Err: why, Hint: "pawl verify --repair"}
}

// Size returns how many bytes the store takes.
func (s *Store) Size() (int64, error) { return s.packs.Size() }
