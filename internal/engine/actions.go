package engine

import (
	"context"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/history"
	"pawl/internal/runs"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// do emits the events for an action and schedules the side effects for after the flush.
func (e *Engine) do(ctx context.Context, a decide.Action) error {
	switch a.Kind {
	case decide.Start:
		if e.plan.HandlesEnd(a.Step.ID) {
			e.endWhy = a.Why
		}
		return e.start(ctx, a)
	case decide.List:
		return e.list(a.Step)
	case decide.Finish:
		return e.finish(ctx, a)
	case decide.Open:
		return e.openGate(ctx, a)
	case decide.Complete, decide.FailRun:
		return e.endRun(ctx, a)
	case decide.StopLive:
		e.stopLive(a.Why)
	case decide.Release:
		e.release(a)
	default:
		e.emit(a.Payloads(e.state)...)
	}
	return nil
}

// endRun ends the run, if the state that the engine began with was right. Notices of the end are sent before: an ended run has no
// engine that would send them.
func (e *Engine) endRun(ctx context.Context, a decide.Action) error {
	if err := e.requireCheckedCache(); err != nil {
		return err
	}
	if e.notify(ctx, a) {
		return nil
	}
	if why := decide.HandlerFailure(e.plan.Plan, e.state, a.Status()); why != "" {
		e.note("%s; the run still ends as %s", why, a.Status())
	}
	e.emit(a.Payloads(e.state)...)
	return nil
}

// stopLive asks the supervisors of all live attempts to terminate them, once per attempt.
func (e *Engine) stopLive(why string) {
	for _, live := range e.state.Live() {
		if e.stopping[live.Token] {
			continue
		}
		e.stopping[live.Token] = true
		e.endAttempt(live.AttemptRef, pawl.Abort{Reason: pawl.ReasonAbort, Why: why})
	}
}

// endAttempt asks an attempt's supervisor to terminate it. An error means that no supervisor is there, so nothing is
// left to terminate.
func (e *Engine) endAttempt(ref pawl.AttemptRef, abort pawl.Abort) {
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	e.spawn(func() func() {
		err := supervise.RequestAbort(dir, abort)
		return func() {
			if err != nil {
				e.emit(pawl.WatchdogActed{AttemptRef: ref, Health: "unknown", Action: "end", Evidence: err.Error()})
			}
		}
	})
}

// list journals a foreach step's complete item list before the first item starts.
func (e *Engine) list(step *pawl.Step) error {
	values, err := e.values(step)
	if err == nil {
		err = runs.RefuseSecretValues(values)
	}
	if err != nil {
		return e.unlistable(step, err)
	}
	key, err := e.stepKey(step)
	if err != nil {
		return e.unlistable(step, err)
	}
	e.emit(runs.ListPayloads(step.ID, key, 0, values)...)
	return nil
}

// unlistable fails a step whose items or inputs cannot be read.
func (e *Engine) unlistable(step *pawl.Step, err error) error {
	e.emit(pawl.StepFailed{Step: step.ID, Why: err.Error(), Continued: step.ContinueOnError})
	return nil
}

// values reads a foreach step's current item list from its source.
func (e *Engine) values(step *pawl.Step) ([]string, error) {
	return runs.ListValues(e.cfg.Project.Root, step)
}

// finish finishes a foreach step whose items are done, or a gate step whose gate was answered. A worker takes the
// checkpoint first; the step counts as preparing until then.
func (e *Engine) finish(ctx context.Context, a decide.Action) error {
	name := string(a.Step.ID)
	if e.preparing[name] {
		return nil
	}
	if s, ok := e.saved[name]; ok {
		delete(e.saved, name)
		return e.emitFinished(a, s)
	}
	e.preparing[name] = true
	at := e.position()
	e.spawn(func() func() {
		s := e.saver.Save(ctx, pawl.CheckpointStep, pawl.AttemptRef{Step: a.Step.ID}, "", at)
		return func() {
			delete(e.preparing, name)
			e.saved[name] = s
		}
	})
	return nil
}

// emitFinished emits step.done for a step that finish has prepared.
func (e *Engine) emitFinished(a decide.Action, s history.PendingCheckpoint) error {
	e.noteSaved(s)
	done := pawl.StepDone{Step: a.Step.ID, Accept: pawl.AcceptOf(a.Step), Undo: a.Step.Undo, Review: a.Step.Review, Save: &s.Checkpoint}
	if a.Step.Gate != nil {
		key, err := e.stepKey(a.Step)
		if err != nil {
			return e.unlistable(a.Step, err)
		}
		done.Key, done.Summary = key, gateSummary(e.state.Gate(a.Gate.ID))
		e.emit(done)
		return nil
	}
	st := e.state.Steps[a.Step.ID]
	digest, err := e.itemsDigest(st)
	if err != nil {
		return err
	}
	done.Key, done.Digest = st.Key, digest
	done.Summary = itemsSummary(a.Step, st.Items)
	e.emit(done)
	return nil
}

// itemsSummary says how many items are done, and how many were left out, or why there are none.
func itemsSummary(step *pawl.Step, items *pawl.ItemsState) string {
	if why := step.Foreach.NoItems(); items.Total == 0 && why != "" {
		return "no items: " + why
	}
	text := fmt.Sprintf("%d items", items.Count)
	if n := len(items.Skipped); n > 0 {
		text += fmt.Sprintf(", %d skipped", n)
	}
	return text
}

func gateSummary(g *pawl.GateState) string {
	if g.Answer.Option != "" {
		return "chosen: " + g.Answer.Option
	}
	return string(g.Answer.Answer)
}

// itemsDigest returns what a foreach step gives.
func (e *Engine) itemsDigest(st *pawl.StepState) (string, error) {
	d := runs.NewItemsDigest(st.Key)
	for index := range st.Items.Total {
		if st.Items.Done.At(index) == 0 {
			continue // skipped
		}
		done, err := runs.ReadItemDone(e.log, st.Items, index)
		if err != nil {
			return "", err
		}
		d.Add(done.Item, done.Outputs, done.Key)
	}
	return d.Hash(), nil
}

// openGate opens the action's gate, or the gate of a gate step.
func (e *Engine) openGate(ctx context.Context, a decide.Action) error {
	if a.Gate.Ask != "" {
		e.emitGate(ctx, a.Gate)
		return nil
	}
	gate, err := e.gateOf(a.Step, nil)
	if err == nil {
		e.emitGate(ctx, gate)
	}
	return err
}

// emitGate opens a gate and takes a checkpoint of what it shows.
func (e *Engine) emitGate(ctx context.Context, gate pawl.Gate) {
	gate.ID = gate.Identify()
	e.emit(pawl.GateOpened{Gate: gate})
	e.saveAsync(ctx, pawl.CheckpointGate, pawl.AttemptRef{Step: gate.Step, Item: gate.Item}, gate.Ask, func() {})
}

// gateOf returns the gate that a gate step would open now.
func (e *Engine) gateOf(step *pawl.Step, checks []pawl.CheckRun) (pawl.Gate, error) {
	gate := step.Gate.Gate(step.ID, "", time.Now())
	shown, err := runs.GateContent(e.cfg.Project.Root, &runs.Run{Log: e.log, State: e.state, Plan: e.plan.Plan}, step)
	if err != nil {
		return pawl.Gate{}, err
	}
	gate.Shown, gate.Checks = runs.LimitShown(shown), runs.LastLines(checks)
	gate.Options = runs.GateOptions(step.Gate, gate.Shown)
	gate.ID = gate.Identify()
	return gate, nil
}

// withdrawGates withdraws the open gates of a step that has ended.
func (e *Engine) withdrawGates(id pawl.StepID) {
	e.emit(runs.WithdrawGates(e.state, id, "ended")...)
}

// withdrawChangedGates withdraws the gates that cannot be answered any more, since what they show has changed. They open again.
func (e *Engine) withdrawChangedGates() error {
	for _, g := range e.state.OpenGates() {
		if g.Purpose != "" {
			continue
		}
		changed, err := runs.GateChanges(e.cfg.Project, &runs.Run{Log: e.log, State: e.state, Plan: e.plan.Plan}, g)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			e.emit(pawl.GateWithdrawn{Gate: g.ID, Why: runs.ContentChanged(changed)})
		}
	}
	return nil
}

// heartbeat has the watchdog check each live attempt.
func (e *Engine) heartbeat(clock *process.SleepClock) {
	if slept := clock.Slept(); slept > time.Second {
		e.emit(pawl.MachineSlept{Seconds: slept.Seconds()})
	}
	for _, live := range e.state.Live() {
		e.observe(live)
	}
}
