package decide

import (
	"slices"

	"pawl"
	"pawl/internal/expression"
)

// byCondition says what the condition of a step decides, if what the step needs runs before: then the engine evaluates it later.
func (f *forecast) byCondition(x *Decision, step *pawl.Step, st *pawl.StepState) {
	c := conditionOf(f.plan, step)
	skipped := st != nil && st.Status == pawl.Skipped && st.Condition != ""
	switch {
	case c == nil && !skipped, x.Do == Wait, x.Do == Fail, f.state.Ended():
		return
	case skipped && f.obstacle(step, st) != "", st.Finished() && !skipped:
		return
	case c == nil:
		f.reopened(x, step, st, conditionRemoved)
		return
	case underWay(st):
		return
	}
	if later := f.unknown(c); len(later) > 0 {
		x.open, x.Unless = true, append(x.Unless, later...)
		x.Why += "; its condition " + c.text + " decides"
		return
	}
	switch holds, err := f.holds(step, c); {
	case err != nil:
		x.Do, x.Why = Fail, conditionError(c, err)
	case holds && skipped:
		f.reopened(x, step, st, conditionHolds(c))
	case !holds && !skipped:
		x.Do, x.Why = Skip, "will be skipped: if "+c.text
	}
}

// addOpen adds the needs about which a condition decides that is not known yet, and what they depend on.
func (f *forecast) addOpen(x *Decision, st *pawl.StepState) {
	if f.state.Ended() || st != nil && st.Status == pawl.Skipped && st.Condition == "" {
		return
	}
	for _, need := range f.plan.Needs[x.Step] {
		n := f.of(f.plan.ByID[need])
		if !n.open {
			continue
		}
		x.open = true
		for _, id := range append([]pawl.StepID{need}, n.Unless...) {
			if !slices.Contains(x.Unless, id) {
				x.Unless = append(x.Unless, id)
			}
		}
	}
}

// reopened says what happens to a step that was skipped, once it is pending again.
func (f *forecast) reopened(x *Decision, step *pawl.Step, st *pawl.StepState, why string) {
	again := *st
	again.Status = pawl.Pending
	if x.set(f.rules.ofStep(step, &again)); x.Do == Run {
		x.Why = why
	}
}

// holds evaluates a condition as if all that runs before had succeeded.
func (f *forecast) holds(step *pawl.Step, c *condition) (bool, error) {
	if c.err != nil {
		return false, c.err
	}
	return c.program.Holds(expression.Values{
		Params: f.plan.Values, Run: f.rules.run(), Step: f.ended, Success: !f.behindFailure(f.plan.Needs[step.ID]),
	})
}

// unknown returns the steps that run before and whose results the condition needs.
func (f *forecast) unknown(c *condition) []pawl.StepID {
	if c.program == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.program.Results()), func(id pawl.StepID) bool { return !f.of(f.plan.ByID[id]).changes() })
}

// changes reports whether an attempt at a step will end meanwhile, or may.
func (x *Decision) changes() bool {
	return x.Do == Run || x.Do == Attach || len(x.Unless) > 0
}

// ended returns what conditions see of a step then.
func (f *forecast) ended(id pawl.StepID) expression.Step {
	switch x, st := f.of(f.plan.ByID[id]), f.state.Steps[id]; {
	case f.fails(x):
		return expression.Step{Status: expression.StatusFailed, Exit: -1}
	case x.Do == Run, x.Do == Attach:
		return expression.Step{Status: expression.StatusDone}
	case x.Do == Skip && !st.Finished():
		return expression.Step{Status: expression.StatusSkipped, Exit: -1, Why: pawl.ConditionFalse(conditionOf(f.plan, f.plan.ByID[id]).text)}
	}
	return stepValues(f.plan, f.state, id)
}

// behindFailure is that of the decider for what will be.
func (f *forecast) behindFailure(steps []pawl.StepID) bool {
	for _, id := range steps {
		is, known := f.failures[id]
		if !known {
			x := f.of(f.plan.ByID[id])
			is = x.Do == Fail || f.fails(x) && !f.plan.ByID[id].ContinueOnError || f.behindFailure(f.plan.Needs[id])
			f.failures[id] = is
		}
		if is {
			return true
		}
	}
	return false
}

// fails reports whether a foreach step fails when its last items have ended: some have failed.
func (f *forecast) fails(x *Decision) bool {
	return (x.Do == Run || x.Do == Attach) && len(x.ByItem[Fail]) > 0 && len(x.ByItem[Ask])+len(x.ByItem[Wait]) == 0
}

// over is that of the decider for what will be.
func (f *forecast) over(id pawl.StepID) bool {
	is, known := f.ends[id]
	if !known {
		is = f.overItself(id) && !slices.ContainsFunc(f.plan.Needs[id], func(need pawl.StepID) bool { return !f.over(need) })
		f.ends[id] = is
	}
	return is
}

func (f *forecast) overItself(id pawl.StepID) bool {
	x, st := f.of(f.plan.ByID[id]), f.state.Steps[id]
	switch {
	case x.Do == Fail, f.fails(x), f.settles(x):
		return true
	case f.rules.serves(f.plan.ByID[id]):
		return !f.rules.mayServe(f.plan.ByID[id])
	case f.rules.failedStep() == "", len(st.Live()) > 0, !startsNothing(st):
		return false
	}
	return !f.rules.handlesFailure(f.plan.ByID[id])
}
