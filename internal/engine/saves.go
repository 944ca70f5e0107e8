package engine

import (
	"context"
	"fmt"
	"pawl"
	"pawl/internal/history"
	"pawl/internal/runs"
	"time"
)

func (e *Engine) position() history.Position {
	return history.Position{Seq: e.state.Seq, Live: runs.RefsOf(e.state.Live())}
}

// positionFromWorker is standing for a helper, which asks the engine's own goroutine.
func (e *Engine) positionFromWorker(ctx context.Context) (at history.Position) {
	e.callEngine(ctx, func() { at = e.position() })
	return at
}

// callEngine has the engine's own goroutine do something for a helper that waits for it, unless ctx ends before.
func (e *Engine) callEngine(ctx context.Context, do func()) {
	done := make(chan struct{})
	select {
	case e.results <- func() { do(); close(done) }:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// saveAsync takes a checkpoint, off the engine's own path, and says it when it is there.
func (e *Engine) saveAsync(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, then func()) {
	e.saving++
	at := e.position()
	e.spawn(func() func() {
		s := e.saver.Save(ctx, kind, ref, why, at)
		return func() {
			e.saving--
			e.emit(pawl.CheckpointSaved{Checkpoint: s.Checkpoint})
			e.noteQuota(s)
			then()
		}
	})
}

// noteQuota notes that there was no making room after a snapshot.
func (e *Engine) noteQuota(s history.PendingCheckpoint) {
	if s.QuotaErr != nil {
		e.note("snapshots take more than their quota: %v", s.QuotaErr)
	}
}

// itemSaveInterval is the least time between two checkpoints of a step's finished items.
const itemSaveInterval = 5 * time.Second

// itemSaves says when finished items are to have a checkpoint again.
type itemSaves struct {
	waiting int // items finished since the last one
	busy    bool
	next    time.Time
}

// saveItems takes a checkpoint of the items that finished since the last one, unless that was just now, or is being
// taken: the next item or the step's end will have them.
func (e *Engine) saveItems(ctx context.Context, ref pawl.AttemptRef) {
	s := &e.items
	s.waiting++
	if s.busy || time.Now().Before(s.next) {
		return
	}
	why := fmt.Sprintf("items finished: %d", s.waiting)
	s.waiting, s.busy = 0, true
	start := time.Now()
	e.saveAsync(ctx, pawl.CheckpointItem, ref, why, func() {
		s.busy = false
		s.next = time.Now().Add(max(itemSaveInterval, 20*time.Since(start)))
	})
}
