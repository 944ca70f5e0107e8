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

// positionFromWorker returns the position. A worker calls it; the engine's goroutine computes it.
func (e *Engine) positionFromWorker(ctx context.Context) (at history.Position) {
	e.callEngine(ctx, func() { at = e.position() })
	return at
}

// callEngine runs do in the engine's goroutine and waits for it, unless ctx ends first.
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

// saveAsync takes a checkpoint in a worker, emits it, and calls then.
func (e *Engine) saveAsync(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, then func()) {
	e.saving++
	at := e.position()
	e.spawn(func() func() {
		s := e.saver.Save(ctx, kind, ref, why, at)
		return func() {
			e.saving--
			e.emit(pawl.CheckpointSaved{Checkpoint: s.Checkpoint})
			e.noteSaved(s)
			then()
		}
	})
}

// noteSaved adds the warnings of a saved checkpoint.
func (e *Engine) noteSaved(s history.PendingCheckpoint) {
	if s.Note != "" {
		e.note("%s", s.Note)
	}
	if s.QuotaErr != nil {
		e.note("snapshots exceed their quota: %v", s.QuotaErr)
	}
}

// itemSaveInterval is the minimum interval between two checkpoints of a step's finished items.
const itemSaveInterval = 5 * time.Second

// itemSaves schedules the checkpoints of finished items.
type itemSaves struct {
	waiting int // items finished since the last checkpoint
	busy    bool
	next    time.Time
}

// saveItems takes a checkpoint of newly finished items. It skips if one was just taken or is being taken; the next
// item's or the step's checkpoint will contain them.
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
