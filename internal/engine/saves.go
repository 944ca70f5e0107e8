package engine

import (
	"context"
	"fmt"
	"pawl"
	"pawl/internal/history"
	"pawl/internal/runs"
	"time"
)

func (e *Engine) standing() history.Position {
	return history.Position{Seq: e.state.Seq, Live: runs.RefsOf(e.state.Live())}
}

// standingNow is standing for a helper, which asks the engine's own goroutine.
func (e *Engine) standingNow(ctx context.Context) (at history.Position) {
	e.ask(ctx, func() { at = e.standing() })
	return at
}

// ask has the engine's own goroutine do something for a helper that waits for it, unless ctx ends before.
func (e *Engine) ask(ctx context.Context, do func()) {
	done := make(chan struct{})
	select {
	case e.posted <- func() { do(); close(done) }:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// saveLater takes a checkpoint, off the engine's own path, and says it when it is there.
func (e *Engine) saveLater(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, then func()) {
	e.saving++
	at := e.standing()
	e.help(func() func() {
		s := e.keeper.Save(ctx, kind, ref, why, at)
		return func() {
			e.saving--
			e.say(pawl.CheckpointSaved{Checkpoint: s.Checkpoint})
			e.noteFull(s)
			then()
		}
	})
}

// noteFull notes that there was no making room after a snapshot.
func (e *Engine) noteFull(s history.PendingCheckpoint) {
	if s.QuotaErr != nil {
		e.note("snapshots take more than their quota: %v", s.QuotaErr)
	}
}

// itemPause is the least time between two checkpoints of a step's finished items.
const itemPause = 5 * time.Second

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
	e.saveLater(ctx, pawl.CheckpointItem, ref, why, func() {
		s.busy = false
		s.next = time.Now().Add(max(itemPause, 20*time.Since(start)))
	})
}
