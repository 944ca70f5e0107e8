package projectstate

import (
	"cmp"
	"slices"

	"pawl"
)

// rowPosition is the run's position in the columns of a row.
type rowPosition struct {
	task, agent, action, phase string
}

// position returns the run's position: its running or next task, and its last action.
func (w *rowWriter) position() rowPosition {
	id := w.current()
	at := rowPosition{action: w.action(id), phase: w.State.Position(w.Plan).PhaseName}
	if w.State.Status == pawl.StatusCompleted || id == "" {
		return at
	}
	at.task, at.agent = w.nameOf(id), "pawl"
	if s := w.Plan.Step(id); s != nil {
		at.agent = w.agentOf(s)
	}
	return at
}

// agentOf returns the agent of a step. It is never empty: a task without an agent must not be assigned.
func (w *rowWriter) agentOf(s *pawl.Step) string {
	switch {
	case s.Gate != nil:
		return "person"
	case s.Agent != nil && s.Agent.Role != "":
		return s.Agent.Role
	case w.began(s.ID):
	case w.entry != nil && w.entry.agent != "" && w.entry.task == w.nameOf(s.ID):
		return w.entry.agent // assigned by the table's own program
	}
	if s.Agent != nil {
		return string(s.Agent.Use)
	}
	return "pawl"
}

// began reports whether pawl has started a step itself.
func (w *rowWriter) began(id pawl.StepID) bool {
	st := w.State.Steps[id]
	return st != nil && st.Attempts > 0
}

// current returns the step that is running or in doubt, or that stopped the run, else the next one; "" for none.
func (w *rowWriter) current() pawl.StepID {
	if live := w.State.Live(); len(live) > 0 {
		first := slices.MinFunc(live, func(a, b *pawl.AttemptState) int { return cmp.Compare(a.Seq, b.Seq) })
		return first.Step
	}
	for _, status := range []pawl.StepStatus{pawl.Running, pawl.FailedForGood, pawl.AwaitsGate, pawl.AwaitsReview} {
		for _, s := range w.Plan.Steps() {
			if st := w.State.Steps[s.ID]; st != nil && st.Status == status {
				return s.ID
			}
		}
	}
	if p := w.State.Position(w.Plan); !p.Complete {
		return p.StepID
	}
	return ""
}

// action returns the last action.
func (w *rowWriter) action(current pawl.StepID) string {
	s := w.State
	if open := s.OpenGates(); len(open) > 0 {
		return "Gate: " + open[0].Ask
	}
	last, latest := pawl.StepID(""), pawl.Seq(0)
	for id, st := range s.Steps {
		if st.Ended.IsZero() {
			continue
		}
		if old := s.Steps[last]; old == nil || st.Ended.After(old.Ended) || st.Ended.Equal(old.Ended) && (st.Done > latest || st.Done == latest && id < last) {
			last, latest = id, st.Done
		}
	}
	for _, live := range s.Live() {
		if live.Step == current {
			if live.Progress != nil && live.Progress.Text != "" {
				return live.Progress.Text
			}
			return "Assigned " + w.nameOf(current) + " to " + w.stepAgent(current)
		}
	}
	if s.Status == pawl.StatusPaused || s.Status == pawl.StatusStopped {
		return why("Paused", s.Why)
	}
	st := s.Steps[last]
	if g := lastClosed(s); g != nil && (st == nil || g.Closed.After(st.Ended)) {
		return "Gate " + w.answer(g)["status"] + ": " + g.Ask
	}
	switch {
	case s.Status == pawl.StatusFailed && (st == nil || st.Status != pawl.FailedForGood):
		return why("Failed", s.Why)
	case st == nil:
		return ""
	case st.Status == pawl.FailedForGood:
		return why("Failed "+w.nameOf(last), st.Why)
	case st.Status == pawl.Skipped:
		return why("Skipped "+w.nameOf(last), st.Why)
	case st.Status == pawl.Done || st.Status == pawl.AwaitsReview:
		return "Completed " + w.nameOf(last)
	}
	return ""
}

// lastClosed returns the gate that was closed last since the import, nil for none.
func lastClosed(s *pawl.State) *pawl.GateState {
	var last *pawl.GateState
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Closed.After(s.Created) && (last == nil || g.Closed.After(last.Closed)) {
			last = g
		}
	}
	return last
}

func (w *rowWriter) stepAgent(id pawl.StepID) string {
	if s := w.Plan.Step(id); s != nil {
		return w.agentOf(s)
	}
	return "pawl"
}

func why(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

// nameOf returns the id of a step in the table.
func (w *rowWriter) nameOf(id pawl.StepID) string {
	if w.entry != nil {
		for _, name := range slices.Concat(w.entry.completed, w.entry.pending, []string{w.entry.task}, w.entry.skipped()) {
			if name != "" && pawl.StepIDOf(name) == id {
				return name
			}
		}
	}
	return string(id)
}
