package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// do emits the events for an action and schedules the side effects for after the flush.
func (e *Engine) do(ctx context.Context, a action) error {
	switch a.kind {
	case start:
		return e.start(ctx, a)
	case list:
		return e.list(a.step)
	case finish:
		return e.finish(ctx, a)
	case giveUp:
		e.emit(pawl.StepFailed{Step: a.step.ID, Why: a.why})
		e.withdrawGates(a.step.ID)
	case open:
		return e.openGate(ctx, a)
	case answer:
		e.answerGate(a)
	case expire:
		e.emit(pawl.GateExpired{Gate: a.gate.ID})
	case reopen:
		for _, id := range a.steps {
			e.emit(pawl.StepReopened{Step: id, Why: a.why})
		}
	case spend:
		a.gate.ID = a.gate.Identify()
		e.emit(pawl.BudgetSpent{Budget: a.gate.Budget, Used: a.why, Limit: a.gate.Ask}, pawl.GateOpened{Gate: a.gate})
	case complete:
		e.emit(pawl.RunEnded{Status: pawl.StatusCompleted})
	case fail:
		e.emit(pawl.RunEnded{Status: pawl.StatusFailed, Why: a.why})
	case stopLive:
		e.stopLive(a.why)
	}
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
	e.emitList(step.ID, key, 0, values)
	return nil
}

// unlistable fails a step whose items or inputs cannot be read.
func (e *Engine) unlistable(step *pawl.Step, err error) error {
	e.emit(pawl.StepFailed{Step: step.ID, Why: err.Error()})
	return nil
}

// maxListed is the maximum size in bytes of the values in one step.listed event, well below the limit of a journal
// line.
const maxListed = 32 << 10

// emitList splits values over as many events as needed. An empty list is one event.
func (e *Engine) emitList(id pawl.StepID, key pawl.Key, from int, values []string) {
	for {
		n, size := 0, 0
		for n < len(values) && size < maxListed {
			size += runs.EncodedSize(values[n]) + 1
			n++
		}
		e.emit(pawl.StepListed{Step: id, Key: key, From: from, Items: values[:n]})
		from, values = from+n, values[n:]
		if len(values) == 0 {
			return
		}
	}
}

// values reads a foreach step's current item list from its source.
func (e *Engine) values(step *pawl.Step) ([]string, error) {
	return runs.ListValues(e.cfg.Project.Root, step)
}

// finish finishes a foreach step whose items are done, or a gate step whose gate was answered. A worker takes the
// checkpoint first; the step counts as preparing until then.
func (e *Engine) finish(ctx context.Context, a action) error {
	name := string(a.step.ID)
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
		s := e.saver.Save(ctx, pawl.CheckpointStep, pawl.AttemptRef{Step: a.step.ID}, "", at)
		return func() {
			delete(e.preparing, name)
			e.saved[name] = s
		}
	})
	return nil
}

// emitFinished emits step.done for a step that finish has prepared.
func (e *Engine) emitFinished(a action, s history.PendingCheckpoint) error {
	e.noteQuota(s)
	done := pawl.StepDone{Step: a.step.ID, Accept: pawl.AcceptOf(a.step), Undo: a.step.Undo, Review: a.step.Review, Save: &s.Checkpoint}
	if a.step.Gate != nil {
		key, err := e.stepKey(a.step)
		if err != nil {
			return e.unlistable(a.step, err)
		}
		done.Key, done.Summary = key, gateSummary(e.state.Gate(a.gate.ID))
		e.emit(done)
		return nil
	}
	st := e.state.Steps[a.step.ID]
	digest, err := e.itemsDigest(st.Items)
	if err != nil {
		return err
	}
	done.Key, done.Digest = st.Key, digest
	done.Summary = fmt.Sprintf("%d items", st.Items.Total)
	e.emit(done)
	return nil
}

func gateSummary(g *pawl.GateState) string {
	if g.Answer.Option != "" {
		return "chosen: " + g.Answer.Option
	}
	return string(g.Answer.Answer)
}

// itemsDigest returns the hash over the recorded outputs of all items, in order.
func (e *Engine) itemsDigest(items *pawl.ItemsState) (string, error) {
	all := pawl.Outputs{}
	for index := range items.Total {
		done, err := runs.ReadItemDone(e.log, items, index)
		if err != nil {
			return "", err
		}
		all[string(done.Item)] = pawl.Content{SHA256: done.Outputs.Hash()}
	}
	return all.Hash(), nil
}

// openGate opens the action's gate, or the gate of a gate step.
func (e *Engine) openGate(ctx context.Context, a action) error {
	if a.gate.Ask != "" {
		e.emitGate(ctx, a.gate)
		return nil
	}
	gate, err := e.gateOf(a.step, nil)
	if err == nil {
		e.emitGate(ctx, gate)
	}
	return err
}

// lastLines returns a copy of the check results with each output cut to its last line.
func lastLines(checks []pawl.CheckRun) []pawl.CheckRun {
	brief := slices.Clone(checks)
	for i := range brief {
		lines := strings.Split(strings.TrimSpace(brief[i].Output), "\n")
		last := redact.OfProcess().Text(lines[len(lines)-1]) // before it is cut
		brief[i].Output = last[:min(len(last), 200)]
	}
	return brief
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
	gate.Shown, gate.Checks = runs.LimitShown(shown), lastLines(checks)
	gate.ID = gate.Identify()
	return gate, nil
}

func (e *Engine) answerGate(a action) {
	a.reply.Gate, a.reply.Step = a.gate.ID, a.gate.Step
	e.emit(a.reply)
	if a.reply.Answer == pawl.Chosen {
		e.emit(pawl.DecisionMade{Decision: pawl.Decision{
			Question: a.gate.Ask, Options: a.gate.Options, Choice: a.reply.Option, Why: a.reply.Why, By: "pawl", Step: a.gate.Step,
		}})
	}
}

// withdrawGates withdraws the open gates of a step that has ended.
func (e *Engine) withdrawGates(id pawl.StepID) {
	e.emit(runs.WithdrawGates(e.state, id, "ended")...)
}

// heartbeat has the watchdog check each live attempt.
func (e *Engine) heartbeat(clock *sleepClock) {
	if slept := clock.slept(); slept > time.Second {
		e.emit(pawl.MachineSlept{Seconds: slept.Seconds()})
	}
	for _, live := range e.state.Live() {
		e.observe(live)
	}
}
