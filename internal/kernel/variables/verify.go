package variables

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pawl/internal/disk"
)

// Verify loads a checkpoint in a fresh process and commits it without the variables that did not load. Those are named in Unsaved. An
// error says that the checkpoint could not be verified, and leaves it pending. A verified checkpoint is returned as it is, so Verify may
// be repeated after a crash.
func (s *Store) Verify(ctx context.Context, id ID, v *Verifier, now time.Time) (Manifest, error) {
	m, err := s.Manifest(id)
	if err != nil || !m.Verified.IsZero() {
		return m, err
	}
	found, err := v.verify(ctx, m, s.manifestPath(id), s.objects())
	if err != nil {
		return Manifest{}, err
	}
	record := verification{Manifest: m.SHA256, Verified: now.UTC(), Failed: found.Failed, Unstable: found.Unstable}
	data, err := json.Marshal(record)
	if err != nil {
		return Manifest{}, err
	}
	err = s.locked(func() error {
		if !disk.Exists(s.manifestPath(id)) {
			return fmt.Errorf("%w: %s", ErrMissing, id)
		}
		return disk.Replace(s.verifiedPath(id), data)
	})
	if err != nil {
		return Manifest{}, err
	}
	m.apply(record)
	return m, nil
}
