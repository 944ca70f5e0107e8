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

// runStep is a step of the run, with its phase in dotagent's workflow.
type runStep struct {
	*pawl.Step
	phase phase
	state *pawl.StepState
}

// assignPhases gives every step its phase: the one that its plan phase is named after, but never one before that of earlier steps.
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

// since returns when the workflow began: what is older is not of it.
func (m *workflowWriter) since() time.Time {
	if m.State.Import.System != System {
		return m.State.Created
	}
	if !m.isThisWorkflow() {
		return time.Time{}
	}
	return m.flow().started.Add(-skew) // as its agents said it
}

// ofOthers reports whether a file is of an older workflow.
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

// unplanned returns the steps that the plan does not have, in the order in which they began.
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

// checked reports whether acceptance checks of a finished step passed, as the plan has them.
func (k *runStep) checked() bool {
	return k.done() && len(k.checksOf()) > 0 && k.state.Accept == pawl.AcceptOf(k.Step)
}

// checksOf returns the names of the acceptance checks that prove more than that its agent left what it was to leave.
func (k *runStep) checksOf() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(k.Accept)), func(name string) bool { return format.Asks(System, k.Accept[name]) })
}

// leaves reports whether the agent of a step was to leave its report or output itself, and did: pawl writes none in its place.
func (k *runStep) leaves() bool { return k.done() && len(k.checksOf()) < len(k.Accept) }

func (k *runStep) done() bool { return k.state != nil && k.state.Status == pawl.Done }

// skipped reports whether a step was skipped that does something.
func (k *runStep) skipped() bool {
	return k.Gate == nil && k.state != nil && k.state.Status == pawl.Skipped
}

// passedOver returns the steps of a phase that were skipped, and isPartial for it, or isSkipped where no other one was done.
func (m *workflowWriter) passedOver(p phase) (status string, skipped []*runStep) {
	status = isSkipped
	for _, k := range m.in(p) {
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

// in returns the steps of a phase.
func (m *workflowWriter) in(p phase) []*runStep {
	var all []*runStep
	for _, k := range m.works {
		if k.phase == p {
			all = append(all, k)
		}
	}
	return all
}

// last returns the last phase that the plan has steps of.
func (m *workflowWriter) last() phase {
	last := requirements
	for _, k := range m.works {
		last = max(last, k.phase)
	}
	return last
}

// standing returns the phase that the run is in and its status. A phase that is done is followed by the next one, in
// progress, in the same write: what dotagent itself leaves between two phases it would not go on with.
func (m *workflowWriter) standing() (phase, string) {
	status := isRunning
	switch m.Status {
	case pawl.StatusCompleted:
		if len(m.unknownTasks) > 0 {
			return implementation, isRunning
		}
		return m.last(), isComplete
	case pawl.StatusFailed:
		status = isFailed
	}
	for _, k := range m.works {
		if !k.state.Finished() {
			return k.phase, status
		}
	}
	return m.last(), status
}

// completed returns the phases that are done: those before the one that the run is in, and all when the run is. One
// that the plan has no steps of is done as far as the plan goes: the plan says what is asked for, and how.
func (m *workflowWriter) completed() []phaseEntry {
	current, status := m.standing()
	if status == isComplete || m.allDone(current) && len(m.unknownTasks) == 0 {
		current++
	}
	done := []phaseEntry{}
	at := m.State.Created
	for p := requirements; p < current; p++ {
		for _, k := range m.in(p) {
			if k.state != nil {
				at = newest(at, k.state.Ended)
			}
		}
		e := phaseEntry{Phase: p.String(), Completed: instant(at), Output: m.claimedOutput(p)}
		status, skipped := m.passedOver(p)
		for _, k := range skipped {
			e.Status, e.Skipped = status, append(e.Skipped, string(k.ID))
		}
		done = append(done, e)
	}
	return done
}

func (m *workflowWriter) allDone(p phase) bool {
	return !slices.ContainsFunc(m.in(p), func(k *runStep) bool { return !k.state.Finished() })
}

// approved returns what persons approved, the last time of each phase. What a mode or a default answered, nobody approved.
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
