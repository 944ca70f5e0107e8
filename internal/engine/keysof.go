package engine

import (
	"pawl"
)

// keyOf returns the key that the work has now.
func (e *Engine) keyOf(w work) (pawl.Key, error) {
	key, err := keyNow(e.cfg.Project.Root, e.plan.Plan, w, e.needsOf(w))
	return key.Compact(), err
}

// stepKey returns the key of a step itself: for a foreach step, what all its items share.
func (e *Engine) stepKey(step *pawl.Step) (pawl.Key, error) {
	w := work{step: step, index: -1}
	w.vars = pathVars(e.state.Origin(), w)
	return e.keyOf(w)
}

// needsOf returns what the steps give that the work needs. Items share their step's needs, and have none of their own.
func (e *Engine) needsOf(w work) map[pawl.StepID]string {
	if w.index >= 0 {
		return nil
	}
	return given(e.plan.needs[w.step.ID], e.state)
}
