package mcp

import (
	"context"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/runs"
)

// blockIn is what block takes.
type blockIn struct {
	Text  string      `json:"text" jsonschema:"what stands in the way"`
	Needs string      `json:"needs,omitempty" jsonschema:"what would clear it"`
	Step  pawl.StepID `json:"step,omitempty" jsonschema:"the step of the plan that is blocked; the whole run if left out. Inside a step it is always that step"`
}

// blockOut is what block answers.
type blockOut struct {
	recorded
	Blocker int `json:"blocker,omitempty" jsonschema:"its number, by which a person clears it"`
}

func (s *Server) block(ctx context.Context, c call, in blockIn) (answer[blockOut], error) {
	if in.Text == "" {
		return answer[blockOut]{}, usage("text is empty: say what stands in the way")
	}
	b := pawl.Blocker{Text: in.Text, Needs: in.Needs, Step: in.Step}
	var out blockOut
	at, err := s.record(ctx, c.by, pawl.Line{Block: &b}, runs.Block(b), func(r *runs.Run) { out.Blocker = numberOf(r.State, b) })
	out.recorded = at
	text := "blocker " + at.String()
	if out.Blocker > 0 {
		text += fmt.Sprintf("; once it is cleared, a person says `pawl unblock %d`", out.Blocker)
	}
	return answer[blockOut]{text: text + at.Notes.String(), data: out}, err
}

// numberOf returns the number that a blocker was given.
func numberOf(s *pawl.State, b pawl.Blocker) int {
	for _, is := range slices.Backward(s.OpenBlockers()) {
		if is.Text == b.Text && is.Step == b.Step && is.Needs == b.Needs {
			return is.ID
		}
	}
	return 0
}
