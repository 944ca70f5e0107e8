package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/snapshot/pack"
)

// Comparison is the difference between a snapshot and another snapshot, or the current workspace.
type Comparison struct {
	Changes []Change

	store *Store
	scan  *scan // nil: the new side is a snapshot too
}

// Compare compares two snapshots, or with to nil a snapshot with the current workspace. The caller closes the
// comparison.
func (s *Store) Compare(ctx context.Context, from Record, to *Record, paths []string) (*Comparison, error) {
	c, paths := &Comparison{store: s}, clean(paths)
	err := from.requires(paths)
	if err == nil && to != nil {
		err = to.requires(paths)
	}
	if err != nil {
		return nil, err
	}
	if to != nil {
		c.Changes, err = diff(s.tree, from.Tree, to.Tree, paths)
	} else if c.scan, err = s.scan(ctx, nil, extentOf(paths, from)); err == nil {
		c.Changes, err = diff(c.scan.tree, from.Tree, c.scan.root.ID, paths)
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", errors.Join(err, c.Close()))
	}
	c.Changes = slices.DeleteFunc(c.Changes, func(change Change) bool { return !covered(change.Path, paths) })
	return c, nil
}

// Close discards the scan of the workspace.
func (c *Comparison) Close() error {
	if c.scan == nil {
		return nil
	}
	err := c.scan.batch.Abort()
	c.scan = nil
	return err
}

// Workspace is the current workspace as a walk found it.
type Workspace struct {
	store *Store
	scan  *scan
}

// Walk walks the whole workspace. The caller closes the result.
func (s *Store) Walk(ctx context.Context) (*Workspace, error) {
	found, err := s.scan(ctx, nil, extent{})
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return &Workspace{s, found}, nil
}

// Since returns what differs from a snapshot.
func (w *Workspace) Since(from Record) ([]Change, error) {
	err := from.requires(nil)
	if err != nil {
		return nil, err
	}
	changes, err := diff(w.scan.tree, from.Tree, w.scan.root.ID, nil)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return changes, nil
}

// Close discards what the walk found.
func (w *Workspace) Close() error { return w.scan.batch.Abort() }

// Old returns the old content of a path: a file's bytes or a link's target. It is nil for a folder and for an added
// path.
func (c *Comparison) Old(change Change) ([]byte, error) {
	if change.Old == nil {
		return nil, nil
	}
	return c.store.read(*change.Old)
}

// New returns the new content of a path, as Old does. It reads workspace files when it is called.
func (c *Comparison) New(change Change) ([]byte, error) {
	if change.New == nil {
		return nil, nil
	}
	if c.scan == nil || change.New.Kind == Link || change.New.Kind == Folder {
		return c.store.read(*change.New)
	}
	data, err := c.store.readNow(change.Path)
	if err == nil && change.New.Kind == File && pack.IDOf(data) != change.New.ID {
		err = fmt.Errorf("%s changed during the comparison: compare again", oneline.Path(change.Path))
	}
	return data, err
}

// read returns the content of an entry.
func (s *Store) read(e Entry) ([]byte, error) {
	switch e.Kind {
	case Folder:
		return nil, nil
	case Link:
		return []byte(e.Target), nil
	}
	var out bytes.Buffer
	err := s.Content(e, &out)
	return out.Bytes(), err
}

// readNow reads a workspace file without following links.
func (s *Store) readNow(path string) ([]byte, error) {
	root, err := openFolder(s.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	fd, err := disk.OpenBelow(root, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", oneline.Path(path), err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return io.ReadAll(f)
}
