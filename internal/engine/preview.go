package engine

import (
	"context"
	"fmt"

	"pawl"
	"pawl/internal/runs"
)

// Preview returns the job that the next attempt at an agent step would have now; of a foreach step, that of its first unfinished item.
// It takes no lock and changes nothing.
func Preview(ctx context.Context, cfg Config, r *runs.Run, id pawl.StepID) (pawl.Job, error) {
	if err := runs.CheckStep(r, id); err != nil {
		return pawl.Job{}, err
	}
	e := &Engine{cfg: cfg.withDefaults(), run: r.State.Run, log: r.Log, state: r.State, plan: runs.NewOutline(r.Plan), text: r.Text, lists: map[pawl.StepID]workList{}, mirror: noMirror{}}
	if m := e.cfg.Mirror(e.state, e.log, nil); m != nil {
		e.mirror = m
	}
	e.inherit()
	step := e.plan.ByID[id]
	if step.Agent == nil {
		return pawl.Job{}, runs.UsageError("", "step %s is not an agent step", id)
	}
	index, err := e.firstUnfinished(step)
	if err != nil {
		return pawl.Job{}, err
	}
	w, err := e.workOf(step, index)
	if err != nil {
		return pawl.Job{}, err
	}
	key, err := e.keyOf(w)
	if err != nil {
		return pawl.Job{}, fmt.Errorf("inputs: %w", err)
	}
	ref := pawl.AttemptRef{Step: id, Item: w.Item(), Index: max(index, 0), Attempt: e.nextAttempt(w)}
	return e.job(ctx, w, ref, key)
}

// firstUnfinished returns the index of the first unfinished item of a foreach step, -1 for another step.
func (e *Engine) firstUnfinished(step *pawl.Step) (int, error) {
	st := e.state.Steps[step.ID]
	if step.Foreach == nil {
		return -1, nil
	}
	for index := 0; st != nil && st.Items != nil && index < st.Items.Total; index++ {
		_, failed := st.Items.Failed[index]
		_, skipped := st.Items.Skipped[index]
		if !failed && !skipped && st.Items.Done.At(index) == 0 {
			return index, nil
		}
	}
	return 0, runs.UsageError("", "step %s has no unfinished items that it has listed", step.ID)
}
