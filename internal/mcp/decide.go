package mcp

import (
	"context"

	"pawl"
	"pawl/internal/runs"
)

// decideIn is the input of decide.
type decideIn struct {
	Choice   string   `json:"choice" jsonschema:"the decision"`
	Question string   `json:"question,omitempty" jsonschema:"the question that was decided"`
	Options  []string `json:"options,omitempty" jsonschema:"the alternatives"`
	Why      string   `json:"why,omitempty" jsonschema:"the reason"`
}

func (s *Server) decide(ctx context.Context, c call, in decideIn) (answer[recorded], error) {
	if in.Choice == "" {
		return answer[recorded]{}, usage("choice is empty")
	}
	d := pawl.Decision{Choice: in.Choice, Question: in.Question, Options: in.Options, Why: in.Why, By: c.by.Name}
	at, err := s.record(ctx, c.by, pawl.Line{Decide: &d}, runs.Decide(d), nil)
	at.Next = "keep to it; if you change your mind, record that as another decision"
	return answer[recorded]{text: "decision " + at.text(), data: at}, err
}
