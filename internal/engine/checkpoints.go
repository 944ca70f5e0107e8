package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
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
	for _, note := range s.Notes {
		e.note("%s", note)
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
	why := "1 item finished"
	if s.waiting > 1 {
		why = fmt.Sprintf("%d items finished", s.waiting)
	}
	s.waiting, s.busy = 0, true
	start := time.Now()
	e.saveAsync(ctx, pawl.CheckpointItem, ref, why, func() {
		s.busy = false
		s.next = time.Now().Add(max(itemSaveInterval, 20*time.Since(start)))
	})
}

// defaultHeartbeats is the interval between the checkpoints of a run with running steps.
const defaultHeartbeats = 4 * time.Minute

// heartbeatInterval is the longest time that a run with running steps has no checkpoint.
func (e *Engine) heartbeatInterval() time.Duration {
	return cmp.Or(time.Duration(e.cfg.Snapshots.Every), defaultHeartbeats)
}

// untilHeartbeat returns when the first heartbeat checkpoint is due. Steps may have run without an engine until now.
func (e *Engine) untilHeartbeat() time.Duration {
	every := e.heartbeatInterval()
	if last := e.state.LastSave; last != nil && len(e.state.Live()) > 0 {
		return min(max(every-time.Since(last.Time), 0), every)
	}
	return every
}

// saveHeartbeat takes a checkpoint while steps run, and sets the timer for the next one. No step waits for it: it is
// dropped if the run ends or another checkpoint is journaled meanwhile.
func (e *Engine) saveHeartbeat(ctx context.Context, next *time.Timer) {
	every := e.heartbeatInterval()
	if !e.runsAttempts() || e.cfg.Snapshots.Off {
		next.Reset(every)
		return
	}
	start, at, last, why := time.Now(), e.position(), e.state.LastSave, "running: "+e.liveNames()
	e.spawn(func() func() {
		s, err := e.saver.SaveSpare(ctx, pawl.CheckpointHeartbeat, why, at, last)
		return func() {
			took := time.Since(start)
			next.Reset(max(every-took, 4*took))
			switch {
			case errors.Is(err, snapshot.ErrUnchanged):
			case err != nil:
				e.reportNoHeartbeat(err.Error())
			case e.state.LastSave == last:
				e.unsaved = ""
				e.emit(pawl.CheckpointSaved{Checkpoint: s.Checkpoint})
				e.noteSaved(s)
			}
		}
	})
}

// runsAttempts reports whether an attempt runs. One that ended under an earlier engine gets the checkpoint of its result.
func (e *Engine) runsAttempts() bool {
	return slices.ContainsFunc(e.state.Live(), func(live *pawl.AttemptState) bool { return !e.settling[live.Token] })
}

// reportNoHeartbeat tells the user why a running step has no checkpoint, once while the reason stays the same.
func (e *Engine) reportNoHeartbeat(why string) {
	if e.unsaved != why {
		e.unsaved = why
		e.cfg.Notice("no checkpoint of the running steps: " + why)
	}
}
