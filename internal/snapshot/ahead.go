package snapshot

import (
	"context"
	"fmt"
)

// Ahead is a walk of the workspace for a snapshot that is not yet wanted. It keeps Prune and Repair waiting until Take or Discard, one of
// which must be called, once.
type Ahead struct {
	hurry chan struct{} // closed when somebody waits for the walk
	done  chan struct{} // closed when it has ended
	scan  *scan
	err   error
}

// Ahead begins a walk of the workspace in the background. It writes no record: without Take there is no snapshot.
func (s *Store) Ahead(ctx context.Context) *Ahead {
	a := &Ahead{hurry: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		if a.err = s.checkQuota(); a.err == nil {
			a.scan, a.err = s.scan(ctx, nil, extent{hurry: a.hurry})
		}
	}()
	return a
}

// Take waits for the walk and stores the snapshot. Nothing may have changed files on behalf of the caller since the walk began.
func (a *Ahead) Take(ctx context.Context, stamp Stamp) (Record, error) {
	close(a.hurry)
	<-a.done
	if a.err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", a.err)
	}
	record, err := a.scan.commit(ctx, stamp)
	if err != nil {
		return Record{}, fmt.Errorf("take a snapshot: %w", err)
	}
	return record, nil
}

// Discard waits for the walk and drops what it has found.
func (a *Ahead) Discard() error {
	close(a.hurry)
	<-a.done
	if a.err != nil {
		return nil // a failed walk has left nothing
	}
	return a.scan.batch.Abort()
}
