package engine

import (
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/runs"
)

// Due returns the steps that an engine with this many slots would start now.
func Due(r *runs.Run, now time.Time, slots int) []pawl.StepID {
	var due []pawl.StepID
	for _, a := range decide.Next(runs.NewOutline(r.Plan), r.State, now, slots) {
		if a.Kind == decide.Start {
			due = append(due, a.Step.ID)
		}
	}
	return due
}
