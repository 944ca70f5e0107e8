package decide

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/resume"
)

// takeOver journals what an engine does first: interrupted attempts that have ended are settled.
func (m *simulation) takeOver() {
	m.fold(pawl.EngineStarted{Epoch: m.state.Epoch + 1})
	if m.changes {
		for _, id := range m.change.Recheck {
			if m.state.Steps[id].Finished() {
				m.fold(pawl.StepReopened{Step: id, Why: "its acceptance checks fail"})
			}
		}
	}
	for _, step := range m.plan.InOrder {
		if st := m.state.Steps[step.ID]; step.Foreach != nil && st != nil && st.Items != nil && len(st.Live()) > 0 {
			all := m.ofItems(m.decider(), step, st)
			*m.course(step.ID) = course{all: all, do: Attach, why: all.why}
		}
	}
	for _, x := range m.interrupted {
		live := slices.IndexFunc(m.state.Live(), func(l *pawl.AttemptState) bool { return l.Token == x.Live.Token })
		if step := m.plan.ByID[x.Step]; step != nil && live >= 0 {
			m.settle(step, x)
		}
	}
}

// settle notes what is done about an interrupted attempt, and ends it if it has ended.
func (m *simulation) settle(step *pawl.Step, x resume.Judged) {
	fixed, known := m.fixed[x.Live.AttemptRef]
	if !known {
		return
	}
	if x.Live.Item == "" {
		m.note(x.Step, fixed.do, fixed.why)
	}
	switch {
	case x.Alive:
	case fixed.do == Ask && step.Gate != nil:
		m.end(step, x.Live)
	case fixed.do == Ask:
		m.waitAt(x.Live.AttemptRef, m.askedBy(x))
	case fixed.do == Wait:
		blocker := pawl.BlockerOpened{Blocker: pawl.Blocker{Text: fixed.why, Step: x.Step}}
		m.fold(blocker, pawl.AttemptEnded{AttemptRef: x.Live.AttemptRef, Outcome: pawl.Blocked})
	case x.Live.Item != "":
		m.fold(pawl.ItemDone{AttemptRef: x.Live.AttemptRef, Key: x.Live.Key})
	default:
		m.complete(step, x.Live.AttemptRef, x.Live.Key)
	}
}

// askedBy returns the gate that an attempt waits for, as its result says.
func (m *simulation) askedBy(x resume.Judged) pawl.Gate {
	if r := x.Evidence.Result; r != nil && r.Gate != nil {
		return r.Gate.Gate(x.Step, x.Live.Item, m.now)
	}
	for i := range slices.Backward(m.state.Gates) {
		g := &m.state.Gates[i]
		if g.Step == x.Step && g.Item == x.Live.Item && (g.Open() || g.Source != nil && g.Source.Token == x.Live.Token) {
			return g.Gate
		}
	}
	return pawl.GateAction{Type: pawl.HumanAction, Ask: x.Text()}.Gate(x.Step, x.Live.Item, time.Time{})
}
