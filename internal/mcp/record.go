package mcp

import (
	"context"

	"pawl"
	"pawl/internal/runs"
)

// recorded is where a report was recorded.
type recorded struct {
	Run  pawl.RunID  `json:"run" jsonschema:"the run whose journal has it"`
	Step pawl.StepID `json:"step,omitempty" jsonschema:"the step of this server, if it belongs to one"`
	Seq  pawl.Seq    `json:"seq,omitempty" jsonschema:"number of the last event in the journal; absent inside a step, whose engine journals it later"`

	advice
	Notes notes `json:"notes,omitempty" jsonschema:"warnings to pass on to the user; the call succeeded"`
}

// where returns it as text, without the advice.
func (r recorded) where() string {
	if r.Step != "" {
		return "recorded for step " + string(r.Step) + " of run " + string(r.Run)
	}
	return "recorded in run " + string(r.Run)
}

// text returns it as text, with the advice and the notes.
func (r recorded) text() string { return r.where() + r.advice.String() + r.Notes.String() }

// record writes a line to the step's events file or, outside of a step, applies act to the run. inspect, if not nil, gets the
// run after the act.
func (d *toolContext) record(ctx context.Context, by pawl.Author, line pawl.Line, act runs.Act, inspect func(*runs.Run)) (recorded, error) {
	if d.step != nil {
		return recorded{Run: d.step.Run, Step: d.step.Attempt.Step}, d.step.Report(line)
	}
	r, err := d.perform(ctx, by, act)
	if err != nil {
		return recorded{}, err
	}
	if inspect != nil {
		inspect(r)
	}
	return recorded{Run: r.State.Run, Seq: r.State.Seq, Notes: d.notes(r)}, r.Log.Close()
}
