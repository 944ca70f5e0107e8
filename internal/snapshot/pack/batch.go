package pack

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Batch collects the objects of one commit. Nothing of it is in the store before Commit. Its methods may be called
// concurrently. It must be ended by Commit or Abort. If its process dies, only a temporary file is left, which the next
// batch or prune removes.
type Batch struct {
	store *Store
	lock  *lock // shared: objects found in the store stay there

	mu    sync.Mutex  // guards the fields below
	out   *packWriter // nil in a read-only store
	known map[ID]bool // objects put
	bytes int64
	err   error // why Put is no longer possible; ErrBatchEnded after the end

	writing bool      // a chunk of out is being written, without the lock
	written sync.Cond // writing has become false
}

// errReadOnly is the error for a change of a store that was opened for reading.
var errReadOnly = errors.New("the snapshots are open for reading only")

// Begin starts a batch. Begin waits for Prune and Repair until ctx ends, and they wait for open batches.
func (s *Store) Begin(ctx context.Context) (*Batch, error) {
	if !s.readOnly {
		s.sweep()
	}
	l, err := s.hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin a snapshot: %w", err)
	}
	b := &Batch{store: s, lock: l, known: map[ID]bool{}}
	b.written.L = &b.mu
	if !s.readOnly {
		b.out = newPackWriter(s)
	}
	return b, nil
}

// Put adds an object and returns its ID. An object that the store or the batch already has costs only its hash. Put an
// object after those that it refers to: then every object that another process finds is complete. After an error, such
// as a full disk, the batch can only be aborted.
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
	if b.out != nil {
		if b.err = b.out.add(e, stored); b.err != nil {
			return b.err
		}
	}
	b.known[e.id] = true
	b.bytes += e.size()
	if b.out != nil && b.out.isFull() {
		b.flush()
	}
	return b.err
}

// flush writes what is buffered, if it is enough. Others can put objects meanwhile. The caller holds b.mu.
func (b *Batch) flush() {
	b.await()
	if b.err != nil || !b.out.isFull() {
		return
	}
	c := b.out.take()
	b.writing = true
	b.mu.Unlock()
	err := c.write()
	b.mu.Lock()
	b.writing = false
	b.written.Broadcast()
	b.out.giveBack(c)
	if b.err == nil {
		b.err = err
	}
}

// await waits until nothing is being written. The caller holds b.mu.
func (b *Batch) await() {
	for b.writing {
		b.written.Wait()
	}
}

// Has reports whether the batch has the object, or the store had it at the last refresh. An object that Has found stays
// in the store until the batch ends.
func (b *Batch) Has(id ID) (bool, error) {
	b.mu.Lock()
	known, err := b.known[id], b.err
	b.mu.Unlock()
	if known || err != nil {
		return known, err
	}
	return b.store.has(id)
}

// Added returns the number of new objects in the batch, and their size on disk.
func (b *Batch) Added() (objects int, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.known), b.bytes
}

// Commit ends the batch and adds its commit record. When it returns nil, the record, all objects of the batch and every
// object that Has found survive a power failure. The record is written last, so a crash leaves no commit without its
// objects. After an error the commit may still be there, complete; committing the same content again is harmless. ctx
// limits the wait for other processes' commits.
func (b *Batch) Commit(ctx context.Context, content []byte) (ID, error) {
	id := IDOf(content)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.await()
	if b.err != nil {
		return id, fmt.Errorf("commit: %w", errors.Join(b.err, b.end()))
	}
	if b.out == nil {
		return id, fmt.Errorf("commit: %w", errors.Join(errReadOnly, b.end()))
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
	return id, nil // already durable: errors of the clean-up do not matter
}

// Abort ends the batch and discards it. After Commit it does nothing.
func (b *Batch) Abort() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.await()
	if errors.Is(b.err, ErrBatchEnded) {
		return nil
	}
	if err := b.end(); err != nil {
		return fmt.Errorf("abort: %w", err)
	}
	return nil
}

// end releases the batch's files and lock. The caller holds b.mu.
func (b *Batch) end() error {
	if errors.Is(b.err, ErrBatchEnded) {
		return nil
	}
	b.err = ErrBatchEnded
	if b.out == nil {
		return b.lock.release()
	}
	return errors.Join(b.out.discard(), b.lock.release())
}
