package remote

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"pawl/internal/disk"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// A Writer stores objects in new packs. It stores a full pack while the next one is filled. Its packs are complete after Flush. It is not
// safe for concurrent use.
type Writer struct {
	store   Store
	cache   Cache
	Packs   []PackRef // that were written, in their order
	buf     []byte
	ids     []pack.ID
	objects map[pack.ID]span

	sending chan struct{} // one element for each pack that is being stored
	sent    sync.WaitGroup
	mu      sync.Mutex // guards err
	err     error      // the first one
}

// maxSending is how many packs are stored at a time: while the server answers for one, the next is on its way.
const maxSending = 2

// NewWriter returns a Writer.
func NewWriter(s Store, cache Cache) *Writer {
	return &Writer{store: s, cache: cache, objects: map[pack.ID]span{}, sending: make(chan struct{}, maxSending)}
}

// AddSnapshot adds the objects of a snapshot and its commit record, except those for which has returns true, because the remote has them.
// It leaves out what another snapshot, base, has in the same place: the remote has it. base may be nil.
func (w *Writer) AddSnapshot(ctx context.Context, store *snapshot.Store, r snapshot.Record, base *snapshot.Record, has func(pack.ID) bool) error {
	if err := w.AddFiles(ctx, store, r, base, has); err != nil || has(r.ID) {
		return err
	}
	content, err := store.RecordContent(r.ID)
	if err != nil {
		return err
	}
	id, encoded, err := pack.Encode(content)
	if err != nil {
		return err
	}
	return w.Add(ctx, id, encoded)
}

// AddFiles is AddSnapshot without the commit record.
func (w *Writer) AddFiles(ctx context.Context, store *snapshot.Store, r snapshot.Record, base *snapshot.Record, has func(pack.ID) bool) error {
	return store.Objects(ctx, r, base, func(id pack.ID) error {
		if has(id) {
			return nil
		}
		encoded, err := store.Encoded(id)
		if err != nil {
			return err
		}
		return w.Add(ctx, id, encoded)
	})
}

// Add adds an encoded object, and does nothing if the Writer has it.
func (w *Writer) Add(ctx context.Context, id pack.ID, encoded []byte) error {
	if _, has := w.objects[id]; has {
		return nil
	}
	if len(w.buf) > 0 && len(w.buf)+len(encoded) > packSize {
		if err := w.End(ctx); err != nil {
			return err
		}
	}
	w.objects[id] = span{from: uint32(len(w.buf)), size: uint32(len(encoded))}
	w.buf, w.ids = append(w.buf, encoded...), append(w.ids, id)
	return nil
}

// End ends the pack that is being filled: what is added next goes to another one. It returns the first error so far.
func (w *Writer) End(ctx context.Context) error {
	if len(w.ids) == 0 {
		return w.failure()
	}
	content := encodeIndex(w.ids, w.objects)
	data, ref := w.buf, PackRef{Pack: sumOf(w.buf), Size: int64(len(w.buf)), Index: sumOf(content)}
	w.Packs = append(w.Packs, ref)
	w.buf, w.ids = nil, nil
	select {
	case w.sending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	w.sent.Go(func() {
		defer func() { <-w.sending }()
		w.fail(w.send(ctx, ref, data, content))
	})
	return w.failure()
}

// send stores a pack and its index.
func (w *Writer) send(ctx context.Context, ref PackRef, data, content []byte) error {
	err := Together(
		func() error { return w.store.Delete(ctx, markPrefix+ref.Pack) },
		func() error {
			for _, o := range []struct {
				key  string
				data []byte
			}{{packKey(ref), data}, {indexKey(ref), content}} { // without its index, a pack does not count
				if _, err := w.store.Create(ctx, o.key, o.data); err != nil {
					return fmt.Errorf("store %s on the remote: %w", o.key, err)
				}
			}
			return nil
		},
	)
	if err == nil && w.cache != "" && disk.MakeFolders(string(w.cache)) == nil {
		_ = disk.Put(filepath.Join(string(w.cache), ref.Index), content) // without it, the index is read again
	}
	return err
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *Writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Flush stores the objects that were added, and waits until all packs are stored.
func (w *Writer) Flush(ctx context.Context) error {
	w.fail(w.End(ctx))
	return w.Wait()
}

// Wait waits until no pack is being stored, and returns the first error.
func (w *Writer) Wait() error {
	w.sent.Wait()
	return w.failure()
}
