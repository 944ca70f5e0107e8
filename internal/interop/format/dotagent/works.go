package dotagent

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// runStep is a step of the run, with its phase in the workflow.
type runStep struct {
	*pawl.Step
	phase phase
	state *pawl.StepState
}

// assignPhases assigns each step the phase that its plan phase is named after, but never an earlier one than that of earlier
// steps.
func (m *workflowWriter) assignPhases() {
	last := requirements
	named := false
	for i := range m.Plan.Phases {
		p := phaseMeant(m.Plan.Phases[i].Name)
		if named {
			p = max(p, last)
		}
		last, named = p, true
		for j := range m.Plan.Phases[i].Steps {
			step := &m.Plan.Phases[i].Steps[j]
			m.works = append(m.works, &runStep{step, p, m.stateOf(step.ID)})
		}
	}
	for _, id := range m.unplanned() {
		m.works = append(m.works, &runStep{&pawl.Step{ID: id}, implementation, m.stateOf(id)})
	}
}

// since returns the start of the workflow. Older files do not belong to it.
func (m *workflowWriter) since() time.Time {
	if m.State.Import.System != System {
		return m.State.Created
	}
	if !m.isThisWorkflow() {
		return time.Time{}
	}
	return m.flow().started.Add(-clockSkew) // by the clock of its agents
}

// ofOthers reports whether a file belongs to an older workflow.
func (m *workflowWriter) ofOthers(f *format.File) bool {
	if root, err := jsonedit.Read(f.Data); err == nil && root.Get("source").Text() == "pawl" {
		return root.Get("workflow_id").Text() != m.id()
	}
	return !f.Changed.IsZero() && f.Changed.Before(m.since())
}

func (m *workflowWriter) stateOf(id pawl.StepID) *pawl.StepState {
	if m.State == nil {
		return nil
	}
	return m.State.Steps[id]
}

// unplanned returns the steps that are not in the plan, in the order in which they started.
func (m *workflowWriter) unplanned() []pawl.StepID {
	if m.State == nil {
		return nil
	}
	ids := slices.DeleteFunc(slices.Collect(maps.Keys(m.State.Steps)), func(id pawl.StepID) bool { return m.Plan.Step(id) != nil })
	slices.SortFunc(ids, func(a, b pawl.StepID) int {
		return cmp.Or(m.State.Steps[a].Started.Compare(m.State.Steps[b].Started), cmp.Compare(a, b))
	})
	return ids
}

// checked reports whether acceptance checks of a finished step passed, as the plan defines them.
func (k *runStep) checked() bool {
	return k.done() && len(k.checkNames()) > 0 && k.state.Accept == pawl.AcceptOf(k.Step)
}

// checkNames returns the names of the acceptance checks that do more than look for the agent's own report or output.
func (k *runStep) checkNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(k.Accept)), func(name string) bool { return format.Asks(System, k.Accept[name]) })
}

// leftOutput reports whether the agent of a step wrote the required report or output itself. Then pawl writes none.
func (k *runStep) leftOutput() bool { return k.done() && len(k.checkNames()) < len(k.Accept) }

func (k *runStep) done() bool { return k.state != nil && k.state.Status == pawl.Done }

// skipped reports whether a step with an action was skipped.
func (k *runStep) skipped() bool {
	return k.Gate == nil && k.state != nil && k.state.Status == pawl.Skipped
}

// skippedSteps returns the skipped steps of a phase, and isPartial, or isSkipped if none of its steps was done.
func (m *workflowWriter) skippedSteps(p phase) (status string, skipped []*runStep) {
	status = isSkipped
	for _, k := range m.stepsIn(p) {
		switch {
		case k.skipped():
			skipped = append(skipped, k)
		case k.Gate == nil:
			status = isPartial
		}
	}
	if skipped == nil {
		return "", nil
	}
	return status, skipped
}

// stepsIn returns the steps of a phase.
func (m *workflowWriter) stepsIn(p phase) []*runStep {
	var all []*runStep
	for _, k := range m.works {
		if k.phase == p {
			all = append(all, k)
		}
	}
	return all
}

// lastPhase returns the last phase that has steps in the plan.
func (m *workflowWriter) lastPhase() phase {
	last := requirements
	for _, k := range m.works {
		last = max(last, k.phase)
	}
	return last
}

// currentPhase returns the phase that the run is in, and its status. When a phase is done, the same write moves on to the
// next one, in progress: dotagent does not resume from the state that it leaves between two phases.
func (m *workflowWriter) currentPhase() (phase, string) {
	status := isRunning
	switch m.Status {
	case pawl.StatusCompleted:
		if len(m.unknownTasks) > 0 {
			return implementation, isRunning
		}
		return m.lastPhase(), isComplete
	case pawl.StatusFailed:
		status = isFailed
	}
	for _, k := range m.works {
		if !k.state.Finished() {
			return k.phase, status
		}
	}
	return m.lastPhase(), status
}

// completed returns the phases that are done: all before the current one, and all of a completed run. A phase without steps
// in the plan counts as done, since the plan does not ask for it.
func (m *workflowWriter) completed() []phaseEntry {
	current, status := m.currentPhase()
	if status == isComplete || m.allDone(current) && len(m.unknownTasks) == 0 {
		current++
	}
	done := []phaseEntry{}
	at := m.State.Created
	for p := requirements; p < current; p++ {
		for _, k := range m.stepsIn(p) {
			if k.state != nil {
				at = newest(at, k.state.Ended)
			}
		}
		e := phaseEntry{Phase: p.String(), Completed: instant(at), Output: m.claimedOutput(p)}
		status, skipped := m.skippedSteps(p)
		for _, k := range skipped {
			e.Status, e.Skipped = status, append(e.Skipped, string(k.ID))
		}
		done = append(done, e)
	}
	return done
}

func (m *workflowWriter) allDone(p phase) bool {
	return !slices.ContainsFunc(m.stepsIn(p), func(k *runStep) bool { return !k.state.Finished() })
}

// approved returns the last approval by a person for each phase. Answers by a mode or a default are not approvals.
func (m *workflowWriter) approved() []approval {
	times := map[phase]time.Time{}
	for i := range m.State.Gates {
		g := &m.State.Gates[i]
		if g.Answer == nil || g.Answer.Auto || g.Purpose != "" || g.Answer.Answer != pawl.Approved && g.Answer.Answer != pawl.Chosen {
			continue
		}
		for _, k := range m.works {
			if k.ID == g.Step {
				times[k.phase] = newest(times[k.phase], g.Closed)
			}
		}
	}
	list := []approval{}
	for _, p := range slices.Sorted(maps.Keys(times)) {
		list = append(list, approval{p.String(), instant(times[p])})
	}
	return list
}
