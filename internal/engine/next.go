package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// actionKind is the kind of an action.
type actionKind string

const (
	start    actionKind = "start"     // start an attempt of a step or item
	list     actionKind = "list"      // journal a foreach step's item list
	finish   actionKind = "finish"    // finish a foreach step whose items are done, or a gate step whose gate was answered
	giveUp   actionKind = "give-up"   // fail a step for good
	open     actionKind = "open"      // open a gate
	answer   actionKind = "answer"    // answer a gate by mode or default
	expire   actionKind = "expire"    // expire a gate without a default
	reopen   actionKind = "reopen"    // reopen steps
	complete actionKind = "complete"  // complete the run
	fail     actionKind = "fail"      // fail the run
	spend    actionKind = "spend"     // a budget is used up: ask for more
	wait     actionKind = "wait"      // wait until a time
	stopLive actionKind = "stop-live" // terminate running attempts
)

// action is one thing to do next.
type action struct {
	kind  actionKind
	step  *pawl.Step
	index int // item index; -1 for the step itself
	steps []pawl.StepID
	gate  pawl.Gate
	reply pawl.GateAnswered
	until time.Time
	why   string

	needsPerson bool // wait: only a gate's answer or expiry can continue the run
}

// next decides what to do, from plan and state alone. slots is the maximum number of live attempts. No actions and no
// live attempts means that only a person can continue the run.
func next(plan *runs.Outline, s *pawl.State, now time.Time, slots int) []action {
	if s.Ended() {
		return nil
	}
	d := newDecider(plan, s, now, slots)
	if s.Status == pawl.StatusStopped {
		return d.stopLive()
	}
	d.gates()
	if s.Status != pawl.StatusPaused {
		for _, decide := range []func(){d.budget, d.staleNeeds, d.steps, d.end} {
			if len(d.actions) == 0 {
				decide()
			}
		}
	}
	if wake := earlier(d.retry, d.expiry); !wake.IsZero() {
		d.add(action{kind: wait, until: wake, needsPerson: d.retry.IsZero()})
	}
	return d.actions
}

// decider collects actions. An action that changes what others depend on is returned alone; next is called again after
// it.
type decider struct {
	plan    *runs.Outline
	state   *pawl.State
	now     time.Time
	free    int
	asking  map[question]bool    // questions of open gates
	blocked map[pawl.StepID]bool // blocked steps; "" blocks all
	behind  map[pawl.StepID]bool // cache of allSettled: whether a step and all its needs are finished
	actions []action
	retry   time.Time // when the first retry is due; zero for none
	expiry  time.Time // when the first open gate expires; zero for none
}

func newDecider(plan *runs.Outline, s *pawl.State, now time.Time, slots int) *decider {
	d := &decider{plan: plan, state: s, now: now, free: slots - len(s.Live()), asking: map[question]bool{}, blocked: map[pawl.StepID]bool{}, behind: map[pawl.StepID]bool{}}
	for _, g := range s.OpenGates() {
		d.asking[question{g.Purpose, g.Budget, g.Step}] = true
	}
	for _, b := range s.OpenBlockers() {
		d.blocked[b.Step] = true
	}
	return d
}

// question identifies what a gate asks about.
type question struct {
	purpose pawl.Purpose
	budget  string
	step    pawl.StepID
}

func (d *decider) add(a action) { d.actions = append(d.actions, a) }

// earlier returns the earlier of two times, ignoring zero times.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (d *decider) stopLive() []action {
	if len(d.state.Live()) == 0 {
		return nil
	}
	return []action{{kind: stopLive, why: d.state.Why}}
}

// finished reports whether a step is finished and no imported gate asks about it.
func (d *decider) finished(id pawl.StepID) bool {
	return d.state.Steps[id].Finished() && !d.asking[question{purpose: pawl.ForImported, step: id}]
}

// staleNeeds reopens finished steps whose needs finished again with different outputs.
func (d *decider) staleNeeds() {
	for _, step := range d.plan.InOrder {
		st := d.state.Steps[step.ID]
		if st == nil || st.Status != pawl.Done {
			continue
		}
		for _, need := range d.plan.Needs[step.ID] {
			n := d.state.Steps[need]
			if n != nil && n.Status == pawl.Done && n.Done > st.Done && d.needsChanged(step, st) {
				d.add(action{kind: reopen, steps: []pawl.StepID{step.ID}, why: "outputs of step " + string(need) + " changed"})
				return
			}
		}
	}
}

// needsChanged reports whether the outputs that a finished step needs differ from those it started with.
func (d *decider) needsChanged(step *pawl.Step, st *pawl.StepState) bool {
	return st.Key.NeedsDiffer(pawl.Key{Needs: runs.OutputDigests(d.plan.Needs[step.ID], d.state)}.Compact())
}

func (d *decider) steps() {
	if !d.mayStart() {
		return
	}
	failed := slices.ContainsFunc(d.plan.InOrder, func(step *pawl.Step) bool { // then nothing new starts
		st := d.state.Steps[step.ID]
		return st != nil && st.Status == pawl.FailedForGood
	})
	for _, step := range d.plan.InOrder {
		st := d.state.Steps[step.ID]
		if st.Finished() || st != nil && st.Status == pawl.FailedForGood || !d.ready(step) {
			continue
		}
		if failed && (st == nil || st.Items == nil) {
			continue
		}
		d.step(step, st)
	}
}

func (d *decider) ready(step *pawl.Step) bool {
	return !d.blocked[step.ID] && d.allSettled(d.plan.Needs[step.ID])
}

// allSettled reports whether steps and all their needs are finished. A skipped or imported step may be finished before
// its needs are.
func (d *decider) allSettled(steps []pawl.StepID) bool {
	for _, id := range steps {
		is, known := d.behind[id]
		if !known {
			is = d.finished(id) && d.allSettled(d.plan.Needs[id])
			d.behind[id] = is
		}
		if !is {
			return false
		}
	}
	return true
}

func (d *decider) step(step *pawl.Step, st *pawl.StepState) {
	if st == nil {
		st = &pawl.StepState{Status: pawl.Pending}
	}
	switch {
	case st.Status == pawl.AwaitsReview:
		d.review(step, st)
	case st.Status == pawl.AwaitsGate || d.waitsForStart(step, st):
	case step.Foreach != nil && st.Items == nil:
		if d.free > 0 {
			d.add(action{kind: list, step: step, index: -1})
		}
	case step.Foreach != nil:
		d.items(step, st)
	case step.Gate != nil && len(step.Accept) == 0:
		d.add(action{kind: open, step: step, index: -1})
	default:
		d.try(step, -1, &st.Retries)
	}
}

// waitsForStart asks for approval before a step starts in hands_on mode. It reports whether the answer is pending.
func (d *decider) waitsForStart(step *pawl.Step, st *pawl.StepState) bool {
	if d.state.Mode != pawl.HandsOn || step.Gate != nil || st.Attempts > 0 || st.Items != nil {
		return false
	}
	for _, g := range d.state.Gates {
		if g.Step == step.ID && g.Purpose == pawl.ForStart && g.Answer != nil && g.Answer.Answer == pawl.Approved {
			return false
		}
	}
	d.add(action{kind: open, step: step, index: -1, gate: pawl.Gate{
		Step: step.ID, Type: pawl.HumanVerify, Purpose: pawl.ForStart, Ask: "Start step " + string(step.ID) + "?", Expect: step.Goal,
	}})
	return true
}

// review reopens a step whose review score is below the minimum.
func (d *decider) review(step *pawl.Step, st *pawl.StepState) {
	for _, name := range slices.Sorted(maps.Keys(st.Reviews)) {
		r := st.Reviews[name]
		if minimum, wanted := st.Minimum[name]; wanted && r.Score < minimum {
			why := fmt.Sprintf("%s scored it %d, minimum %d", name, r.Score, minimum)
			if r.Comment != "" {
				why += ": " + r.Comment
			}
			d.add(action{kind: reopen, steps: []pawl.StepID{step.ID}, why: why})
			return
		}
	}
}

func (d *decider) items(step *pawl.Step, st *pawl.StepState) {
	it := st.Items
	live, width := len(st.Live()), step.Parallel
	if width == 0 {
		width = it.Total
	}
	if live == 0 && it.Count+len(it.Failed) == it.Total {
		d.settleItems(step, it)
		return
	}
	for index := 0; index < it.Total && live < width && d.free > 0; index++ {
		if it.Done.At(index) != 0 {
			continue
		}
		if _, failed := it.Failed[index]; failed {
			continue
		}
		t := it.Retries[index]
		if t == nil {
			t = &pawl.Retries{}
		}
		if t.Live == nil && d.try(step, index, t) {
			live++
		}
	}
}

func (d *decider) settleItems(step *pawl.Step, it *pawl.ItemsState) {
	if len(it.Failed) == 0 {
		d.add(action{kind: finish, step: step, index: -1})
		return
	}
	first := slices.Min(slices.Collect(maps.Keys(it.Failed)))
	f := it.Failed[first]
	why := fmt.Sprintf("%d of %d items failed; first %s: %s", len(it.Failed), it.Total, f.Item, f.Why)
	d.add(action{kind: giveUp, step: step, index: -1, why: why})
}

// try starts an attempt if one is due, and reports whether it did.
func (d *decider) try(step *pawl.Step, index int, t *pawl.Retries) bool {
	if t.Live != nil || d.free <= 0 {
		return false
	}
	if last := t.Last; last != nil {
		if g := d.state.Gate(last.Gate); g != nil && g.Open() {
			return false
		}
		if delay := last.RetryAt.Sub(d.now); delay > 0 && delay <= step.Retry.Delay(t.Failures) { // a longer delay means that the clock was set back
			d.retry = earlier(d.retry, last.RetryAt)
			return false
		}
		if needsApproval(step, t) && !d.approved(step, t, last) {
			return false
		}
	}
	d.free--
	d.add(action{kind: start, step: step, index: index})
	return true
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

// approved asks a person whether the work may run again, and reports whether they approved.
func (d *decider) approved(step *pawl.Step, t *pawl.Retries, last *pawl.AttemptEnded) bool {
	ask := fmt.Sprintf("%s (attempt %d) was killed midway and is not idempotent. Run it again? [approve: run again / reject: the run fails", last.Name(), last.Attempt)
	if last.Item == "" {
		ask += " / if it took effect: pawl skip " + string(step.ID)
	}
	ask += "]"
	switch {
	case last.Outcome != pawl.Lost:
		ask = fmt.Sprintf("%s (attempt %d) failed: %s. Run it again?", last.Name(), last.Attempt, last.Why)
	case step.MayRepeat():
		ask = fmt.Sprintf("%s (attempt %d) crashed, %d times in a row. Run it again?", last.Name(), last.Attempt, t.LostInARow)
	}
	g := d.repeatGate(step.ID, last.Item)
	if g == nil || g.Settled { // Settled: the step had failed and was reopened
		gate := pawl.Gate{Step: step.ID, Item: last.Item, Type: pawl.HumanVerify, Purpose: pawl.ForRepeat, Ask: ask, Expect: reasonsOf(last)}
		d.add(action{kind: open, step: step, index: -1, gate: gate})
		return false
	}
	return g.Answer != nil && g.Answer.Answer == pawl.Approved
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

// end ends a run that has nothing left to do.
func (d *decider) end() {
	if len(d.state.Live()) > 0 || !d.retry.IsZero() {
		return
	}
	left := 0
	for _, step := range d.plan.InOrder {
		st := d.state.Steps[step.ID]
		if st != nil && st.Status == pawl.FailedForGood {
			d.add(action{kind: fail, why: fmt.Sprintf("step %s failed: %s", step.ID, st.Why)})
			return
		}
		if !d.finished(step.ID) {
			left++
		}
	}
	for _, g := range d.state.Gates {
		switch {
		case g.Halts() && g.Answer != nil && g.Answer.Answer != pawl.Approved:
			why := "the " + g.Budget + " budget was not raised"
			if g.Purpose == pawl.ForRebuilt {
				why = strings.TrimSuffix("rejected by reviewer: "+g.Answer.Why, ": ")
			}
			d.add(action{kind: fail, why: why})
			return
		case g.Purpose == pawl.ForRebuilt && g.Open():
			return
		}
	}
	if left == 0 {
		d.add(action{kind: complete})
	}
}
