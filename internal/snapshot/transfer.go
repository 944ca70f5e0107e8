package snapshot

import (
	"context"
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/snapshot/pack"
)

// maxDepth is how many folders deep a received snapshot may be: no longer path has room for more.
const maxDepth = maxPath / 2

// Objects calls visit with the objects of a snapshot, each after those that it refers to, and each once. What skip reports true for is
// left out, with everything below it. No object disappears meanwhile; Encoded returns them.
func (s *Store) Objects(ctx context.Context, r Record, skip func(pack.ID) bool, visit func(pack.ID) error) (err error) {
	release, err := s.packs.Hold(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	seen := map[Object]bool{}
	w := objects{
		skip: func(o Object) (bool, error) {
			was := seen[o]
			seen[o] = true
			return was || skip(o.ID), ctx.Err()
		},
		get:   func(id pack.ID) ([]byte, error) { return s.packs.Get(id) },
		visit: visit,
	}
	return w.snapshot(r)
}

// Encoded returns an object as another store accepts it.
func (s *Store) Encoded(id pack.ID) ([]byte, error) { return s.packs.Encoded(id) }

// CheckObjects calls get with each object of a snapshot that is not in seen, and adds it there. get returns the content if decode is set.
func CheckObjects(r Record, seen map[Object]bool, get func(id pack.ID, decode bool) ([]byte, error)) error {
	w := objects{
		skip: func(o Object) (bool, error) {
			was := seen[o]
			seen[o] = true
			return was, nil
		},
		get: func(id pack.ID) ([]byte, error) { return get(id, true) },
		visit: func(id pack.ID) error {
			_, err := get(id, false)
			return err
		},
	}
	return w.snapshot(r)
}

// Object is an object in one of its uses: a file can have the content of a folder's object, and has nothing below it.
type Object struct {
	ID   pack.ID
	Kind Kind
}

// objects visits the objects of a snapshot, those below an object before it.
type objects struct {
	skip  func(Object) (bool, error)
	get   func(pack.ID) ([]byte, error) // content
	visit func(pack.ID) error
}

func (w *objects) snapshot(r Record) error {
	if r.LeftOutList != nil {
		if err := w.entry(Entry{Kind: File, ID: *r.LeftOutList}, 0); err != nil {
			return err
		}
	}
	return w.entry(Entry{Kind: Folder, ID: r.Tree}, 0)
}

func (w *objects) entry(e Entry, depth int) error {
	if e.Kind == Link {
		return nil
	}
	skip, err := w.skip(Object{e.ID, e.Kind})
	if skip || err != nil {
		return err
	}
	switch e.Kind {
	case Folder:
		err = w.folder(e.ID, depth)
	case Blocks:
		err = w.blocks(e.ID, depth)
	}
	if err != nil {
		return err
	}
	return w.visit(e.ID)
}

func (w *objects) folder(id pack.ID, depth int) error {
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
	for _, e := range entries {
		if err := w.entry(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *objects) blocks(id pack.ID, depth int) error {
	data, err := w.get(id)
	if err != nil {
		return err
	}
	ids, err := blockIDs(id, data)
	for _, block := range ids {
		if err := w.entry(Entry{Kind: File, ID: block}, depth+1); err != nil {
			return err
		}
	}
	return err
}

// RecordContent returns a commit record as it is stored; its hash is the record's ID.
func (s *Store) RecordContent(id pack.ID) ([]byte, error) {
	commits, err := s.packs.Commits()
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		if c.ID == id {
			return c.Content, nil
		}
	}
	return nil, &pack.MissingError{ID: id}
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

// Receive stores a snapshot that another store has: its commit record, and the objects that this store lacks. fetch returns an object as
// Encoded does, whatever its source: Receive verifies it. When Receive returns nil, the snapshot survives a power failure;
// after an error there is none. At the quota, Receive returns ErrQuota.
func (s *Store) Receive(ctx context.Context, content []byte, run pawl.RunID, fetch func(pack.ID) ([]byte, error)) (r Record, err error) {
	if r, err = ParseRecord(content, run); err != nil {
		return r, err
	}
	size, err := s.packs.Size()
	if err != nil {
		return r, err
	}
	batch, err := s.packs.Begin(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, batch.Abort()) }()
	pending := map[pack.ID][]byte{} // fetched folders and lists of blocks, until what is below them is stored
	w := objects{
		skip: func(o Object) (bool, error) {
			has, err := batch.Has(o.ID)
			return has, errors.Join(err, ctx.Err())
		},
		get: func(id pack.ID) ([]byte, error) {
			encoded, err := fetch(id)
			if err != nil {
				return nil, err
			}
			pending[id] = encoded
			return pack.Decode(id, encoded)
		},
		visit: func(id pack.ID) (err error) {
			encoded := pending[id]
			if delete(pending, id); encoded == nil {
				if encoded, err = fetch(id); err != nil {
					return err
				}
			}
			if _, added := batch.Added(); size+added+int64(len(encoded)) > s.cfg.Quota {
				return ErrQuota
			}
			return batch.PutEncoded(id, encoded)
		},
	}
	if err := w.snapshot(r); err != nil {
		return r, fmt.Errorf("receive snapshot %s: %w", r.ID, err)
	}
	_, err = batch.Commit(ctx, content)
	return r, err
}

// HasTree reports whether the store has the files of a snapshot, perhaps as those of another one.
func (s *Store) HasTree(r Record) (bool, error) { return s.packs.Has(r.Tree) }

// Has reports whether the store has a snapshot's commit record.
func (s *Store) Has(id pack.ID) (bool, error) {
	_, err := s.RecordContent(id)
	if _, missing := errors.AsType[*pack.MissingError](err); missing {
		return false, nil
	}
	return err == nil, err
}
