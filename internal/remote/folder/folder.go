// Package folder is a remote.Store in a folder of a file system that several machines may mount.
//
// A key is a file. It is created under a temporary name, synced and then linked, so it is there whole or not at all, and of two machines
// one creates it. On NFS and SMB that is as reliable as link(2) and fsync(2) are there.
//
// Links below the folder are never followed: whoever else writes there cannot lead pawl out of it.
package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"pawl/internal/disk"
	"pawl/internal/remote"
)

// Store is a folder as a remote.Store.
type Store struct{ root string }

var _ remote.Store = (*Store)(nil)

// Open opens an existing folder.
func Open(root string) (*Store, error) {
	if _, err := disk.ListInfoBelow(root, "."); err != nil {
		return nil, fmt.Errorf("open remote: %w", err)
	}
	return &Store{root: root}, nil
}

// Get returns the content of a key; see remote.Store.
func (s *Store) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	return disk.ReadBelow(s.root, key, limit)
}

// Create creates a key; see remote.Store.
func (s *Store) Create(ctx context.Context, key string, content []byte) (created bool, err error) {
	if err := check(ctx, key); err != nil {
		return false, err
	}
	err = disk.CreateBelow(s.root, key, content)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// Delete deletes a key; see remote.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	return disk.RemoveBelow(s.root, key)
}

func check(ctx context.Context, key string) error {
	if !remote.ValidKey(key) {
		return fmt.Errorf("invalid key %q", key)
	}
	return ctx.Err()
}

// List returns the keys with a prefix; see remote.Store. Temporary files that a crash left are among them.
func (s *Store) List(ctx context.Context, prefix string) ([]remote.Object, error) {
	var list []remote.Object
	err := s.walk(ctx, path.Clean("./"+prefix), &list)
	slices.SortFunc(list, func(a, b remote.Object) int { return cmp.Compare(a.Key, b.Key) })
	return list, err
}

func (s *Store) walk(ctx context.Context, folder string, list *[]remote.Object) error {
	entries, err := disk.ListInfoBelow(s.root, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		key := path.Join(folder, entry.Name)
		switch {
		case !remote.ValidKey(key):
		case entry.Folder:
			if err := s.walk(ctx, key, list); err != nil {
				return err
			}
		case entry.Regular:
			*list = append(*list, remote.Object{Key: key, Size: entry.Size, Modified: entry.Modified})
		}
	}
	return ctx.Err()
}
