package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"pawl/internal/snapshot/pack"
)

// Comparison is what differs between a snapshot and another one, or the workspace as it is now.
type Comparison struct {
	Changes []Change

	store *Store
	look  *look // nil: the new side is a snapshot too
}

// Compare compares two snapshots; to nil means the workspace now. Close ends the comparison.
func (s *Store) Compare(ctx context.Context, from Record, to *Record, paths []string) (*Comparison, error) {
	c := &Comparison{store: s}
	var err error
	if to != nil {
		c.Changes, err = s.Diff(from.Tree, to.Tree)
	} else if c.look, err = s.look(ctx, nil); err == nil {
		c.Changes, err = diff(c.look.tree, from.Tree, c.look.root.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", errors.Join(err, c.Close()))
	}
	paths = clean(paths)
	kept := c.Changes[:0]
	for _, change := range c.Changes {
		if covered(change.Path, paths) {
			kept = append(kept, change)
		}
	}
	c.Changes = kept
	return c, nil
}

// Close lets go of what was looked at.
func (c *Comparison) Close() error {
	if c.look == nil {
		return nil
	}
	err := c.look.batch.Abort()
	c.look = nil
	return err
}

// Old gives the content of a path on the old side: a file's, a link's target, nothing for a folder or what is not there.
func (c *Comparison) Old(change Change) ([]byte, error) {
	if change.Old == nil {
		return nil, nil
	}
	return c.store.read(*change.Old)
}

// New gives the content of a path on the new side.
func (c *Comparison) New(change Change) ([]byte, error) {
	if change.New == nil {
		return nil, nil
	}
	if c.look == nil || change.New.Kind == Link || change.New.Kind == Folder {
		return c.store.read(*change.New)
	}
	data, err := c.store.readNow(change.Path)
	if err == nil && change.New.Kind == File && pack.IDOf(data) != change.New.ID {
		err = fmt.Errorf("%s changed while it was compared", change.Path)
	}
	return data, err
}

// read gives the content of an entry.
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

// readNow reads a file of the workspace, following no link.
func (s *Store) readNow(path string) ([]byte, error) {
	root, err := openFolder(s.cfg.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	fd, err := openBelow(root, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return io.ReadAll(f)
}
