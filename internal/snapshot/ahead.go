package snapshot

import (
	"context"
	"errors"
	"fmt"
)

// Ahead is a walk of the whole workspace that began before its caller knew whether it needs a snapshot. Until Take or Drop, it keeps Prune
// and Repair waiting, as a batch does. A nil Ahead has no walk.
type Ahead struct {
	store  *Store
	cancel context.CancelFunc
	done   chan struct{} // closed when the walk is over
	scan   *scan
	err    error
}

// WalkAhead begins a walk. What changes in the workspace after the call may or may not be in its snapshot.
func (s *Store) WalkAhead(ctx context.Context) *Ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &Ahead{store: s, cancel: cancel, done: make(chan struct{})}
	s.reading.Go(func() {
		defer close(a.done)
		a.scan, a.err = s.scan(ctx, nil, extent{})
	})
	return a
}

// Take is Store.Take with the walk. It ends the walk, also with an error.
func (a *Ahead) Take(ctx context.Context, stamp Stamp) (Record, error) {
	if err := a.store.checkQuota(); err != nil {
		return Record{}, errors.Join(err, a.Drop())
	}
	stop := context.AfterFunc(ctx, a.cancel)
	defer stop()
	<-a.done
	defer a.cancel()
	if a.err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", a.err)
	}
	record, err := a.scan.commit(ctx, stamp)
	if err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", err)
	}
	return record, nil
}

// Drop ends the walk and stores nothing. After Take or Drop it does nothing.
func (a *Ahead) Drop() error {
	if a == nil {
		return nil
	}
	a.cancel()
	<-a.done
	if a.scan == nil {
		return nil
	}
	return a.scan.batch.Abort()
}
