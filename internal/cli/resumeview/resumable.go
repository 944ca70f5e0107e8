package resumeview

import (
	"fmt"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// CheckResumable returns an error if a run has ended and its changed plan reopens no step.
func CheckResumable(r *runs.Run, change *resume.PlanDiff) error {
	s := r.State
	if !s.Ended() || change.Reopens() {
		return nil
	}
	if s.Status == pawl.StatusCompleted {
		return failure.NothingToDo(&pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("nothing to do: run %s is already complete", s.Run), Hint: "pawl status"})
	}
	for _, step := range r.Plan.Steps() {
		if st := s.Steps[step.ID]; st.FailsRun() {
			return &pawl.Error{
				Kind: pawl.KindRunFailed, Hint: "pawl retry " + string(step.ID),
				Err: fmt.Errorf("run %s failed at step %s: %s", s.Run, step.ID, st.Why),
			}
		}
	}
	return &pawl.Error{Kind: pawl.KindRunFailed, Err: fmt.Errorf("run %s failed: %s", s.Run, s.Why), Hint: "pawl status"}
}
