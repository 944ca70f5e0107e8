package decide

import (
	"cmp"
	"slices"
	"time"

	"pawl"
	"pawl/internal/runs"
)

// NeedsService reports whether a step that may still run needs a service.
func NeedsService(plan *runs.Outline, s *pawl.State, id pawl.StepID) bool {
	return newDecider(plan, s, time.Time{}, 0).needed(id)
}

// needed is NeedsService.
func (d *decider) needed(service pawl.StepID) bool {
	is, known := d.needing[service]
	if !known {
		is = d.hasUser(service)
		d.needing[service] = is
	}
	return is
}

// hasUser reports whether a step uses a service, or may.
func (d *decider) hasUser(service pawl.StepID) bool {
	failed, live := d.failedStep() != "", len(d.state.Steps[service].Live()) > 0
	return slices.ContainsFunc(d.plan.Users[service], func(id pawl.StepID) bool {
		step, st := d.plan.ByID[id], d.state.Steps[id]
		switch {
		case st.Finished():
			return false
		case !failed:
			return live && len(st.Live()) > 0 || !d.isUnneeded(step, st)
		case d.handlesFailure(step) && !st.FailsRun():
			return true
		case len(st.Live()) > 0:
			return step.Service == nil || d.needed(id)
		}
		return !st.FailsRun() && !startsNothing(st) && d.proceeds(step, st)
	})
}

// proceeds reports whether a foreach step that was begun does more after another step failed, once its services are ready. If only a
// person can continue it, the run ends, and no service starts for it.
func (d *decider) proceeds(step *pawl.Step, st *pawl.StepState) bool {
	does, known := d.proceed[step.ID]
	if !known {
		does = !d.blocked[step.ID] && d.mayBeReady(step) && d.hasMore(step, st)
		d.proceed[step.ID] = does
	}
	return does
}

// mayBeReady reports whether everything that a step needs is finished, or will finish or serve it although another step failed.
func (d *decider) mayBeReady(user *pawl.Step) bool {
	for id := range d.allNeeds(user.ID) {
		step, st := d.plan.ByID[id], d.state.Steps[id]
		switch {
		case d.finished(id), len(st.Live()) > 0:
		case st.FailsRun():
			return false
		case d.handlesFailure(step):
		case d.blocked[id] || !slices.Contains(d.plan.Users[id], user.ID) || !d.ofStep(step, st).acts():
			return false
		}
	}
	return true
}

// hasMore reports whether the engine does more for a foreach step without live items: it starts one, or ends the step.
func (d *decider) hasMore(step *pawl.Step, st *pawl.StepState) bool {
	if c := d.ofStep(step, st); c.act != each {
		return c.acts()
	}
	more := ofItems(st.Items).act != ""
	for index := 0; index < st.Items.Total && !more; index++ {
		more = d.ofItem(step, st, index).acts()
	}
	return more
}

// Unneeded reports whether a live attempt is of a service that no step needs any more.
func Unneeded(plan *runs.Outline, s *pawl.State, live *pawl.AttemptState) bool {
	return live.Released != "" || !NeedsService(plan, s, live.Step)
}

// slotsUsed returns the number of live attempts that take a slot. Services take none.
func (d *decider) slotsUsed() int {
	used := 0
	for _, live := range d.live {
		if step := d.plan.ByID[live.Step]; step == nil || step.Service == nil {
			used++
		}
	}
	return used
}

// serves reports whether a step is a service that a step needs.
func (d *decider) serves(step *pawl.Step) bool {
	return step.Service != nil && d.needed(step.ID)
}

// serving reports whether a service is ready and stays so: steps of a later phase wait until it has ended.
func (d *decider) serving(id pawl.StepID) bool {
	return d.state.Steps[id].Serving() != nil && d.needed(id)
}

// serviceStarts reports whether a service is starting that steps need.
func (d *decider) serviceStarts() bool {
	return slices.ContainsFunc(d.plan.Services(), func(step *pawl.Step) bool {
		st := d.state.Steps[step.ID]
		return st != nil && st.Retries.Live != nil && st.Retries.Live.Released == "" && st.Serving() == nil && d.needed(step.ID)
	})
}

// mayServe reports whether a service is starting or may start, although another step failed: nothing that it needs was kept from
// running by that.
func (d *decider) mayServe(step *pawl.Step) bool {
	if d.failedStep() == "" || len(d.state.Steps[step.ID].Live()) > 0 || d.handlesFailure(step) {
		return true
	}
	for id := range d.allNeeds(step.ID) {
		if !d.finished(id) && !d.serving(id) && d.overItself(id) {
			return false
		}
	}
	return true
}

// covered returns the steps that a rejected gate reruns. A service stands for what it needs: it is not at fault, and starts again
// by itself if that changes.
func (d *decider) covered(needs []pawl.StepID) (steps []pawl.StepID) {
	for _, id := range needs {
		if d.plan.ByID[id].Service == nil {
			steps = append(steps, id)
			continue
		}
		for _, behind := range d.covered(d.plan.Needs[id]) {
			if !slices.Contains(steps, behind) && !slices.Contains(needs, behind) {
				steps = append(steps, behind)
			}
		}
	}
	return steps
}

// services reopens services that a step needs again, and settles those that ended after the last step that needed them.
func (d *decider) services() {
	for _, step := range d.plan.Services() {
		st := d.state.Steps[step.ID]
		switch {
		case st != nil && st.Status == pawl.Done && d.serves(step) && d.mayStart():
			d.add(Action{Kind: Reopen, Steps: []pawl.StepID{step.ID}, Why: neededAgain})
		case settles(st) && d.unused(step) && d.mayServe(step): // one that a failure kept from starting stays pending
			d.add(Action{Kind: Settle, Step: step, Index: -1, Why: unneeded})
		}
	}
}

// neverRan reports whether a service is done although it never was ready: no step needed it. It has no key.
func neverRan(step *pawl.Step, st *pawl.StepState) bool {
	return step.Service != nil && st.Key.Definition == ""
}

// settles reports whether a service is done if no step needs it: it never ran, or its last attempt ended. One that was reopened, or
// whose last attempt is outdated, runs, because its definition or inputs changed.
func settles(st *pawl.StepState) bool {
	if st == nil {
		return true
	}
	never, last := st.Attempts == 0 && st.Key.Definition == "", st.Retries.Last
	return st.Status == pawl.Pending && st.Retries.Live == nil && (never || last != nil && last.Reason != pawl.ReasonOutdated)
}

// unused reports whether all steps that need a service are finished, or are services that end.
func (d *decider) unused(step *pawl.Step) bool {
	return !slices.ContainsFunc(d.plan.Users[step.ID], func(id pawl.StepID) bool {
		return !d.state.Steps[id].Finished() && !d.isUnneeded(d.plan.ByID[id], d.state.Steps[id])
	})
}

// isUnneeded reports whether a step is a service that will be done without another attempt: no step needs it.
func (d *decider) isUnneeded(step *pawl.Step, st *pawl.StepState) bool {
	return step.Service != nil && (len(st.Live()) > 0 || settles(st)) && !d.needed(step.ID)
}

// release ends the services that no step needs any more, and those that are outdated. It keeps nothing else from starting.
func (d *decider) release() {
	for _, step := range d.plan.Services() {
		st := d.state.Steps[step.ID]
		if st == nil || st.Retries.Live == nil {
			continue
		}
		why := cmp.Or(st.Retries.Live.Released, d.outdated(step, st.Retries.Live))
		if why != "" || !d.serves(step) {
			d.add(Action{Kind: Release, Step: step, Index: -1, Why: cmp.Or(why, unneeded)})
		}
	}
}

// outdated returns why a running service has to start again: a step that it needs was done again, with other outputs.
func (d *decider) outdated(step *pawl.Step, live *pawl.AttemptState) string {
	for _, need := range d.plan.Needs[step.ID] {
		source := d.given(need, live.Seq)
		if source != "" && d.needsDiffer(step.ID, live.Key) {
			return "outputs of step " + string(source) + " changed"
		}
	}
	return ""
}

// EndedBecause says why a service ended that no step needs any more.
func EndedBecause(live *pawl.AttemptState) string { return cmp.Or(live.Released, unneeded) }

const (
	unneeded    = "no step needs it any longer"
	neededAgain = "a step needs this service"
)
