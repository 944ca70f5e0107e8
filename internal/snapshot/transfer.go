package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/snapshot/pack"
)

// maxDepth is how many folders deep a received snapshot may be: no longer path has room for more.
const maxDepth = maxPath / 2

// Objects calls visit with the objects of a snapshot, each after those that it refers to, and each once. It leaves out what stands in the same
// place of another snapshot, base, with everything below it; base may be nil. No object disappears meanwhile; Encoded returns them.
func (s *Store) Objects(ctx context.Context, r Record, base *Record, visit func(pack.ID) error) (err error) {
	release, err := s.packs.Hold(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	w := objects{ctx: ctx, seen: map[Object]bool{}, base: s.packs.Get, get: s.packs.Get, visit: visit}
	return w.snapshot(r, base)
}

// Encoded returns an object as another store accepts it.
func (s *Store) Encoded(id pack.ID) ([]byte, error) { return s.packs.Encoded(id) }

// CheckObjects calls get with each object of a snapshot that is not in seen, and adds it there. get returns the content if decode is set.
func CheckObjects(ctx context.Context, r Record, seen map[Object]bool, get func(id pack.ID, decode bool) ([]byte, error)) error {
	w := objects{
		ctx: ctx, seen: seen,
		get: func(id pack.ID) ([]byte, error) { return get(id, true) },
		visit: func(id pack.ID) error {
			_, err := get(id, false)
			return err
		},
	}
	return w.snapshot(r, nil)
}

// Object is an object in one of its uses: a file can have the content of a folder's object, and has nothing below it. So an object that
// exists says nothing of what is below a folder with its ID.
type Object struct {
	ID   pack.ID
	Kind Kind
}

// objects visits the objects of a snapshot, those below an object before it, except those of another snapshot, the base.
type objects struct {
	ctx   context.Context
	seen  map[Object]bool
	base  func(pack.ID) ([]byte, error) // content of a folder of the base
	get   func(pack.ID) ([]byte, error) // content
	visit func(pack.ID) error
}

func (w *objects) snapshot(r Record, base *Record) error {
	if r.LeftOutList != nil {
		if err := w.entry(Entry{Kind: File, ID: *r.LeftOutList}, nil, 0); err != nil {
			return err
		}
	}
	var root *Entry
	if base != nil {
		root = &Entry{Kind: Folder, ID: base.Tree}
	}
	return w.entry(Entry{Kind: Folder, ID: r.Tree}, root, 0)
}

// entry visits an entry; base is what stands in its place in the base, or nil.
func (w *objects) entry(e Entry, base *Entry, depth int) error {
	this := Object{e.ID, e.Kind}
	if e.Kind == Link || base != nil && this == (Object{base.ID, base.Kind}) || w.seen[this] {
		return nil
	}
	w.seen[this] = true
	err := w.ctx.Err()
	switch {
	case err != nil:
	case e.Kind == Folder:
		err = w.folder(e.ID, base, depth)
	case e.Kind == Blocks:
		err = w.blocks(e.ID, depth)
	}
	if err != nil {
		return err
	}
	return w.visit(e.ID)
}

func (w *objects) folder(id pack.ID, base *Entry, depth int) error {
	data, err := w.get(id)
	if err != nil {
		return err
	}
	entries, err := decodeTree(data)
	if err == nil && depth > maxDepth {
		err = errors.New("too many nested folders")
	}
	if err != nil {
		return &pack.DamagedError{ID: id, Why: err.Error()}
	}
	before := w.baseEntries(base)
	for _, e := range entries {
		var same *Entry
		if at, found := slices.BinarySearchFunc(before, e.Name, compareName); found {
			same = &before[at]
		}
		if err := w.entry(e, same, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// baseEntries returns the entries of a folder of the base. Without them, everything in its place is visited.
func (w *objects) baseEntries(base *Entry) []Entry {
	if base == nil || base.Kind != Folder {
		return nil
	}
	data, err := w.base(base.ID)
	if err != nil {
		return nil
	}
	entries, err := decodeTree(data)
	if err != nil {
		return nil
	}
	return entries
}

func (w *objects) blocks(id pack.ID, depth int) error {
	data, err := w.get(id)
	if err != nil {
		return err
	}
	ids, err := blockIDs(id, data)
	for _, block := range ids {
		if err := w.entry(Entry{Kind: File, ID: block}, nil, depth+1); err != nil {
			return err
		}
	}
	return err
}

// RecordContent returns a commit record as it is stored; its hash is the record's ID.
func (s *Store) RecordContent(id pack.ID) ([]byte, error) { return s.packs.Commit(id) }

// Record returns the commit record with an ID, or a *pack.MissingError.
func (s *Store) Record(id pack.ID) (Record, error) {
	content, err := s.RecordContent(id)
	if err != nil {
		return Record{}, err
	}
	return readRecord(pack.Commit{ID: id, Content: content})
}

// ParseRecord parses a commit record of a run that did not come from this store.
func ParseRecord(content []byte, run pawl.RunID) (Record, error) {
	r, err := readRecord(pack.Commit{ID: pack.IDOf(content), Content: content})
	if err != nil {
		return r, err
	}
	if r.Run != run || len(content) > pack.MaxRecord {
		return r, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("commit record %s is not one of run %s", r.ID, run)}
	}
	return r, nil
}

// HasTree reports whether the store has the files of a snapshot, perhaps as those of another one.
func (s *Store) HasTree(r Record) (bool, error) {
	commits, err := s.packs.Commits()
	if err != nil {
		return false, err
	}
	for _, c := range commits {
		if other, err := readRecord(c); err == nil && other.Tree == r.Tree { // that the tree is there says nothing of what is below it
			return true, nil
		}
	}
	return false, nil
}

// Has reports whether the store has a snapshot's commit record.
func (s *Store) Has(id pack.ID) (bool, error) {
	_, err := s.RecordContent(id)
	if _, missing := errors.AsType[*pack.MissingError](err); missing {
		return false, nil
	}
	return err == nil, err
}
