// Package view makes the files that people and agents read from a run's state: STATE.md, CHECKPOINT.md, DECISIONS.md,
// BLOCKERS.md and a SUMMARY for each finished step.
//
// It is pure: the same state gives the same bytes, and no clock is asked. Views are read back only by `pawl recover`,
// where nothing better is left; deleting one loses nothing. Whether an engine is alive cannot be seen in a state: one
// that has not said that it stopped is taken to be there, so whoever knows better renders a state without it.
package view

import (
	"cmp"
	"maps"
	"slices"

	"pawl"
)

// Render returns the views by file name. A name with nil content is a file that should not be there now.
func Render(state *pawl.State, plan *pawl.Plan) map[string][]byte {
	v := newRun(state, plan)
	files := map[string][]byte{
		"STATE.md":      v.stateFile(),
		"CHECKPOINT.md": v.checkpointFile(),
		"DECISIONS.md":  v.decisionsFile(),
		"BLOCKERS.md":   v.blockersFile(),
	}
	for _, s := range v.steps {
		if _, err := pawl.ParseStepID(string(s.ID)); err == nil && s.state != nil {
			files["SUMMARY-"+string(s.ID)+".md"] = v.summaryFile(s)
		}
	}
	return files
}

// run is what all views are made from.
type run struct {
	*pawl.State
	plan    *pawl.Plan
	steps   []step // those of the plan, then others that the state knows
	planned int    // how many are the plan's
	status  pawl.RunStatus
}

// step is a step of the plan with where it stands.
type step struct {
	*pawl.Step
	state *pawl.StepState // nil: nothing has happened to it
}

func newRun(state *pawl.State, plan *pawl.Plan) *run {
	v := &run{State: state, plan: plan, status: state.StatusNow(state.Engine != nil)}
	planned := make(map[pawl.StepID]bool, len(state.Steps))
	for _, s := range plan.Steps() {
		planned[s.ID] = true
		v.steps = append(v.steps, step{s, state.Steps[s.ID]})
	}
	v.planned = len(v.steps)
	for _, id := range unplanned(state, planned) {
		v.steps = append(v.steps, step{&pawl.Step{ID: id, Name: string(id)}, state.Steps[id]})
	}
	return v
}

// unplanned returns the steps that the plan does not have, or no longer has, in the order in which they began.
func unplanned(state *pawl.State, planned map[pawl.StepID]bool) []pawl.StepID {
	var ids []pawl.StepID
	for id := range maps.Keys(state.Steps) {
		if !planned[id] {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b pawl.StepID) int {
		return cmp.Or(state.Steps[a].Started.Compare(state.Steps[b].Started), cmp.Compare(a, b))
	})
	return ids
}

// head begins a file: its title, and what it is. It does not say when, so that a file changes only with what it tells.
func (v *run) head(title string) *page {
	p := &page{}
	p.Grow(1 << 10)
	p.say("# ", title, "\n\n> A view of run `", string(v.Run), "`, written by pawl, which reads nothing from it: ",
		"to edit it changes nothing, to delete it loses nothing.\n")
	return p
}

// interruptions returns the attempts that were ended from outside or lost, and after which nothing has started yet.
func (v *run) interruptions() []*pawl.AttemptEnded {
	var found []*pawl.AttemptEnded
	for _, s := range v.steps {
		if s.state == nil || s.state.Finished() || s.state.Status == pawl.AwaitsReview {
			continue
		}
		found = appendInterrupted(found, &s.state.Retries)
		if s.state.Items == nil {
			continue
		}
		for _, index := range slices.Sorted(maps.Keys(s.state.Items.Retries)) {
			found = appendInterrupted(found, s.state.Items.Retries[index])
		}
	}
	return found
}

func appendInterrupted(found []*pawl.AttemptEnded, t *pawl.Retries) []*pawl.AttemptEnded {
	if t.Live == nil && t.Last != nil && interrupted(t.Last) {
		return append(found, t.Last)
	}
	return found
}

// interrupted reports whether an attempt did not end by itself.
func interrupted(end *pawl.AttemptEnded) bool {
	switch end.Outcome {
	case pawl.Aborted, pawl.Lost, pawl.NotStarted:
		return true
	}
	switch end.Reason {
	case pawl.ReasonTimeout, pawl.ReasonStalled, pawl.ReasonAbort, pawl.ReasonBudget:
		return true
	}
	return false
}

// inReview returns the steps that are done but for their reviews.
func (v *run) inReview() []step {
	return slices.DeleteFunc(slices.Clone(v.steps), func(s step) bool {
		return s.state == nil || s.state.Status != pawl.AwaitsReview
	})
}

// next returns the steps that nothing but their turn, or a person, keeps from being worked on.
func (v *run) next() []step {
	order := v.plan.Order()
	finished := make(map[pawl.StepID]bool, len(v.steps))
	for _, s := range v.steps {
		finished[s.ID] = s.state.Finished()
	}
	var next []step
	for _, s := range v.steps[:v.planned] {
		ready := s.state == nil || s.state.Status == pawl.Pending
		if ready && !slices.ContainsFunc(order[s.ID], func(need pawl.StepID) bool { return !finished[need] }) {
			next = append(next, s)
		}
	}
	return next
}
