package engine

import (
	"pawl"
	"pawl/internal/runs"
)

// keyOf returns the key that the work has now.
func (e *Engine) keyOf(w runs.Work) (pawl.Key, error) {
	key, err := runs.CurrentKey(e.cfg.Project.Root, e.plan.Plan, w, e.needsOf(w))
	return key.Compact(), err
}

// stepKey returns the key of a step itself: for a foreach step, what all its items share.
func (e *Engine) stepKey(step *pawl.Step) (pawl.Key, error) {
	w := runs.Work{Step: step, Index: -1}
	w.Vars = runs.PathVars(e.state.Origin(), w)
	return e.keyOf(w)
}

// needsOf returns what the steps give that the work needs. Items share their step's needs, and have none of their own.
func (e *Engine) needsOf(w runs.Work) map[pawl.StepID]string {
	if w.Index >= 0 {
		return nil
	}
	return runs.OutputDigests(e.plan.Needs[w.Step.ID], e.state)
}
