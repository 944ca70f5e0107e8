package pawl

import "fmt"

// Earlier identifies an attempt of an earlier run at the same step or item.
type Earlier struct {
	Run     RunID `json:"run"`
	Attempt int   `json:"attempt,omitempty"` // 0 for a foreach step, whose items have the attempts
}

// ResultsAdopted says that a new run adopts results of an earlier run of its plan: those of steps and items that are up to
// date. The events that finish them follow in the same batch.
type ResultsAdopted struct {
	Run    RunID `json:"run"`
	Origin RunID `json:"origin"` // the first run of the chain of updates and forks; artifact paths use its name
}

func (ResultsAdopted) Event() EventType { return "results.adopted" }

func (p ResultsAdopted) fold(s *State, _ Event) error {
	if len(s.Steps) > 0 {
		return fmt.Errorf("run %s has steps already", s.Run)
	}
	s.Update = &p
	return nil
}
