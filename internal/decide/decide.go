package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// Do is what pawl does with a step or item.
type Do string

// The answers of the decider.
const (
	Skip    Do = "skip"    // it is finished and stays so
	Run     Do = "run"     // an attempt starts
	Attach  Do = "attach"  // its attempt is running, or its records decide
	Recheck Do = "recheck" // it is finished, and its changed acceptance checks run
	Ask     Do = "ask"     // a person decides first
	Wait    Do = "wait"    // something else stands in the way
	Fail    Do = "fail"    // it failed and is not retried
)

// decision is what to do with one step or item, apart from what it needs and from free slots.
type decision struct {
	do    Do
	why   string
	act   Kind      // what the engine does for it now; "" for nothing
	gate  pawl.Gate // for open; without a question: the step's own gate
	until time.Time // when the retry is due; zero for now
}

// acts reports whether the engine acts on a decision, now or when a retry is due.
func (c decision) acts() bool { return c.act != "" || !c.until.IsZero() }

// ofStep decides about a step.
func (d *decider) ofStep(step *pawl.Step, st *pawl.StepState) decision {
	if st == nil {
		st = &pawl.StepState{Status: pawl.Pending}
	}
	switch {
	case st.Finished():
		return decision{do: Skip, why: upToDate(st)}
	case st.Status == pawl.FailedForGood:
		return decision{do: Fail, why: "failed: " + st.Why}
	case st.Status == pawl.AwaitsReview:
		return d.ofReview(step.ID, st)
	case st.Status == pawl.AwaitsGate:
		return d.atGate(step.ID)
	}
	if gate := d.startGate(step, st); gate != nil {
		return *gate
	}
	switch {
	case step.Foreach != nil && st.Items == nil:
		return decision{do: Run, act: List, why: d.pending(step.ID, st, nil)}
	case step.Foreach != nil:
		return decision{do: Run, act: each}
	case step.Gate != nil && len(step.Accept) == 0:
		return decision{do: Ask, act: Open, why: "asks: " + step.Gate.Ask}
	}
	return d.ofTry(step, st, &st.Retries)
}

// ofReview reopens a step whose review score is below the minimum.
func (d *decider) ofReview(id pawl.StepID, st *pawl.StepState) decision {
	if why := st.ScoredTooLow(); why != "" {
		return decision{do: Run, act: Reopen, why: why}
	}
	return decision{do: Wait, why: "waiting for review: " + strings.Join(runs.ReviewCommands(id, st, d.named), "; ")}
}

// atGate says which gate a step waits at.
func (d *decider) atGate(id pawl.StepID) decision {
	for _, g := range d.state.OpenGates() {
		if g.Step == id {
			return decision{do: Ask, why: waitingFor(g)}
		}
	}
	return decision{do: Ask, why: "waiting for approval"}
}

// startGate asks for approval before a step starts in hands_on mode. It returns nil if none is needed.
func (d *decider) startGate(step *pawl.Step, st *pawl.StepState) *decision {
	if d.state.Mode != pawl.HandsOn || step.Gate != nil || st.Attempts > 0 || st.Items != nil {
		return nil
	}
	for _, g := range d.state.Gates {
		if g.Step == step.ID && g.Purpose == pawl.ForStart && g.Answer != nil && g.Answer.Answer == pawl.Approved {
			return nil
		}
	}
	gate := pawl.Gate{
		Step: step.ID, Type: pawl.HumanVerify, Purpose: pawl.ForStart, Ask: "Start step " + string(step.ID) + "?", Expect: step.Goal,
	}
	return &decision{do: Ask, act: Open, gate: gate, why: "mode hands_on: asks before it starts"}
}

// ofTry decides whether another attempt of a step or item starts. st is the state of the step.
func (d *decider) ofTry(step *pawl.Step, st *pawl.StepState, t *pawl.Retries) decision {
	last := t.Last
	switch {
	case t.Live != nil:
		return decision{do: Attach, why: "interrupted: will be re-attached or checked"}
	case last == nil:
		return decision{do: Run, act: Start, why: d.pending(step.ID, st, nil)}
	}
	if g := d.state.Gate(last.Gate); g != nil && g.Open() {
		return decision{do: Ask, why: waitingFor(g)}
	}
	why := d.pending(step.ID, st, last)
	if needsApproval(step, t) {
		return d.ofRepeat(step, t, last, why)
	}
	if delay := last.RetryAt.Sub(d.now); delay > 0 && delay <= step.Retry.Delay(t.Failures) { // a longer delay means that the clock was set back
		return decision{do: Run, until: last.RetryAt, why: why}
	}
	return decision{do: Run, act: Start, why: why}
}

// needsApproval reports whether a person must approve a retry: the last verdict was human_review (unless retries were
// exhausted and the step, safe to rerun, was reopened), or an attempt that is not safe to rerun was lost, or attempts
// were lost too often in a row.
func needsApproval(step *pawl.Step, t *pawl.Retries) bool {
	if t.Again {
		return false // a person asked for it
	}
	if v := t.Last.Verdict; v != nil && v.Word == pawl.HumanReview && !(t.Last.Final && step.MayRepeat()) {
		return true
	}
	return t.Last.Outcome == pawl.Lost && !step.MayRepeat() || t.LostInARow >= resume.MaxLosses
}

// ofRepeat asks a person whether the work may run again, unless that was asked and answered.
func (d *decider) ofRepeat(step *pawl.Step, t *pawl.Retries, last *pawl.AttemptEnded, why string) decision {
	g := d.repeatGate(step.ID, last.Item)
	switch {
	case g == nil || g.Settled || g.Answer != nil && g.Answer.Answer == pawl.Chosen: // Settled: the step had failed and was reopened; Chosen: it was marked as done, and reopened
		ask := repeatQuestion(step, t, last)
		gate := pawl.Gate{Step: step.ID, Item: last.Item, Type: pawl.HumanVerify, Purpose: pawl.ForRepeat, Ask: ask, Expect: reasonsOf(last)}
		if last.Outcome == pawl.Lost && !step.MayRepeat() {
			gate.Options = []string{runs.TookEffect}
		}
		return decision{do: Ask, act: Open, gate: gate, why: "asks whether to run again: " + last.Why}
	case g.Answer != nil && g.Answer.Answer == pawl.Approved:
		return decision{do: Run, act: Start, why: why}
	}
	return decision{do: Ask, why: waitingFor(g)}
}

func repeatQuestion(step *pawl.Step, t *pawl.Retries, last *pawl.AttemptEnded) string {
	switch {
	case last.Outcome != pawl.Lost:
		return fmt.Sprintf("%s (attempt %d) failed: %s. Run it again?", last.Title(), last.Attempt, last.Why)
	case step.MayRepeat():
		return fmt.Sprintf("%s (attempt %d) crashed, %d times in a row. Run it again?", last.Title(), last.Attempt, t.LostInARow)
	}
	return fmt.Sprintf("%s (attempt %d) was killed midway and is not idempotent. Run it again? [approve: run again / reject: the run fails / %q: mark as done]", last.Title(), last.Attempt, runs.TookEffect)
}

// repeatGate returns the newest gate that asks whether work may run again, nil for none. It does not compare the
// question: another version of pawl may have worded it differently.
func (d *decider) repeatGate(step pawl.StepID, item pawl.ItemID) *pawl.GateState {
	for i := range slices.Backward(d.state.Gates) {
		if g := &d.state.Gates[i]; g.Purpose == pawl.ForRepeat && g.Step == step && g.Item == item {
			return g
		}
	}
	return nil
}

// reasonsOf returns the end of the attempt and the reasons of its verdict.
func reasonsOf(last *pawl.AttemptEnded) string {
	if last.Verdict == nil {
		return last.Why
	}
	return last.Why + " (" + strings.Join(last.Verdict.Reasons, "; ") + ")"
}

// ofItem decides about the item at an index of a foreach step.
func (d *decider) ofItem(step *pawl.Step, st *pawl.StepState, index int) decision {
	it := st.Items
	if it.Done.At(index) != 0 {
		return decision{do: Skip, why: "up to date"}
	}
	if s, skipped := it.Skipped[index]; skipped {
		return decision{do: Skip, why: cmp.Or(s.Why, "skipped")}
	}
	if f, failed := it.Failed[index]; failed {
		return decision{do: Fail, why: "failed: " + f.Why}
	}
	t := it.Retries[index]
	if t == nil {
		t = &pawl.Retries{}
	}
	return d.ofTry(step, st, t)
}

// ofItems decides what comes after the items: nothing while some are left, then finish or give up.
func ofItems(it *pawl.ItemsState) decision {
	switch {
	case it.Left() > 0:
		return decision{do: Run}
	case len(it.Failed) == 0:
		return decision{do: Run, act: Finish, why: "all items are done"}
	}
	return decision{do: Fail, act: GiveUp, why: failedItems(it)}
}

// maxFailed is how many failed items are named.
const maxFailed = 5

// failedItems names the first failed items of a step and why they failed.
func failedItems(it *pawl.ItemsState) string {
	indexes := slices.Sorted(maps.Keys(it.Failed))
	names := make([]string, 0, maxFailed+1)
	for _, index := range indexes[:min(len(indexes), maxFailed)] {
		f := it.Failed[index]
		names = append(names, f.ItemName()+": "+f.Why)
	}
	if more := len(indexes) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more (pawl why --items)", more))
	}
	return fmt.Sprintf("%d of %d items failed: %s", len(indexes), it.Size(), strings.Join(names, "; "))
}
