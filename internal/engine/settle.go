package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/oneline"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// checkpointOf returns which kind of checkpoint to take of an attempt's result, and why; "" for none. Finished items
// share checkpoints, and gates get theirs when they open. It is pure.
func checkpointOf(w runs.Work, ev resume.Evidence) (kind pawl.CheckpointKind, why string) {
	done, _, end := resume.Conclude(w.Step, ev)
	switch {
	case w.Step.Gate != nil, w.Step.Service != nil:
	case done && w.Index < 0:
		kind = pawl.CheckpointStep
	case done:
	case slices.Contains([]pawl.EndReason{pawl.ReasonTimeout, pawl.ReasonStalled, pawl.ReasonAbort, pawl.ReasonBudget}, end.Reason),
		end.Outcome == pawl.Lost:
		kind, why = pawl.CheckpointEmergency, end.Why
	}
	return kind, why
}

// settle journals the outcome of an attempt. It ignores attempts that are no longer live.
func (e *Engine) settle(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key, ev resume.Evidence) {
	if e.liveAttempt(ref) == nil {
		return
	}
	e.emitExtras(w, ev)
	e.judgeService(w, ref, &ev)
	done, adopted, end := resume.Conclude(w.Step, ev)
	switch {
	case w.Step.Gate != nil && (done || end.Outcome == pawl.Failed && end.Reason == pawl.ReasonExited):
		e.openCheckedGate(ctx, w, ref, ev)
	case done:
		e.emitDone(ctx, w, ref, key, ev, adopted)
	default:
		e.emitEnded(ctx, w, ref, ev, end)
	}
}

// emitExtras emits the items and learned facts in a step's result.
func (e *Engine) emitExtras(w runs.Work, ev resume.Evidence) {
	if ev.Result == nil {
		return
	}
	for _, item := range ev.Result.Items {
		item.Step = w.Step.ID
		e.emit(item)
	}
	for _, m := range ev.Result.Memory {
		e.learn(m, nil)
	}
}

func (e *Engine) emitDone(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key, ev resume.Evidence, adopted string) {
	summary, usage := "", e.usageOf(ref, ev)
	if ev.Result != nil {
		summary = ev.Result.Summary
	} else if ev.Unneeded {
		summary = decide.EndedBecause(e.liveAttempt(ref))
	}
	var verdict *pawl.Verdict
	if adopted != "" {
		v := ev.Judge(w.Step)
		verdict = &v
	}
	if ref.Item != "" {
		e.emit(pawl.ItemDone{
			AttemptRef: ref, Key: key, Outputs: ev.Outputs, Accept: pawl.AcceptOf(w.Step), Summary: summary, Usage: usage,
			Adopted: adopted, Stats: ev.Stats(), Verdict: verdict,
		})
		e.saveItems(ctx, ref)
		return
	}
	e.withdrawGates(w.Step.ID)
	said := pawl.StepDone{
		Step: ref.Step, Attempt: ref.Attempt, Token: ref.Token, Key: key, Outputs: ev.Outputs, Accept: pawl.AcceptOf(w.Step),
		Summary: summary, Usage: usage, Undo: w.Step.Undo, Adopted: adopted, Review: w.Step.Review, Stats: ev.Stats(),
		Verdict: verdict,
	}
	if ev.Checkpoint != nil {
		said.Save = &ev.Checkpoint.Checkpoint
		e.noteSaved(*ev.Checkpoint)
	}
	e.emit(said)
}

// usageOf returns the cost of an attempt: from its result, or else from its last report.
func (e *Engine) usageOf(ref pawl.AttemptRef, ev resume.Evidence) pawl.Usage {
	if ev.Result != nil && ev.Result.Usage != (pawl.Usage{}) {
		return ev.Result.Usage
	}
	if live := e.liveAttempt(ref); live != nil {
		return live.Usage
	}
	return pawl.Usage{}
}

// maxNamed is how much of an item's value an event names.
const maxNamed = 80

// shownValue returns the start of an item's value if its id is not the value.
func shownValue(w runs.Work) string {
	if w.Index < 0 || string(w.Item()) == w.Value {
		return ""
	}
	return oneline.Clip(w.Value, maxNamed)
}

// emitEnded journals an attempt that did not succeed, when it is retried, and what a person must decide.
func (e *Engine) emitEnded(ctx context.Context, w runs.Work, ref pawl.AttemptRef, ev resume.Evidence, end pawl.AttemptEnded) {
	end.AttemptRef, end.Value, end.Stats, end.Unmet = ref, shownValue(w), ev.Stats(), ev.Unmet()
	end.Usage = e.usageOf(ref, ev)
	if ev.Exit != nil {
		end.Exit = ev.Exit.Exit
	}
	end = decide.FailedEnd(end, w.Step, e.retriesOf(w).Failures, ev)
	switch end.Outcome {
	case pawl.WaitsFor:
		end.Gate = e.askedGate(ctx, ref, ev.Result)
	case pawl.Blocked:
		for _, text := range resume.BlockersOf(end) {
			e.emit(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: text, Step: w.Step.ID}})
		}
	}
	e.emit(end)
	if ev.Checkpoint != nil {
		e.emit(pawl.CheckpointSaved{Checkpoint: ev.Checkpoint.Checkpoint})
		e.noteSaved(*ev.Checkpoint)
	}
	if end.Final && ref.Item == "" {
		e.withdrawGates(w.Step.ID)
		e.emit(pawl.StepFailed{Step: ref.Step, Why: end.Why, Continued: w.Step.ContinueOnError})
	}
}

// askedGate returns the gate that an attempt waits for: the one in its result, or one that is open, or one that it
// opened and that was answered meanwhile. Answers to earlier attempts do not count.
func (e *Engine) askedGate(ctx context.Context, ref pawl.AttemptRef, r *pawl.Result) pawl.GateID {
	own := func(g *pawl.GateState) bool { return g.Open() || g.Source != nil && g.Source.Token == ref.Token }
	if r.Gate != nil {
		gate := r.Gate.Gate(ref.Step, ref.Item, time.Now())
		if g := e.state.Gate(gate.ID); g == nil || !own(g) {
			e.emitGate(ctx, gate)
		}
		return gate.ID
	}
	for i := range slices.Backward(e.state.Gates) {
		if g := &e.state.Gates[i]; g.Step == ref.Step && g.Item == ref.Item && own(g) {
			return g.ID
		}
	}
	gate := pawl.GateAction{Type: pawl.HumanAction, Ask: cmp.Or(r.Summary, "Step "+ref.Name()+" is waiting but does not say for what.")}.Gate(ref.Step, ref.Item, time.Time{})
	e.emitGate(ctx, gate)
	return gate.ID
}

// openCheckedGate opens a gate step's gate after its checks ran, whether they passed or not.
func (e *Engine) openCheckedGate(ctx context.Context, w runs.Work, ref pawl.AttemptRef, ev resume.Evidence) {
	gate, err := e.gateOf(w.Step, ev.CheckRuns())
	if err != nil {
		e.fatal = err
		return
	}
	e.emitGate(ctx, gate)
	e.emit(pawl.AttemptEnded{
		AttemptRef: ref, Outcome: pawl.WaitsFor, Reason: pawl.ReasonExited, Why: "checks finished", Gate: gate.ID, Stats: ev.Stats(),
	})
}
