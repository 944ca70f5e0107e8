package snapshot

import (
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/snapshot/pack"
)

// LeftOutOf returns the paths that are not in the snapshot, sorted.
func (s *Store) LeftOutOf(r Record) ([]LeftOut, error) {
	if r.LeftOutList == nil {
		return nil, nil
	}
	data, err := s.packs.Get(*r.LeftOutList)
	if err != nil {
		return nil, err
	}
	list, ok := decodeLeftOut(data)
	if !ok {
		return nil, &pack.DamagedError{ID: *r.LeftOutList, Why: "not a list of left-out paths"}
	}
	return list, nil
}

// LeftOutBelow returns those of LeftOutOf that are among the paths or below them. No paths mean all.
func (s *Store) LeftOutBelow(r Record, paths []string) ([]LeftOut, error) {
	list, err := s.LeftOutOf(r)
	paths = clean(paths)
	return slices.DeleteFunc(list, func(l LeftOut) bool { return !covered(l.Path, paths) }), err
}

// tree reads the entries of a folder.
func (s *Store) tree(id pack.ID) ([]Entry, error) {
	data, err := s.packs.Get(id)
	if err != nil {
		return nil, err
	}
	entries, err := decodeTree(data)
	if err != nil {
		return nil, &pack.DamagedError{ID: id, Why: err.Error()}
	}
	return entries, nil
}

// blocks reads the block IDs of a large file.
func (s *Store) blocks(id pack.ID) ([]pack.ID, error) {
	data, err := s.packs.Get(id)
	if err != nil {
		return nil, err
	}
	return blockIDs(id, data)
}

// blockIDs decodes the list of blocks that is an object's content.
func blockIDs(id pack.ID, data []byte) ([]pack.ID, error) {
	if len(data)%len(id) != 0 {
		return nil, &pack.DamagedError{ID: id, Why: "not a list of blocks"}
	}
	ids := make([]pack.ID, len(data)/len(id))
	for i := range ids {
		copy(ids[i][:], data[i*len(id):])
	}
	return ids, nil
}

// List returns the entries of a folder by name.
func (s *Store) List(folder Entry) ([]Entry, error) { return s.tree(folder.ID) }

// At returns the entry at a path of a snapshot, or nil. The path "." is the root.
func (s *Store) At(r Record, path string) (*Entry, error) {
	path = filepath.ToSlash(filepath.Clean(path))
	if err := r.requires([]string{path}); err != nil {
		return nil, err
	}
	return s.at(r, path)
}

// at is At for a clean path, also where the record's tree is older.
func (s *Store) at(r Record, path string) (*Entry, error) {
	e := Entry{Kind: Folder, Size: r.Bytes, Files: r.Files, ID: r.Tree}
	if path == "." {
		return &e, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if e.Kind != Folder {
			return nil, nil
		}
		entries, err := s.tree(e.ID)
		if err != nil {
			return nil, err
		}
		at, found := slices.BinarySearchFunc(entries, name, compareName)
		if !found {
			return nil, nil
		}
		e = entries[at]
	}
	return &e, nil
}
