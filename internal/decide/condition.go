package decide

import (
	"cmp"
	"slices"

	"pawl"
	"pawl/internal/expression"
	"pawl/internal/runs"
)

// condition is the compiled condition of a step.
type condition struct {
	text    string
	program *expression.Program // nil: it cannot be compiled
	err     error
}

// conditionOf compiles the condition of a step, once per outline. It returns nil if the step has none.
func conditionOf(plan *runs.Outline, step *pawl.Step) *condition {
	if step.If == "" {
		return nil
	}
	if c, ok := plan.Conditions[step.ID].(*condition); ok {
		return c
	}
	c := &condition{}
	c.text = step.If.Text()
	c.program, c.err = expression.ConditionOf(plan.Plan, step, plan.Needs)
	plan.Conditions[step.ID] = c
	return c
}

// handlesFailure reports whether a step has a condition with success(), failure() or always(). Such a step can start after
// another one has failed.
func (d *decider) handlesFailure(step *pawl.Step) bool {
	c := conditionOf(d.plan, step)
	return c != nil && c.program != nil && c.program.AsksStatus()
}

// holds evaluates the condition of a step whose needs have ended.
func (d *decider) holds(step *pawl.Step, c *condition) (bool, error) {
	if c.err != nil {
		return false, c.err
	}
	if d.assume != nil {
		if holds, assumed := d.assume(step, c); assumed {
			return holds, nil
		}
	}
	return c.program.Holds(expression.Values{
		Params: d.plan.Values, Run: d.run(), Step: d.ended, Success: !d.behindFailure(d.plan.Needs[step.ID]),
	})
}

func (d *decider) run() expression.Run {
	return expression.Run{Name: d.plan.Name, Mode: string(cmp.Or(d.state.Mode, d.plan.Mode))}
}

// ended returns what conditions see of a step.
func (d *decider) ended(id pawl.StepID) expression.Step {
	return stepValues(d.plan, d.state, id)
}

// stepValues returns what conditions see of a step. A service looks the same while it is ready and after it has ended: a condition must
// not change because nothing needs the service any more.
func stepValues(plan *runs.Outline, s *pawl.State, id pawl.StepID) expression.Step {
	x := expression.Step{Status: expression.StatusPending, Exit: -1}
	st := s.Steps[id]
	switch step := plan.ByID[id]; {
	case st == nil:
		return x
	case step != nil && step.Service != nil && (st.Status == pawl.Done || st.Serving() != nil):
		return expression.Step{Status: expression.StatusDone}
	}
	if st.Serving() != nil { // as after its end, so that the condition of a step that uses it has one value
		x.Status, x.Exit = expression.StatusDone, 0
	}
	switch st.Status {
	case pawl.Done:
		x.Status, x.Exit = expression.StatusDone, 0
	case pawl.FailedForGood:
		x.Status = expression.StatusFailed
		if last := st.Retries.Last; last != nil && last.Outcome == pawl.Failed && last.Exit != nil {
			x.Exit = *last.Exit
		}
	case pawl.Skipped:
		x.Status = expression.StatusSkipped
	}
	x.Summary, x.Why = st.Summary, st.Why
	for _, g := range slices.Backward(s.Gates) {
		if g.Step == id && g.Purpose == "" && g.Answer != nil {
			x.Answer = cmp.Or(g.Answer.Option, string(g.Answer.Answer))
			break
		}
	}
	return x
}

// behindFailure reports whether one of the steps, or one that their needs lead to, failed, not counting those with
// continue_on_error.
func (d *decider) behindFailure(steps []pawl.StepID) bool {
	for _, id := range steps {
		is, known := d.failures[id]
		if !known {
			is = d.state.Steps[id].FailsRun() || d.behindFailure(d.plan.Needs[id])
			d.failures[id] = is
		}
		if is {
			return true
		}
	}
	return false
}

// byCondition decides by the condition of a step whether it runs. It returns nil if it does.
func (d *decider) byCondition(step *pawl.Step, st *pawl.StepState) *Action {
	c := conditionOf(d.plan, step)
	if c == nil || underWay(st) || st != nil && st.Status == pawl.FailedForGood {
		return nil
	}
	switch holds, err := d.holds(step, c); {
	case err != nil:
		return &Action{Kind: GiveUp, Step: step, Index: -1, Why: conditionError(c, err)}
	case !holds:
		return &Action{Kind: SkipStep, Step: step, Index: -1, Condition: c.text}
	}
	return nil
}

// underWay reports whether a step starts or continues whatever its condition is: a person asked for it, it is running, a foreach step
// was begun, or only a review is missing.
func underWay(st *pawl.StepState) bool {
	return st != nil && (st.Retries.Again || st.Status == pawl.AwaitsReview || st.Items != nil || len(st.Live()) > 0)
}

func conditionError(c *condition, err error) string {
	return "its condition " + c.text + " cannot be evaluated: " + err.Error()
}

// reconsider decides again about steps that their conditions skipped: a dependency has ended again, or the plan has another
// condition.
func (d *decider) reconsider() {
	failed := d.failedStep() != ""
	for i, step := range d.plan.InOrder {
		st := d.states[i]
		if st == nil || st.Status != pawl.Skipped || st.Condition == "" || failed && !d.handlesFailure(step) || !d.ready(i) {
			continue
		}
		c := conditionOf(d.plan, step)
		if c == nil {
			d.add(Action{Kind: Reopen, Steps: []pawl.StepID{step.ID}, Why: conditionRemoved})
			return
		}
		switch holds, err := d.holds(step, c); {
		case err != nil:
		case holds:
			d.add(Action{Kind: Reopen, Steps: []pawl.StepID{step.ID}, Why: conditionHolds(c)})
			return
		case c.text != st.Condition:
			d.add(Action{Kind: SkipStep, Step: step, Index: -1, Condition: c.text})
		}
	}
}

const conditionRemoved = "its condition was removed"

func conditionHolds(c *condition) string { return "its condition " + c.text + " is true now" }

// over reports whether a step and all its needs have ended, or will not start because another step failed. Then steps that
// handle failures may start behind it.
func (d *decider) over(id pawl.StepID) bool {
	is, known := d.ends[id]
	if !known {
		is = d.overItself(id) && !slices.ContainsFunc(d.plan.Needs[id], func(need pawl.StepID) bool { return !d.over(need) })
		d.ends[id] = is
	}
	return is
}

func (d *decider) overItself(id pawl.StepID) bool {
	st := d.state.Steps[id]
	switch {
	case d.finished(id), st.FailsRun():
		return true
	case d.serves(d.plan.ByID[id]):
		return d.serving(id) || !d.mayServe(d.plan.ByID[id])
	case d.failedStep() == "", len(st.Live()) > 0, !startsNothing(st):
		return false
	}
	return !d.handlesFailure(d.plan.ByID[id])
}

// outstanding reports whether a step that handles failures has yet to run.
func (d *decider) outstanding() bool {
	return slices.ContainsFunc(d.plan.InOrder, func(step *pawl.Step) bool {
		st := d.state.Steps[step.ID]
		return !st.Finished() && !st.FailsRun() && d.handlesFailure(step)
	})
}

// toleratedText counts the steps that failed without failing the run, "" for none.
func (d *decider) toleratedText() string {
	n := 0
	for _, step := range d.plan.InOrder {
		if d.state.Steps[step.ID].Tolerated() {
			n++
		}
	}
	return pawl.ToleratedText(n)
}
