package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/recovery"
	"pawl/internal/supervise"
)

// evidence is what is known of an attempt that is over.
type evidence struct {
	now        time.Time
	begun      bool       // its supervisor said that it was about to start the child
	rebooted   bool       // the system was restarted since: what nobody synced may be anything
	vague      bool       // the record of its beginning is gone: whether the system was restarted nobody knows
	exit       *pawl.Exit // nil: the supervisor was lost
	result     *pawl.Result
	resultErr  error
	outputs    pawl.Outputs
	outputsErr error
	checks     []pawl.CheckRun // run by us, because the supervisor could not
	lasted     time.Duration   // of a lost attempt: at least how long it ran
	present    recovery.Outputs
	failures   int           // tries used up before
	losses     int           // attempts lost in a row before
	verdict    *pawl.Verdict // an evaluator's, where it was asked
	saved      *saved        // the checkpoint that was taken of what the attempt left
	swept      int           // processes of a lost attempt that were ended
	left       []int         // and those that could not be
}

// unsynced reports whether what nobody synced may be anything.
func (ev evidence) unsynced() bool { return ev.rebooted || ev.vague }

// probed adds what the attempt's folder says.
func (ev *evidence) probed(status supervise.Status, token pawl.Token) {
	if status.Exit != nil && status.Exit.Token == token {
		ev.exit = status.Exit
	}
	ev.begun, ev.rebooted, ev.vague = status.HasBegun(), status.Rebooted(), status.HasBegun() && status.Begun == nil
}

// looksDone reports whether the attempt says of itself that it did its work.
func (ev evidence) looksDone() bool {
	if ev.resultErr != nil || ev.result != nil && ev.result.Status != pawl.ResultDone {
		return false
	}
	if ev.exit == nil {
		return ev.begun && !ev.unsynced() && ev.result != nil
	}
	return ev.exit.Reason == pawl.ReasonExited && ev.exit.Exit != nil && *ev.exit.Exit == 0
}

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

// needsChecks reports whether a lost attempt may be believed, or be taken for complete, once its acceptance checks pass.
func (ev evidence) needsChecks(step *pawl.Step) bool {
	complete := ev.looksDone() && ev.outputsErr == nil || ev.result == nil && ev.resultErr == nil && ev.present == recovery.AllOutputs
	return ev.exit == nil && ev.begun && complete && len(step.Accept) > 0
}

// judge says what is safe to do: by the rules, or as an evaluator chose among what they leave open.
func (ev evidence) judge(step *pawl.Step) pawl.Verdict {
	if ev.verdict != nil {
		return *ev.verdict
	}
	return recovery.Judge(ev.caseOf(step))
}

// caseOf is the evidence as the rules know it. Here place and definition are the same: an engine is at work where the
// attempt ran, and has ended those that the plan does not have any more.
func (ev evidence) caseOf(step *pawl.Step) recovery.Case {
	return recovery.Case{
		Attempt: ev.attempt(), Result: ev.resultSaid(), Outputs: ev.outputsThere(step), Checks: ev.checked(),
		Idempotent: step.MayRepeat(), SamePlace: true, SameStep: true, TriesLeft: ev.triesLeft(step),
	}
}

func (ev evidence) attempt() recovery.Attempt {
	switch {
	case ev.exit == nil && !ev.begun:
		return recovery.NotBegun
	case ev.exit == nil:
		return recovery.Lost
	case ev.exit.Reason == pawl.ReasonExited && ev.exit.Exit != nil && *ev.exit.Exit == 0:
		return recovery.ExitZero
	}
	return recovery.ExitOther
}

// resultSaid is what the attempt said of itself. What a restart of the system may have left of that is no word.
func (ev evidence) resultSaid() recovery.Result {
	switch {
	case ev.resultErr != nil:
		return recovery.Unreadable
	case ev.result == nil, ev.exit == nil && (ev.unsynced() || !ev.begun):
		return recovery.NoResult
	case ev.result.Status == pawl.ResultDone:
		return recovery.SaysDone
	}
	return recovery.SaysOther
}

// outputsThere is what there is of the declared outputs. What was not synced before a restart of the system may be half.
func (ev evidence) outputsThere(step *pawl.Step) recovery.Outputs {
	switch {
	case len(step.Outputs) == 0:
		return recovery.Undeclared
	case ev.looksDone() && ev.outputsErr == nil:
		return recovery.AllOutputs
	case ev.present == recovery.AllOutputs && (ev.unsynced() || ev.outputsErr != nil):
		return recovery.SomeOutputs
	case ev.present == "":
		return recovery.NoOutputs
	}
	return ev.present
}

func (ev evidence) checked() recovery.Checks {
	switch runs := ev.checkRuns(); {
	case !pawl.Passed(runs):
		return recovery.ChecksFail
	case len(runs) > 0:
		return recovery.ChecksPass
	}
	return recovery.NoChecks
}

func (ev evidence) checkRuns() []pawl.CheckRun {
	if ev.exit != nil {
		return ev.exit.Checks
	}
	return ev.checks
}

// unmet names the acceptance checks that failed.
func (ev evidence) unmet() []string {
	var names []string
	for _, c := range ev.checkRuns() {
		if c.Exit != 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// triesLeft reports whether it may be tried again: a loss costs no try, but a person is asked after too many.
func (ev evidence) triesLeft(step *pawl.Step) bool {
	if ev.exit == nil {
		return ev.losses+1 < maxLosses
	}
	return ev.failures+1 < step.Retry.Attempts
}

// verdictOn says what an attempt came to: done, with why it is believed where no supervisor saw its end; or how it
// ended otherwise. It is pure.
func verdictOn(step *pawl.Step, ev evidence) (done bool, adopted string, end pawl.AttemptEnded) {
	v := ev.judge(step)
	if v.Word == pawl.Next {
		if ev.exit == nil {
			adopted = "its supervisor was lost, but " + v.Reasons[0]
		}
		return true, adopted, end
	}
	end = endOf(ev)
	switch end.Outcome {
	case pawl.Failed, pawl.Lost, pawl.NotStarted:
		end.Verdict = &v
	}
	return false, "", end
}

// endOf says how an attempt ended that did not finish its work.
func endOf(ev evidence) pawl.AttemptEnded {
	switch {
	case ev.exit == nil:
		return lostEnd(ev)
	case ev.exit.Reason == pawl.ReasonAbort || ev.exit.Reason == pawl.ReasonOutdated:
		return ended(pawl.Aborted, ev.exit.Reason, cmp.Or(ev.exit.Why, "ended on request"))
	case ev.exit.Reason != pawl.ReasonExited:
		return ended(pawl.Failed, ev.exit.Reason, cmp.Or(ev.exit.Why, string(ev.exit.Reason)))
	case ev.resultErr != nil:
		return ended(pawl.Failed, pawl.ReasonError, ev.resultErr.Error())
	case ev.result != nil && ev.result.Status != pawl.ResultDone:
		return resultVerdict(ev.result)
	case ev.exit.Exit == nil || *ev.exit.Exit != 0:
		return ended(pawl.Failed, pawl.ReasonExited, exitText(ev.exit))
	case ev.outputsErr != nil:
		return ended(pawl.Failed, pawl.ReasonExited, "outputs: "+ev.outputsErr.Error())
	}
	return ended(pawl.Failed, pawl.ReasonExited, checkText(ev.exit.Checks))
}

// lostEnd says how an attempt ended whose supervisor died.
func lostEnd(ev evidence) pawl.AttemptEnded {
	if !ev.begun {
		return ended(pawl.NotStarted, "", "lost before it began")
	}
	why := "its supervisor was lost"
	if ev.rebooted {
		why += " when the system was restarted"
	}
	if ev.vague {
		why += ", and so was the record of its beginning"
	}
	if ev.swept > 0 {
		why += fmt.Sprintf("; %d processes of it were ended", ev.swept)
	}
	if len(ev.left) > 0 {
		why += fmt.Sprintf("; these could not be: %v", ev.left)
	}
	return ended(pawl.Lost, "", why)
}

func resultVerdict(r *pawl.Result) pawl.AttemptEnded {
	outcome := map[pawl.ResultStatus]pawl.Outcome{
		pawl.ResultFailed: pawl.Failed, pawl.ResultBlocked: pawl.Blocked, pawl.ResultWaiting: pawl.WaitsFor,
	}[r.Status]
	end := ended(outcome, pawl.ReasonExited, cmp.Or(r.Summary, "it says that it is "+string(r.Status)))
	end.Summary, end.Blockers = r.Summary, r.Blockers
	return end
}

func ended(outcome pawl.Outcome, reason pawl.EndReason, why string) pawl.AttemptEnded {
	return pawl.AttemptEnded{Outcome: outcome, Reason: reason, Why: why}
}

func exitText(x *pawl.Exit) string {
	switch {
	case x.Signal != "":
		return "ended by " + x.Signal
	case x.Exit == nil:
		return cmp.Or(x.Why, "did not start")
	}
	return fmt.Sprintf("exit code %d", *x.Exit)
}

func checkText(checks []pawl.CheckRun) string {
	var failed []string
	for _, c := range checks {
		if c.Exit != 0 {
			text := fmt.Sprintf("check %s failed (exit code %d)", c.Name, c.Exit)
			if lines := strings.Split(strings.TrimSpace(c.Output), "\n"); lines[len(lines)-1] != "" {
				text += ": " + lines[len(lines)-1]
			}
			failed = append(failed, text)
		}
	}
	return clip(strings.Join(failed, "; "))
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

func (ev evidence) stats() *pawl.AttemptStats {
	if ev.exit == nil {
		return &pawl.AttemptStats{Seconds: max(0, ev.lasted.Seconds())}
	}
	return &pawl.AttemptStats{Seconds: ev.exit.Seconds, CPUSeconds: ev.exit.CPUSeconds, OutputBytes: ev.exit.OutputBytes}
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

// orBlockers returns what blocks an attempt, its summary where it names nothing.
func orBlockers(end pawl.AttemptEnded) []string {
	if len(end.Blockers) > 0 {
		return end.Blockers
	}
	return []string{end.Why}
}

func (e *Engine) failures(w work) int {
	st := e.state.Steps[w.step.ID]
	if w.index < 0 {
		return st.Retries.Failures
	}
	return st.Items.Retries[w.index].Failures
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
