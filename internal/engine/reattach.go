package engine

import (
	"context"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/supervise"
	"pawl/internal/watchdog"
)

// reattach watches every attempt of earlier engines. A running one is followed, a finished one is settled from its exit
// record, and a crashed one is cleaned up.
func (e *Engine) reattach(ctx context.Context) {
	for _, live := range e.state.Live() {
		e.reattachAttempt(ctx, live)
	}
}

func (e *Engine) reattachAttempt(ctx context.Context, live *pawl.AttemptState) {
	step := e.plan.ByID[live.Step]
	if step == nil {
		step = &pawl.Step{ID: live.Step} // removed from the plan: only wait for it
	}
	index := -1
	if live.Item != "" {
		index = live.Index
	}
	w, err := e.workOf(step, index)
	if err != nil {
		e.fatal = err
		return
	}
	dir := e.cfg.Project.AttemptDir(live.AttemptRef, e.run)
	status, err := supervise.Probe(dir)
	if err != nil {
		e.fatal = err
		return
	}
	if status.Under(live.Boot).State != supervise.Live { // what it left decides what starts
		e.settling[live.Token] = true
	}
	var job plannedJob
	job.Job, job.err = e.job(ctx, w, live.AttemptRef, live.Key)
	e.watch(ctx, w, live.AttemptRef, live.Key, supervise.Attach(dir), job)
}

// observe journals the watchdog's view of a live attempt. Supervisors enforce the step's limits themselves; the engine
// only checks that the supervisor is alive.
func (e *Engine) observe(live *pawl.AttemptState) {
	ref := live.AttemptRef
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	limits := watchdog.Limits{Warning: e.cfg.Watchdog.Warning, Stalled: e.cfg.Watchdog.Stalled}
	e.spawn(func() func() {
		seen, err := watchdog.Observe(dir, time.Now())
		found := watchdog.Assess(seen, limits)
		return func() {
			switch {
			case e.liveAttempt(ref) == nil: // it has ended meanwhile
				return
			case err != nil:
				e.emit(pawl.Heartbeat{AttemptRef: ref, Health: "unknown", Evidence: err.Error()})
				return
			}
			e.emit(pawl.Heartbeat{
				AttemptRef: ref, Health: string(found.Health), Evidence: found.Evidence,
				CPUSeconds: seen.CPUSeconds, OutputBytes: seen.OutputBytes,
			})
			if found.Action == watchdog.Kill {
				e.kill(ref, found)
			}
		}
	})
}

// kill kills an attempt whose supervisor holds its lock but is unresponsive.
func (e *Engine) kill(ref pawl.AttemptRef, found watchdog.Assessment) {
	e.emit(pawl.WatchdogActed{AttemptRef: ref, Health: string(found.Health), Action: string(found.Action), Evidence: found.Evidence})
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	e.spawn(func() func() {
		err := supervise.Kill(dir)
		return func() {
			if err != nil {
				e.emit(pawl.WatchdogActed{AttemptRef: ref, Health: string(found.Health), Action: "kill failed", Evidence: fmt.Sprint(err)})
			}
		}
	})
}
