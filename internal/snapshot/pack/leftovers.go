package pack

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// exclusively calls do while no process has a batch or a hold open.
func (s *Store) exclusively(ctx context.Context, do func() error) error {
	if s.readOnly {
		return errReadOnly
	}
	l, err := acquire(ctx, filepath.Join(s.dir, lockName), unix.LOCK_EX)
	if err != nil {
		return err
	}
	return errors.Join(do(), l.release())
}

// cleanUp removes the files of dead processes and makes all visible commits durable. The caller has exclusive access.
func (s *Store) cleanUp(ctx context.Context) error {
	if err := s.removeLeftovers(); err != nil {
		return err
	}
	return s.withCommitLock(ctx, s.catchUp)
}

// sweep removes the files of dead processes, if there are any and no other process uses the store. Errors are ignored: a
// later sweep tries again.
func (s *Store) sweep() {
	if left, err := s.leftovers(); err != nil || len(left) == 0 {
		return
	}
	if l, err := tryLock(filepath.Join(s.dir, lockName), unix.LOCK_EX); err == nil {
		_ = errors.Join(s.removeLeftovers(), l.release())
	}
}

// leftovers returns the names of temporary files, of live and dead processes.
func (s *Store) leftovers() ([]string, error) {
	entries, err := disk.ReadDir(s.dir)
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

// removeLeftovers removes all temporary files. The caller has exclusive access.
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
