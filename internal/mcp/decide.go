package mcp

import (
	"context"

	"pawl"
	"pawl/internal/runs"
)

// decideIn is what decide takes.
type decideIn struct {
	Choice   string   `json:"choice" jsonschema:"what was chosen"`
	Question string   `json:"question,omitempty" jsonschema:"what was to be decided"`
	Options  []string `json:"options,omitempty" jsonschema:"what could have been chosen"`
	Why      string   `json:"why,omitempty" jsonschema:"why this one"`
}

func (s *Server) decide(ctx context.Context, c call, in decideIn) (answer[recorded], error) {
	if in.Choice == "" {
		return answer[recorded]{}, usage("choice is empty: say what was chosen")
	}
	d := pawl.Decision{Choice: in.Choice, Question: in.Question, Options: in.Options, Why: in.Why, By: c.by.Name}
	at, err := s.record(ctx, c.by, pawl.Line{Decide: &d}, runs.Decide(d), nil)
	return answer[recorded]{text: "decision " + at.String() + at.Notes.String(), data: at}, err
}
