package pack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// alone calls do while no batch and no hold is open, in any process.
func (s *Store) alone(ctx context.Context, do func() error) error {
	l, err := acquire(ctx, filepath.Join(s.dir, lockName), unix.LOCK_EX)
	if err != nil {
		return err
	}
	return errors.Join(do(), l.release())
}

// tidy removes what dead processes left unfinished, and makes durable what can be seen. Nobody else is at work.
func (s *Store) tidy(ctx context.Context) error {
	if err := s.removeLeftovers(); err != nil {
		return err
	}
	return s.committing(ctx, s.settle)
}

// sweep removes what dead processes left unfinished, where there is any and nobody is at work. What cannot be removed
// now can be later.
func (s *Store) sweep() {
	if left, err := s.leftovers(); err != nil || len(left) == 0 {
		return
	}
	if l, err := try(filepath.Join(s.dir, lockName), unix.LOCK_EX); err == nil {
		_ = errors.Join(s.removeLeftovers(), l.release())
	}
}

// leftovers returns the names of files that were being written, by somebody who is alive or not.
func (s *Store) leftovers() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		for _, prefix := range []string{tempPrefix, indexName + ".tmp", "." + deadName} {
			if strings.HasPrefix(entry.Name(), prefix) {
				names = append(names, entry.Name())
			}
		}
	}
	return names, nil
}

// removeLeftovers removes them.
func (s *Store) removeLeftovers() error {
	names, err := s.leftovers()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := disk.Remove(filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
