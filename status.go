package pawl

import "slices"

// Position is the current position of a run: phase, step, wave, item and their totals, as other systems count them.
type Position struct {
	Phase      int    `json:"phase"` // starting at 1
	PhaseTotal int    `json:"phase_total"`
	PhaseName  string `json:"phase_name,omitempty"`
	Step       int    `json:"step"` // starting at 1, over the whole plan
	StepTotal  int    `json:"step_total"`
	StepID     StepID `json:"step_id,omitempty"`
	StepName   string `json:"step_name,omitempty"`
	Wave       int    `json:"wave,omitempty"` // level of the step, starting at 1 in each phase
	WaveTotal  int    `json:"wave_total,omitempty"`
	Item       int    `json:"item,omitempty"` // finished items of the step, plus the current one
	ItemTotal  int    `json:"item_total,omitempty"`
	Complete   bool   `json:"complete,omitempty"` // all steps are finished
}

// StatusNow returns the run's status for output. engine reports whether a live engine holds the run. An unfinished run
// without an engine is interrupted, unless it waits only for a person. A session run needs no engine.
func (s *State) StatusNow(engine bool) RunStatus { return s.StatusIn(nil, engine) }

// StatusIn is StatusNow with the plan. With it, a run that no engine has run yet counts as waiting only if no step can start.
func (s *State) StatusIn(plan *Plan, engine bool) RunStatus {
	switch {
	case s.Ended():
		return s.Status
	case s.Status == StatusPaused || s.Status == StatusStopped:
		return StatusPaused
	case s.waits() && (engine || s.Engine == nil) && !s.startable(plan):
		return StatusWaiting
	case engine, s.Kind == SessionRun:
		return StatusActive
	}
	return StatusInterrupted
}

// waits reports whether nothing is running and a person must act.
func (s *State) waits() bool {
	if len(s.Working()) > 0 {
		return false
	}
	if len(s.OpenGates()) > 0 || len(s.OpenBlockers()) > 0 {
		return true
	}
	for _, st := range s.Steps {
		if st.Status == AwaitsReview {
			return true
		}
	}
	return false
}

// startable reports whether some step of a run that no engine has run yet waits for nobody. An engine waits only when it has
// started all that it can.
func (s *State) startable(plan *Plan) bool {
	if plan == nil || s.Epoch > 0 {
		return false
	}
	asked := map[StepID]bool{}
	for _, b := range s.OpenBlockers() {
		if b.Step == "" {
			return false
		}
		asked[b.Step] = true
	}
	for _, g := range s.OpenGates() {
		if g.Halts() {
			return false
		}
		asked[g.Step] = true
	}
	needs := plan.Order()
	return slices.ContainsFunc(plan.Steps(), func(step *Step) bool {
		st, waits := s.Steps[step.ID], func(need StepID) bool { return asked[need] || !s.Steps[need].Finished() }
		return step.Gate == nil && !asked[step.ID] && (st == nil || st.Status == Pending) && !slices.ContainsFunc(needs[step.ID], waits)
	})
}

// Position returns the position of the run in plan: the first unfinished step.
func (s *State) Position(plan *Plan) Position {
	pos := Position{PhaseTotal: len(plan.Phases), StepTotal: len(plan.Steps())}
	for i := range plan.Phases {
		phase := &plan.Phases[i]
		pos.Phase, pos.PhaseName = i+1, phase.Name
		for j := range phase.Steps {
			step := &phase.Steps[j]
			pos.Step++
			pos.StepID, pos.StepName = step.ID, step.Name
			if st := s.Steps[step.ID]; !st.Finished() && st.Serving() == nil {
				levels, waves := levelsOf(phase.Steps)
				pos.Wave, pos.WaveTotal = levels[j], waves
				pos.addItems(st)
				return pos
			}
		}
	}
	pos.Complete = pos.StepTotal > 0 || s.Status == StatusCompleted // without a plan, only the run's status says
	return pos
}

func (p *Position) addItems(st *StepState) {
	if st == nil || st.Items == nil {
		return
	}
	p.ItemTotal = st.Items.Size()
	p.Item = min(st.Items.Count+1, st.Items.Size())
}

// Percent returns the finished part of plan, 0 to 100, rounded down. Every step has the same weight; a foreach step
// counts by its finished items, and a service once it is ready.
func (s *State) Percent(plan *Plan) int {
	steps := plan.Steps()
	if len(steps) == 0 && s.Status == StatusCompleted {
		return 100
	}
	sum := 0.0
	for _, step := range steps {
		sum += s.Steps[step.ID].fraction()
	}
	return int(100*sum/float64(max(len(steps), 1)) + 1e-9)
}

func (st *StepState) fraction() float64 {
	switch {
	case st.Finished(), st.Serving() != nil:
		return 1
	case st != nil && st.Items != nil && st.Items.Size() > 0:
		return float64(st.Items.Count) / float64(st.Items.Size())
	}
	return 0
}
