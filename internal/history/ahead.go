package history

import (
	"context"

	"pawl"
	"pawl/internal/snapshot"
)

// WalkAhead begins the walk for the next SaveAhead, at the run's position at. Every other checkpoint of the saver drops it.
func (k *Saver) WalkAhead(ctx context.Context, at Position) {
	if k.Store == nil {
		return
	}
	k.DropAhead()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ahead, k.aheadAt = k.Store.WalkAhead(ctx), at
}

// SaveAhead is Save with the walk that WalkAhead began. Without one it is Save.
func (k *Saver) SaveAhead(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, at Position) PendingCheckpoint {
	walk, began := k.takeAhead()
	if walk == nil {
		return k.Save(ctx, kind, ref, why, at)
	}
	s, err := k.take(ctx, kind, ref, why, began, func(stamp snapshot.Stamp) (snapshot.Record, error) { return walk.Take(ctx, stamp) })
	if err != nil {
		s.Snapshot = &pawl.Snapshot{None: noSnapshotReason(err)}
	}
	return s
}

// DropAhead ends the walk that WalkAhead began, and stores nothing.
func (k *Saver) DropAhead() {
	walk, _ := k.takeAhead()
	_ = walk.Drop() // only its clean-up can fail
}

func (k *Saver) takeAhead() (*snapshot.Ahead, Position) {
	k.mu.Lock()
	defer k.mu.Unlock()
	walk := k.ahead
	k.ahead = nil
	return walk, k.aheadAt
}
