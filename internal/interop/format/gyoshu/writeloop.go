package gyoshu

import (
	"time"

	"pawl"
)

// loop returns where the run stands as the state of a loop.
func (m *researchWriter) loop() Loop {
	cycles := int64(len(m.finished()))
	l := Loop{
		Active:    m.Status == pawl.StatusActive,
		Iteration: cycles,
		Most:      max(defaultIterations, int64(len(m.steps))+1),
		Title:     m.title,
		Run:       m.run,
		Session:   m.run,
		Budgets: Budgets{
			MostCycles:  max(defaultCycles, int64(len(m.steps))+1),
			Cycle:       cycles,
			MostCalls:   defaultCalls,
			MostMinutes: defaultMinutes,
			Started:     instantOf(m.State.Created),
		},
		Attempt:   1,
		MostTries: defaultTries,
		Decision:  m.decision(),
	}
	if m.Plan != nil && m.Plan.Budget.Time > 0 {
		l.Budgets.MostMinutes = int64(time.Duration(m.Plan.Budget.Time) / time.Minute)
	}
	if next := m.next(); next != "" {
		l.Next = m.objective(next)
		if st := m.State.Steps[next]; st != nil {
			l.Attempt = int64(max(1, st.Retries.Attempt))
		}
	}
	return l
}

// next returns the first step that is not finished.
func (m *researchWriter) next() pawl.StepID {
	for _, id := range m.steps {
		if !m.State.Steps[id].Finished() {
			return id
		}
	}
	return ""
}

// objective says in one line what a step is for, with its stage.
func (m *researchWriter) objective(id pawl.StepID) string {
	text := m.stages[id]
	if m.Plan == nil {
		return text
	}
	if s := m.Plan.Step(id); s != nil && s.Goal != "" {
		return text + ": " + s.Goal
	} else if s != nil && s.Name != "" {
		return text + ": " + s.Name
	}
	return text
}

// decision returns what Gyoshu would call the run's last turn.
func (m *researchWriter) decision() LoopDecision {
	budget := false
	for _, g := range m.State.OpenGates() {
		budget = budget || g.Purpose == pawl.ForBudget
	}
	st := m.State.Steps[m.next()]
	switch {
	case m.Status == pawl.StatusCompleted:
		return Complete
	case budget:
		return Exhausted
	case m.Status == pawl.StatusFailed, m.Status == pawl.StatusWaiting:
		return Blocked
	case st != nil && st.Retries.Failures > 0:
		return Rework
	case len(m.finished()) > 0:
		return Continue
	}
	return ""
}
