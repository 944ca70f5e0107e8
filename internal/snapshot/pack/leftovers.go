package pack

import (
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/disk"
)

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

// removeLeftovers removes them. Nobody else is at work.
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
