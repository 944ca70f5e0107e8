package engine

import (
	"context"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// Ahead is the walk for the first checkpoint of an engine that is about to open. It runs while the caller examines the run. A nil Ahead
// has no walk.
type Ahead struct {
	saver *history.Saver
	last  project.Holder // of the engine lock, before the walk
}

// WalkAhead begins to walk the files of a run that its caller is about to continue, if a checkpoint of them is certain: every attempt
// that the journal has as live ended before the walk. Otherwise it returns nil. The caller drops the walk before it asks a person, so that
// the checkpoint has no files of before the answer.
func WalkAhead(ctx context.Context, cfg Config, r *runs.Run) *Ahead {
	live := r.State.Live()
	if cfg.Snapshots.Off || len(live) == 0 || r.Plan == nil {
		return nil
	}
	last, held := cfg.Project.EngineHolder()
	if held || last == (project.Holder{}) {
		return nil
	}
	for _, attempt := range live {
		status, err := supervise.Probe(cfg.Project.AttemptDir(attempt.AttemptRef, r.State.Run))
		if err != nil || status.State != supervise.Ended || !leavesResult(attempt, r.Plan.Step(attempt.Step), status.Exit) {
			return nil
		}
	}
	saver := history.OpenSaver(ctx, cfg.Project, r.State.Run, cfg.Snapshots)
	saver.Watch()
	saver.WalkAhead(context.WithoutCancel(ctx), history.Position{Seq: r.State.Seq, Live: runs.RefsOf(live)})
	return &Ahead{saver: saver, last: last}
}

// leavesResult reports whether an ended attempt is of a step whose result gets a checkpoint, is in the files, and left no process behind.
func leavesResult(attempt *pawl.AttemptState, step *pawl.Step, exit *pawl.Exit) bool {
	if step == nil || step.Gate != nil || step.Service != nil || dispatch.QueueOf(step) != "" || attempt.Item != "" || exit == nil {
		return false
	}
	return exit.Exit != nil && *exit.Exit == 0 && len(exit.Unkilled) == 0
}

// Drop ends the walk, unless an engine has it.
func (a *Ahead) Drop() {
	if a != nil && a.saver != nil {
		_ = a.saver.Close() // nothing was saved
		a.saver = nil
	}
}

// take returns the saver with the walk, or nil if it has none. Whoever held the engine lock since the walk began may have changed the
// files.
func (a *Ahead) take(lock *project.Lock) *history.Saver {
	if a == nil || a.saver == nil {
		return nil
	}
	saver := a.saver
	a.saver = nil
	if lock.Last() != a.last {
		saver.DropAhead()
	}
	return saver
}

// openSaver opens the saver, or takes the one with a walk.
func (e *Engine) openSaver(ctx context.Context) {
	if e.saver = e.cfg.Ahead.take(e.lock); e.saver != nil {
		return
	}
	e.saver = history.OpenSaver(ctx, e.cfg.Project, e.run, e.cfg.Snapshots)
	e.saver.Watch()
	if len(e.state.Live()) > 0 { // some may have ended
		e.saver.ReadAhead()
	}
}

// saveResult takes the checkpoint of an attempt's result. A walk that began before the engine has the result, unless something has run
// for it since.
func (e *Engine) saveResult(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, ev resume.Evidence) history.PendingCheckpoint {
	save := e.saver.Save
	if ev.Exit != nil && ev.Swept == 0 && ev.Checks == nil && ev.Verdict == nil {
		save = e.saver.SaveAhead
	}
	return save(ctx, kind, ref, why, e.positionFromWorker(ctx))
}
