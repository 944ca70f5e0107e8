package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pawl"
)

// checkpointOf says what kind of checkpoint is to be taken of what an attempt left behind, and why; empty: none now.
// Finished items get theirs together, gates when they open. It is pure.
func checkpointOf(w work, ev evidence) (kind pawl.CheckpointKind, why string) {
	done, _, end := verdictOn(w.step, ev)
	switch {
	case w.step.Gate != nil:
	case done && w.index < 0:
		kind = pawl.CheckpointStep
	case done:
	case slices.Contains([]pawl.EndReason{pawl.ReasonTimeout, pawl.ReasonStalled, pawl.ReasonAbort, pawl.ReasonBudget}, end.Reason),
		end.Outcome == pawl.Lost:
		kind, why = pawl.CheckpointEmergency, end.Why
	}
	return kind, why
}

// settle says what an attempt came to. It drops attempts that are not the live ones any more.
func (e *Engine) settle(ctx context.Context, w work, ref pawl.AttemptRef, key pawl.Key, ev evidence) {
	if e.liveAttempt(ref) == nil {
		return
	}
	e.sayExtras(w, ev)
	done, adopted, end := verdictOn(w.step, ev)
	switch {
	case w.step.Gate != nil && (done || end.Outcome == pawl.Failed && end.Reason == pawl.ReasonExited):
		e.openCheckedGate(ctx, w, ref, ev)
	case done:
		e.sayDone(ctx, w, ref, key, ev, adopted)
	default:
		e.sayEnded(ctx, w, ref, ev, end)
	}
}

// sayExtras says what a step reports in its result beside its status.
func (e *Engine) sayExtras(w work, ev evidence) {
	if ev.result == nil {
		return
	}
	for _, item := range ev.result.Items {
		item.Step = w.step.ID
		e.say(item)
	}
	for _, m := range ev.result.Memory {
		e.learn(m, nil)
	}
}

func (e *Engine) sayDone(ctx context.Context, w work, ref pawl.AttemptRef, key pawl.Key, ev evidence, adopted string) {
	summary, usage := "", e.used(ref, ev)
	if ev.result != nil {
		summary = ev.result.Summary
	}
	var verdict *pawl.Verdict
	if adopted != "" {
		v := ev.judge(w.step)
		verdict = &v
	}
	if ref.Item != "" {
		e.say(pawl.ItemDone{
			AttemptRef: ref, Key: key, Outputs: ev.outputs, Accept: pawl.AcceptOf(w.step), Summary: summary, Usage: usage,
			Adopted: adopted, Stats: ev.stats(), Verdict: verdict,
		})
		e.saveItems(ctx, ref)
		return
	}
	e.withdrawGates(w.step.ID)
	said := pawl.StepDone{
		Step: ref.Step, Attempt: ref.Attempt, Token: ref.Token, Key: key, Outputs: ev.outputs, Accept: pawl.AcceptOf(w.step),
		Summary: summary, Usage: usage, Undo: w.step.Undo, Adopted: adopted, Review: w.step.Review, Stats: ev.stats(),
		Verdict: verdict,
	}
	if ev.saved != nil {
		said.Save = &ev.saved.Checkpoint
		e.noteFull(*ev.saved)
	}
	e.say(said)
}

// used returns what an attempt cost, however it ended: by its result, or else by what it said last while it ran.
func (e *Engine) used(ref pawl.AttemptRef, ev evidence) pawl.Usage {
	if ev.result != nil && ev.result.Usage != (pawl.Usage{}) {
		return ev.result.Usage
	}
	if live := e.liveAttempt(ref); live != nil {
		return live.Usage
	}
	return pawl.Usage{}
}

// sayEnded says how an attempt ended that did not finish its work, when it is tried again, and what a person must know.
func (e *Engine) sayEnded(ctx context.Context, w work, ref pawl.AttemptRef, ev evidence, end pawl.AttemptEnded) {
	end.AttemptRef, end.Stats, end.Unmet = ref, ev.stats(), ev.unmet()
	end.Usage = e.used(ref, ev)
	if ev.exit != nil {
		end.Exit = ev.exit.Exit
	}
	switch end.Outcome {
	case pawl.Failed:
		failures := e.failures(w) + 1
		end.Final = failures >= w.step.Retry.Attempts
		if !end.Final {
			end.RetryAt = ev.now.Add(w.step.Retry.Delay(failures))
		}
	case pawl.WaitsFor:
		end.Gate = e.askedGate(ctx, ref, ev.result)
	case pawl.Blocked:
		for _, text := range orBlockers(end) {
			e.say(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: text, Step: w.step.ID}})
		}
	}
	e.say(end)
	if ev.saved != nil {
		e.say(pawl.CheckpointSaved{Checkpoint: ev.saved.Checkpoint})
		e.noteFull(*ev.saved)
	}
	if end.Final && ref.Item == "" {
		e.withdrawGates(w.step.ID)
		e.say(pawl.StepFailed{Step: ref.Step, Why: end.Why})
	}
}

func (e *Engine) failures(w work) int {
	st := e.state.Steps[w.step.ID]
	if w.index < 0 {
		return st.Try.Failures
	}
	return st.Items.Tries[w.index].Failures
}

// askedGate returns the gate that an attempt waits for: the one that its result asks, or else one that is open, or that
// it opened itself and that was answered meanwhile. An answer to an attempt before it is none to this one.
func (e *Engine) askedGate(ctx context.Context, ref pawl.AttemptRef, r *pawl.Result) pawl.GateID {
	own := func(g *pawl.GateState) bool { return g.Open() || g.Source != nil && g.Source.Token == ref.Token }
	if r.Gate != nil {
		gate := r.Gate.Gate(ref.Step, ref.Item, time.Now())
		if g := e.state.Gate(gate.ID); g == nil || !own(g) {
			e.sayGate(ctx, gate)
		}
		return gate.ID
	}
	for i := range slices.Backward(e.state.Gates) {
		if g := &e.state.Gates[i]; g.Step == ref.Step && g.Item == ref.Item && own(g) {
			return g.ID
		}
	}
	gate := pawl.GateAction{Type: pawl.HumanAction, Ask: cmp.Or(r.Summary, "Step "+ref.Name()+" waits, and does not say for what.")}.Gate(ref.Step, ref.Item, time.Time{})
	e.sayGate(ctx, gate)
	return gate.ID
}

// openCheckedGate opens a gate step's gate once its checks have been run, whatever they say: a person may look.
func (e *Engine) openCheckedGate(ctx context.Context, w work, ref pawl.AttemptRef, ev evidence) {
	gate, err := e.gateOf(w.step, ev.checkRuns())
	if err != nil {
		e.fatal = err
		return
	}
	e.sayGate(ctx, gate)
	e.say(pawl.AttemptEnded{
		AttemptRef: ref, Outcome: pawl.WaitsFor, Reason: pawl.ReasonExited, Why: "checks were run", Gate: gate.ID, Stats: ev.stats(),
	})
}
