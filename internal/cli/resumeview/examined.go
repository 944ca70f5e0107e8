package resumeview

import (
	"pawl"
	"pawl/internal/decide"
	"pawl/internal/resume"
)

// Examined is what `pawl resume --dry-run --json` prints.
type Examined struct {
	Run pawl.RunID `json:"run"`
	*resume.PlanDiff
	*resume.Examination
	Parallel pawl.Parallel     `json:"parallel"` // how many attempts would run at a time
	Steps    []decide.Decision `json:"steps"`
}
