package snapshot

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"pawl"
	"pawl/internal/snapshot/pack"
)

// Receive stores a snapshot that another store has: its commit record, and the objects that this store lacks. fetch returns an object as
// Encoded does, whatever its source: Receive verifies it, while it fetches others. When Receive returns nil, the snapshot survives a power
// failure; after an error there is none. At the quota, Receive returns ErrQuota.
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
	base, err := s.newest() // only now: the open batch keeps its objects in the store
	if err != nil {
		return r, err
	}
	a := s.newArrivals(ctx, batch, fetch, s.cfg.Quota-size)
	w := objects{ctx: a.ctx, seen: map[Object]bool{}, base: s.packs.Get, get: a.get, visit: a.visit}
	err = w.snapshot(r, base)
	if err = a.end(err); err != nil {
		return r, fmt.Errorf("receive snapshot %s: %w", r.ID, err)
	}
	_, err = batch.Commit(ctx, content)
	return r, err
}

// newest returns the store's newest snapshot, of which it has everything; nil if there is none.
func (s *Store) newest() (*Record, error) {
	commits, err := s.packs.Commits()
	if err != nil || len(commits) == 0 {
		return nil, err
	}
	r, err := readRecord(commits[len(commits)-1])
	return &r, err
}

// arrivals puts fetched objects into a batch, in the order in which they come, and verifies several at a time.
type arrivals struct {
	ctx     context.Context // ends at the first error
	fail    context.CancelCauseFunc
	store   *pack.Store
	batch   *pack.Batch
	fetch   func(pack.ID) ([]byte, error)
	limit   int64              // bytes that the batch may add
	folders map[pack.ID][]byte // fetched folders and lists of blocks, until what is below them is there
	room    *room
	queue   chan *arrival // to be put
	verify  chan *arrival // the same
	workers sync.WaitGroup
}

// arrival is a fetched object.
type arrival struct {
	id       pack.ID
	encoded  []byte
	object   pack.Verified
	err      error
	verified chan struct{} // closed when object or err is set
}

// maxArrivals is how many bytes of objects wait to be put. It is more than a pack has, so that the next one is fetched meanwhile.
const maxArrivals = 24 << 20

func (s *Store) newArrivals(ctx context.Context, batch *pack.Batch, fetch func(pack.ID) ([]byte, error), limit int64) *arrivals {
	a := &arrivals{
		store: s.packs, batch: batch, fetch: fetch, limit: limit, folders: map[pack.ID][]byte{},
		room: newRoom(maxArrivals), queue: make(chan *arrival, 4096), verify: make(chan *arrival, 4096),
	}
	a.ctx, a.fail = context.WithCancelCause(ctx)
	for range min(runtime.GOMAXPROCS(0), 4) {
		a.workers.Go(func() {
			for one := range a.verify {
				one.object, one.err = pack.Verify(one.id, one.encoded)
				close(one.verified)
			}
		})
	}
	a.workers.Go(a.put)
	return a
}

// get returns the content of a folder, or of a list of blocks: of the store, or fetched.
func (a *arrivals) get(id pack.ID) ([]byte, error) {
	has, err := a.store.Has(id)
	if err != nil {
		return nil, err
	}
	if has {
		return a.store.Get(id)
	}
	encoded, err := a.fetch(id)
	if err != nil {
		return nil, err
	}
	a.folders[id] = encoded
	return pack.Decode(id, encoded)
}

// visit has an object put, unless the batch or the store has it.
func (a *arrivals) visit(id pack.ID) error {
	encoded := a.folders[id]
	delete(a.folders, id)
	has, err := a.batch.Has(id)
	if has || err != nil {
		return err
	}
	if encoded == nil {
		if encoded, err = a.fetch(id); err != nil {
			return err
		}
	}
	a.room.take(len(encoded))
	one := &arrival{id: id, encoded: encoded, verified: make(chan struct{})}
	a.verify <- one
	a.queue <- one
	return nil
}

// put puts what arrives. After an error it only takes what is left.
func (a *arrivals) put() {
	for one := range a.queue {
		<-one.verified
		size := len(one.encoded)
		if err := one.err; a.ctx.Err() == nil {
			if _, added := a.batch.Added(); err == nil && added+int64(size) > a.limit {
				err = ErrQuota
			}
			if err == nil {
				err = a.batch.PutVerified(one.object)
			}
			if err != nil {
				a.fail(err)
			}
		}
		a.room.give(size)
	}
}

// end waits until everything is put. It returns the first error, or that of the walk.
func (a *arrivals) end(walk error) error {
	if walk != nil {
		a.fail(walk)
	}
	close(a.verify)
	close(a.queue)
	a.workers.Wait()
	err := context.Cause(a.ctx)
	a.fail(nil)
	return err
}

// room is for so many bytes that wait.
type room struct {
	mu    sync.Mutex // guards used
	given sync.Cond
	size  int
	used  int
}

func newRoom(size int) *room {
	r := &room{size: size}
	r.given.L = &r.mu
	return r
}

// take waits until there is room for n bytes, or nothing else waits.
func (r *room) take(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.used > 0 && r.used+n > r.size {
		r.given.Wait()
	}
	r.used += n
}

func (r *room) give(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	r.given.Signal()
}
