package engine

import (
	"pawl"
	"pawl/internal/runs"
)

// keyOf returns the current key of the work.
func (e *Engine) keyOf(w runs.Work) (pawl.Key, error) {
	key, err := runs.CurrentKey(e.cfg.Project.Root, e.plan.Plan, w, e.needsOf(w))
	return key.Compact(), err
}

// stepKey returns the key of a step. For a foreach step this is what all items share.
func (e *Engine) stepKey(step *pawl.Step) (pawl.Key, error) {
	w := runs.Work{Step: step, Index: -1}
	w.Vars = runs.PathVars(e.state.Origin(), w)
	return e.keyOf(w)
}

// needsOf returns the output digests of the steps that the work needs. Items have none of their own; they share their
// step's.
func (e *Engine) needsOf(w runs.Work) map[pawl.StepID]string {
	if w.Index >= 0 {
		return nil
	}
	return runs.OutputDigests(e.plan.Needs, e.plan.Needs[w.Step.ID], e.state)
}
