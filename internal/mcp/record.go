package mcp

import (
	"context"

	"pawl"
	"pawl/internal/runs"
)

// recorded says where something stands that was said.
type recorded struct {
	Run  pawl.RunID  `json:"run" jsonschema:"the run in whose journal it stands"`
	Step pawl.StepID `json:"step,omitempty" jsonschema:"the step that said it, where this server belongs to one"`
	Seq  pawl.Seq    `json:"seq,omitempty" jsonschema:"the last event of that journal; left out inside a step, whose engine journals what it says"`

	Notes notes `json:"notes,omitempty" jsonschema:"what your person should know; it stands all the same"`
}

// String says so in words.
func (r recorded) String() string {
	if r.Step != "" {
		return "noted for step " + string(r.Step) + " of run " + string(r.Run)
	}
	return "recorded in run " + string(r.Run)
}

// record says a line from inside the attempt, or outside of any has act done to the run. look, where there is one, sees the run as
// it stands after an act.
func (d *desk) record(ctx context.Context, by pawl.Author, line pawl.Line, act runs.Act, look func(*runs.Run)) (recorded, error) {
	if d.step != nil {
		return recorded{Run: d.step.Run, Step: d.step.Attempt.Step}, d.step.Report(line)
	}
	r, err := d.perform(ctx, by, act)
	if err != nil {
		return recorded{}, err
	}
	if look != nil {
		look(r)
	}
	return recorded{Run: r.State.Run, Seq: r.State.Seq, Notes: d.notes(r)}, r.Log.Close()
}
