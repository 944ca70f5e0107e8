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
	why := fmt.Errorf("run %s failed: %s", s.Run, s.Why)
	if failed := s.FailedFor(r.Plan); failed != "" {
		why = fmt.Errorf("run %s failed at step %s: %s; to resume it, retry the step first", s.Run, failed, s.Steps[failed].Why)
	}
	return &pawl.Error{Kind: pawl.KindRunFailed, Err: why, Hint: s.AfterFailure(r.Plan)}
}
