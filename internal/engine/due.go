package engine

import (
	"time"

	"pawl"
	"pawl/internal/runs"
)

// Due returns the steps that an engine with this many slots would start now.
func Due(r *runs.Run, now time.Time, slots int) []pawl.StepID {
	var due []pawl.StepID
	for _, a := range next(runs.NewOutline(r.Plan), r.State, now, slots) {
		if a.kind == start {
			due = append(due, a.step.ID)
		}
	}
	return due
}
