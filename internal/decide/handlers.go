package decide

import (
	"slices"

	"pawl"
)

// Ends reports whether the action ends the run.
func (a Action) Ends() bool { return a.Kind == Complete || a.Kind == FailRun }

// Status returns the status in which an action that Ends the run leaves it.
func (a Action) Status() pawl.RunStatus {
	if a.Kind == Complete {
		return pawl.StatusCompleted
	}
	return pawl.StatusFailed
}

// conclude ends the run, after its handler for that has run. The handler's own result does not matter. A paused run starts none.
func (d *decider) conclude(end Action) {
	step := d.plan.Handler(end.Status())
	if step == nil {
		d.add(end)
		return
	}
	step = d.plan.ByID[step.ID]
	st := d.state.Steps[step.ID]
	if st == nil {
		st = &pawl.StepState{Status: pawl.Pending}
	}
	switch {
	case st.Finished() || st.Status == pawl.FailedForGood:
		end.Step, end.Index = step, -1
		d.add(end)
	case d.state.Status == pawl.StatusPaused || d.blocked[step.ID] || st.Status == pawl.AwaitsGate || len(d.live) > 0:
	default:
		switch c := d.ofTry(step, st, &st.Retries); {
		case !c.until.IsZero():
			d.retry = earlier(d.retry, c.until)
		case c.act == Open:
			d.open(step, c)
		case c.act == Start:
			d.add(Action{Kind: Start, Step: step, Index: -1, Why: end.Why})
		}
	}
}

// handling reports whether an attempt of a handler is live. Nothing else starts meanwhile.
func (d *decider) handling() bool {
	return slices.ContainsFunc(d.live, func(a *pawl.AttemptState) bool { return d.plan.HandlesEnd(a.Step) })
}

// resetHandlers reopens handlers that have run if the run continues instead of ending: a person queued a step, or the plan has
// more. Each handler runs once for each end.
func (d *decider) resetHandlers() {
	starts := func(a Action) bool {
		return (a.Kind == Start || a.Kind == List || a.Kind == Open) && a.Step != nil && !d.plan.HandlesEnd(a.Step.ID)
	}
	if !slices.ContainsFunc(d.actions, starts) {
		return
	}
	var ran []pawl.StepID
	for _, step := range d.plan.Handlers() {
		if st := d.state.Steps[step.ID]; begun(st) && len(st.Live()) == 0 {
			ran = append(ran, step.ID)
		}
	}
	if len(ran) > 0 {
		d.actions = []Action{{Kind: Reopen, Steps: ran, Why: "the run continues"}}
	}
}

// begun reports whether a handler has run, or failed and waits for its next attempt.
func begun(st *pawl.StepState) bool {
	return st != nil && (st.Status != pawl.Pending || st.Retries.Failures+st.Retries.LostInARow > 0)
}
