package pawl

import "slices"

// Position is where a run stands, in the words of the systems that count: phase, step, wave, item and their totals.
type Position struct {
	Phase      int    `json:"phase"` // from 1
	PhaseTotal int    `json:"phase_total"`
	PhaseName  string `json:"phase_name,omitempty"`
	Step       int    `json:"step"` // from 1, over the whole plan
	StepTotal  int    `json:"step_total"`
	StepID     StepID `json:"step_id,omitempty"`
	StepName   string `json:"step_name,omitempty"`
	Wave       int    `json:"wave,omitempty"` // from 1, within the phase
	WaveTotal  int    `json:"wave_total,omitempty"`
	Item       int    `json:"item,omitempty"` // finished items of the step, and the one being worked on
	ItemTotal  int    `json:"item_total,omitempty"`
	Complete   bool   `json:"complete,omitempty"` // nothing is left
}

// StatusNow returns the run's status as people mean it. engine says whether a live engine holds the run.
// A run that is unfinished and without an engine is interrupted, unless all that it waits for is a person. A session run
// has no engine and needs none.
func (s *State) StatusNow(engine bool) RunStatus {
	switch {
	case s.Ended():
		return s.Status
	case s.Status == StatusPaused || s.Status == StatusStopped:
		return StatusPaused
	case s.waits() && (engine || s.Engine == nil):
		return StatusWaiting
	case engine, s.Kind == SessionRun:
		return StatusActive
	}
	return StatusInterrupted
}

// waits reports whether nothing runs and a person is asked for something.
func (s *State) waits() bool {
	if len(s.Live()) > 0 {
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

// Position returns where the run stands in plan: the first step that is not finished.
func (s *State) Position(plan *Plan) Position {
	pos := Position{PhaseTotal: len(plan.Phases), StepTotal: len(plan.Steps())}
	for i := range plan.Phases {
		phase := &plan.Phases[i]
		pos.Phase, pos.PhaseName = i+1, phase.Name
		for j := range phase.Steps {
			step := &phase.Steps[j]
			pos.Step++
			pos.StepID, pos.StepName = step.ID, step.Name
			if st := s.Steps[step.ID]; !st.Finished() {
				pos.Wave, pos.WaveTotal = waveOf(plan.Waves(i), step.ID)
				pos.addItems(st)
				return pos
			}
		}
	}
	pos.Complete = pos.StepTotal > 0 || s.Status == StatusCompleted // without a plan, only the run's end says so
	return pos
}

func (p *Position) addItems(st *StepState) {
	if st == nil || st.Items == nil {
		return
	}
	p.ItemTotal = st.Items.Total
	p.Item = min(st.Items.Count+1, st.Items.Total)
}

func waveOf(waves [][]StepID, id StepID) (wave, total int) {
	for i, ids := range waves {
		if slices.Contains(ids, id) {
			return i + 1, len(waves)
		}
	}
	return 0, len(waves)
}

// Percent returns how much of plan is finished, 0 to 100, rounded down. Every step counts the same;
// a foreach step counts by its finished items.
func (s *State) Percent(plan *Plan) int {
	steps := plan.Steps()
	if len(steps) == 0 {
		return 0
	}
	sum := 0.0
	for _, step := range steps {
		sum += s.Steps[step.ID].fraction()
	}
	return int(100*sum/float64(len(steps)) + 1e-9)
}

func (st *StepState) fraction() float64 {
	switch {
	case st.Finished():
		return 1
	case st != nil && st.Items != nil && st.Items.Total > 0:
		return float64(st.Items.Count) / float64(st.Items.Total)
	}
	return 0
}
