package engine

import (
	"context"
	"time"

	"pawl"
)

// A Mirror keeps the files of another system up to date with a run. The engine's goroutine calls its methods.
type Mirror interface {
	// Start starts mirroring. It journals the answers that people wrote into the files, and returns the mirror's record.
	Start(ctx context.Context, state *pawl.State, plan *pawl.Plan) pawl.RunMirrored
	// Changed reports that events were folded into state. It returns at once. When the channel fires, the engine calls
	// Changed again, without events; a nil channel never fires.
	Changed(ctx context.Context, state *pawl.State, plan *pawl.Plan, events []pawl.Event) <-chan time.Time
	// Advice returns what the other system requires before work on a step continues, or "".
	Advice(ctx context.Context, state *pawl.State, plan *pawl.Plan, step pawl.StepID) string
	// Close writes the files for the last time. An error is not a fault of the run: Notes reports it.
	Close(ctx context.Context, state *pawl.State, plan *pawl.Plan)
	// Notes returns what people should know, one line each. It is complete after Close.
	Notes() []string
}

// noMirror is the Mirror of a run without one.
type noMirror struct{}

func (noMirror) Start(context.Context, *pawl.State, *pawl.Plan) pawl.RunMirrored {
	return pawl.RunMirrored{}
}

func (noMirror) Changed(context.Context, *pawl.State, *pawl.Plan, []pawl.Event) <-chan time.Time {
	return nil
}

func (noMirror) Advice(context.Context, *pawl.State, *pawl.Plan, pawl.StepID) string { return "" }

func (noMirror) Close(context.Context, *pawl.State, *pawl.Plan) {}

func (noMirror) Notes() []string { return nil }

// startMirror starts the mirror and returns its record, nil if the journal has it already or the run has no mirror.
func (e *Engine) startMirror(ctx context.Context) *pawl.RunMirrored {
	record := e.mirror.Start(ctx, e.state, e.plan.Plan)
	if record.System == "" || e.state.Mirror.SameFiles(record) {
		return nil
	}
	return &record
}
