package variables

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pawl/internal/disk"
)

// Verify loads a pending checkpoint in a fresh process and commits it: it writes the manifest without the variables that did not load.
// Those are named in Unsaved. An error says that the checkpoint could not be verified, and leaves it pending. A committed checkpoint is
// returned as it is, so Verify may be repeated after a crash.
func (s *Store) Verify(ctx context.Context, pending Manifest, v *Verifier, now time.Time) (Manifest, error) {
	if m, err := s.Manifest(pending.ID); err == nil {
		return m, disk.Remove(s.pendingPath(pending.ID))
	}
	found, err := v.verify(ctx, pending, s.pendingPath(pending.ID), s.objects())
	if err != nil {
		return Manifest{}, err
	}
	m := pending
	m.Verified, m.Variables, m.Unsaved = now.UTC(), nil, slices.Clone(pending.Unsaved)
	for _, variable := range pending.Variables {
		if why, failed := found.Failed[variable.Name]; failed {
			m.Unsaved = append(m.Unsaved, Unsaved{Name: variable.Name, Type: variable.Type, Why: "it does not load: " + why, Since: variable.Since})
			continue
		}
		if slices.Contains(found.Unstable, variable.Name) {
			variable.Hash = ""
		}
		m.Variables = append(m.Variables, variable)
	}
	err = s.locked(func() error {
		if !disk.Exists(s.pendingPath(m.ID)) {
			return fmt.Errorf("%w: %s is not pending any more", ErrMissing, m.ID)
		}
		return s.write(s.committedPath(m.ID), &m)
	})
	if err != nil {
		return Manifest{}, err
	}
	return m, disk.Remove(s.pendingPath(m.ID))
}
