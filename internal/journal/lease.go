package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"pawl"
)

// A Leaser is a Remote that knows which engine may append. Its clock is the only one that counts.
type Leaser interface {
	// Claim gives the lease of a run to an engine for LeaseTime, if no other engine has it: none ever had, or it was freed, or it has
	// expired, or it was claimed for the same copy. Otherwise it returns who has it.
	Claim(ctx context.Context, key string, l Lease) (holder Holder, err error)
	// Renew extends the lease of an engine, and reports whether the engine still has it.
	Renew(ctx context.Context, key, owner string) (bool, error)
	// Free gives up the lease of an engine, if it still has it.
	Free(ctx context.Context, key, owner string) error
	// Holder returns who has the lease of a run; the zero value for nobody.
	Holder(ctx context.Context, key string) (Holder, error)
}

const (
	// LeaseTime is how long a lease lasts if it is not renewed. Another host takes a run over only after this time.
	LeaseTime  = 30 * time.Second
	renewEvery = 10 * time.Second
)

// Lease is an engine that claims a run.
type Lease struct {
	Owner string // random
	Copy  string // of the run's files. Whoever claims for the same copy holds its engine lock, so the engine before it has ended.
	Host  string
}

// Holder is an engine that has a lease.
type Holder struct {
	Owner, Copy, Host string
	Left              time.Duration // until the lease expires
}

// Lease makes this Log's engine the only one on any host that may append to a stored run, until Close. The caller holds the engine lock of
// the project, which is enough for a run in files. If moving the run to a store was interrupted, Lease continues that. If an engine on
// another host has the lease, the error is of KindHeld and names it.
func (l *Log) Lease(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, err := readMarker(l.home)
	if err == nil && m.Phase == Arriving && l.owner == "" {
		if m, err = l.finishArrival(ctx, m.Store); err != nil {
			return err
		}
	}
	if err != nil || !m.remote() || l.owner != "" {
		return err
	}
	store, err := l.leaser(ctx, m)
	if err != nil || store == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	mine := Lease{Owner: newUUID(), Copy: m.Copy}
	mine.Host, _ = os.Hostname() // for people
	holder, err := store.Claim(ctx, m.Key, mine)
	if err != nil {
		return err
	}
	if holder.Owner != mine.Owner {
		return heldBy(l.run, holder)
	}
	l.owner = mine.Owner
	l.background.Go(func() { l.keepLease(store, m.Key, mine.Owner) })
	return nil
}

// finishArrival moves a run to a store whose move was interrupted. The caller holds l.mu.
func (l *Log) finishArrival(ctx context.Context, store string) (marker, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := l.moveToStore(ctx, store); err != nil {
		return marker{}, err
	}
	return readMarker(l.home)
}

func heldBy(run pawl.RunID, h Holder) error {
	return &pawl.Error{
		Kind: pawl.KindHeld, Hint: "pawl status " + string(run),
		Err: fmt.Errorf("run %s is held by an engine on host %s; if that has died, its lease ends in %s", run, h.Host, h.Left.Round(time.Second)),
	}
}

func (l *Log) leaser(ctx context.Context, m marker) (Leaser, error) {
	store, err := l.store(ctx, m)
	if err != nil {
		return nil, err
	}
	leaser, _ := store.(Leaser)
	return leaser, nil
}

// keepLease renews the lease until the Log is closed or the lease is lost, and then gives it up. Appends renew it, too. An error is
// tried again at the next time: if the lease expires, somebody else may take the run over, and the next append says so.
func (l *Log) keepLease(store Leaser, key, owner string) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			_ = inTime(func(ctx context.Context) error { return store.Free(ctx, key, owner) }) // it expires anyway
			return
		case <-tick.C:
		}
		has := true
		err := inTime(func(ctx context.Context) (err error) {
			has, err = store.Renew(ctx, key, owner)
			return err
		})
		if err == nil && !has {
			return
		}
	}
}

// inTime calls a store in the background.
func inTime(call func(context.Context) error) error {
	connections.mu.Lock()
	base := connections.base
	connections.mu.Unlock()
	if base == nil {
		return ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(base, readLimit)
	defer cancel()
	return call(ctx)
}

// LeaseHolder returns the engine that has the lease of a stored run for another copy than that of folder; ok is false for none. It says
// on which host the run must be continued.
func LeaseHolder(folder string, run pawl.RunID) (h Holder, ok bool, err error) {
	m, err := readMarker(homeOf(folder, run))
	if err != nil || !m.remote() {
		return h, false, err
	}
	store, ctx, cancel, err := forReading(m.Store, folder)
	if err != nil {
		return h, false, err
	}
	defer cancel()
	leaser, ok := store.(Leaser)
	if !ok {
		return h, false, nil
	}
	h, err = leaser.Holder(ctx, m.Key)
	if errors.Is(err, pawl.ErrNoRun) {
		return h, false, nil
	}
	return h, err == nil && h.Owner != "" && h.Copy != m.Copy, err
}

// RequireNoLease returns an error of KindHeld if an engine has the lease of a stored run for another copy than that of folder.
func RequireNoLease(folder string, run pawl.RunID) error {
	h, held, err := LeaseHolder(folder, run)
	if held {
		return heldBy(run, h)
	}
	return err
}
