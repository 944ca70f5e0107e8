package snapshot

import (
	"context"
	"fmt"

	"pawl"
)

// CheckPacks reads all packs. Damage is an error of KindDamaged.
func (s *Store) CheckPacks(ctx context.Context) error {
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

// Size returns the store's size on disk, in bytes.
func (s *Store) Size() (int64, error) { return s.packs.Size() }
