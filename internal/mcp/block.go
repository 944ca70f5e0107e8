package mcp

import (
	"context"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/runs"
)

// blockIn is the input of block.
type blockIn struct {
	Text  string      `json:"text" jsonschema:"the problem"`
	Needs string      `json:"needs,omitempty" jsonschema:"what would resolve it"`
	Step  pawl.StepID `json:"step,omitempty" jsonschema:"the blocked step of the plan; defaults to the whole run. Inside a step it is always that step"`
}

// blockOut is the output of block.
type blockOut struct {
	recorded
	Blocker int `json:"blocker,omitempty" jsonschema:"blocker number, with which a person clears it"`
}

func (s *Server) block(ctx context.Context, c call, in blockIn) (answer[blockOut], error) {
	if in.Text == "" {
		return answer[blockOut]{}, usage("text is empty")
	}
	b := pawl.Blocker{Text: in.Text, Needs: in.Needs, Step: in.Step}
	var out blockOut
	at, err := s.record(ctx, c.by, pawl.Line{Block: &b}, runs.Block(b), func(r *runs.Run) { out.Blocker = numberOf(r.State, b) })
	out.recorded = at
	out.Next = "do work that is not blocked, or tell the user and end your turn"
	if out.Blocker > 0 {
		out.Undo = fmt.Sprintf("when it is resolved, a person runs `pawl unblock %d -m HOW`", out.Blocker)
	}
	return answer[blockOut]{text: "blocker " + out.text(), data: out}, err
}

// numberOf returns the number of a blocker.
func numberOf(s *pawl.State, b pawl.Blocker) int {
	for _, is := range slices.Backward(s.OpenBlockers()) {
		if is.Text == b.Text && is.Step == b.Step && is.Needs == b.Needs {
			return is.ID
		}
	}
	return 0
}
