package snapshot

import (
	"cmp"

	"pawl/internal/snapshot/pack"
)

// Change is one path that differs between two trees. Old is nil for an added path, New for a removed one.
type Change struct {
	Path     string
	Old, New *Entry
}

// Diff returns the differences between two trees by path, a folder before its content. For an added or removed folder
// it lists the whole content. The zero ID is an empty tree. The cost is proportional to the size of the difference.
func (s *Store) Diff(from, to pack.ID) ([]Change, error) {
	return diff(s.tree, from, to, nil)
}

// diff is Diff for the given paths, everything below them, and their parent folders. It reads no other folder. No paths mean all.
func diff(tree func(pack.ID) ([]Entry, error), from, to pack.ID, paths []string) ([]Change, error) {
	d := differ{tree: tree, paths: paths}
	err := d.folders("", from, to)
	return d.changes, err
}

type differ struct {
	tree    func(pack.ID) ([]Entry, error)
	paths   []string
	changes []Change
}

func (d *differ) folders(path string, from, to pack.ID) error {
	if from == to {
		return nil
	}
	old, err := d.entries(from)
	if err != nil {
		return err
	}
	now, err := d.entries(to)
	if err != nil {
		return err
	}
	for len(old) > 0 || len(now) > 0 {
		var a, b *Entry
		if order := first(old, now); order <= 0 {
			a, old = &old[0], old[1:]
			if order == 0 {
				b, now = &now[0], now[1:]
			}
		} else {
			b, now = &now[0], now[1:]
		}
		if err := d.entry(path, a, b); err != nil {
			return err
		}
	}
	return nil
}

// first compares the first names of two lists; an empty list sorts last.
func first(a, b []Entry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return cmp.Compare(a[0].Name, b[0].Name)
}

func (d *differ) entry(folder string, old, now *Entry) error {
	if old != nil && now != nil && old.same(*now) {
		return nil
	}
	name := old
	if name == nil {
		name = now
	}
	path := join(folder, name.Name)
	if !covered(path, d.paths) && !isParent(path, d.paths) {
		return nil
	}
	if old != nil && now != nil && old.Kind == Folder && now.Kind == Folder {
		if old.Mode != now.Mode {
			d.changes = append(d.changes, Change{Path: path, Old: old, New: now})
		}
		return d.folders(path, old.ID, now.ID)
	}
	d.changes = append(d.changes, Change{Path: path, Old: old, New: now})
	return d.folders(path, treeOf(old), treeOf(now))
}

func treeOf(e *Entry) pack.ID {
	if e == nil || e.Kind != Folder {
		return pack.ID{}
	}
	return e.ID
}

func (d *differ) entries(id pack.ID) ([]Entry, error) {
	if id == (pack.ID{}) {
		return nil, nil
	}
	return d.tree(id)
}

// What returns one word for the change: added, removed, changed, mode or type.
func (c Change) What() string {
	switch {
	case c.Old == nil:
		return "added"
	case c.New == nil:
		return "removed"
	case c.Old.class() != c.New.class():
		return "type"
	case c.Old.ID == c.New.ID && c.Old.Target == c.New.Target:
		return "mode"
	}
	return "changed"
}
