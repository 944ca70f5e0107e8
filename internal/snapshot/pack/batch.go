package pack

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Batch gathers the objects of one commit. Nothing of it is in the store before Commit. It may be used by many
// goroutines, and must be ended by Commit or Abort; when its process dies, nothing is left but a file that the next
// batch or prune removes.
type Batch struct {
	store *Store
	lock  *lock // shared: what was found in the store stays there

	mu    sync.Mutex // guards all below
	out   *writer
	known map[ID]bool // what is in out
	bytes int64
	err   error // why nothing more can be put; ErrOver after its end
}

// Begin begins a batch. It waits for Prune and Repair, until ctx ends; they wait for the batch.
func (s *Store) Begin(ctx context.Context) (*Batch, error) {
	s.sweep()
	l, err := s.hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin a snapshot: %w", err)
	}
	return &Batch{store: s, lock: l, out: newWriter(s), known: map[ID]bool{}}, nil
}

// Put adds an object, and returns its ID. An object that is in the store, or in this batch, costs only its hash. Put
// what an object refers to before the object itself: then what another process finds in the store is always complete.
// After an error, which may be that the disk is full, only Abort is left.
func (b *Batch) Put(content []byte) (ID, error) {
	id := IDOf(content)
	if len(content) > MaxObject {
		return id, fmt.Errorf("put object %s, %d bytes: %w", id, len(content), ErrTooLarge)
	}
	has, err := b.Has(id)
	if has || err != nil {
		return id, err
	}
	enc := encoders.Get().(*encoder)
	defer encoders.Put(enc)
	e, stored := enc.pack(id, content)
	if err := b.add(e, stored); err != nil {
		return id, fmt.Errorf("put object %s: %w", id, err)
	}
	return id, nil
}

func (b *Batch) add(e entry, stored []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || b.known[e.id] {
		return b.err
	}
	if b.err = b.out.add(e, stored); b.err != nil {
		return b.err
	}
	b.known[e.id] = true
	b.bytes += e.size()
	return nil
}

// Has reports whether an object is in the batch, or was in the store when the batch began or this process last looked.
// What it has found stays there.
func (b *Batch) Has(id ID) (bool, error) {
	b.mu.Lock()
	known, err := b.known[id], b.err
	b.mu.Unlock()
	if known || err != nil {
		return known, err
	}
	return b.store.has(id)
}

// Added returns how many objects are new in this batch, and their bytes on disk.
func (b *Batch) Added() (objects int, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.known), b.bytes
}

// Commit ends the batch, with a record that says what it is for. When it returns, the objects and the record survive a
// power cut; so does every object that Has has found. The record comes last: when the process dies before, nobody sees
// it. After an error the record may be there all the same, then with all its objects; committing it again does no
// harm. ctx ends the wait for other processes' commits.
func (b *Batch) Commit(ctx context.Context, content []byte) (ID, error) {
	id := IDOf(content)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return id, fmt.Errorf("commit: %w", errors.Join(b.err, b.end()))
	}
	if len(content) > MaxRecord {
		return id, fmt.Errorf("commit a record of %d bytes: %w", len(content), errors.Join(ErrTooLarge, b.end()))
	}
	err := b.out.add(commitEntry(content), content)
	if err == nil {
		err = b.store.publish(ctx, b.out, nil)
	}
	ended := b.end()
	if err != nil {
		return id, fmt.Errorf("commit: %w", errors.Join(err, ended))
	}
	return id, nil // it is durable: what could not be tidied up does not matter
}

// Abort ends the batch. Nothing of it stays. After Commit it does nothing.
func (b *Batch) Abort() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(b.err, ErrOver) {
		return nil
	}
	if err := b.end(); err != nil {
		return fmt.Errorf("abort: %w", err)
	}
	return nil
}

// end gives everything back, under b.mu.
func (b *Batch) end() error {
	if errors.Is(b.err, ErrOver) {
		return nil
	}
	b.err = ErrOver
	return errors.Join(b.out.discard(), b.lock.release())
}
