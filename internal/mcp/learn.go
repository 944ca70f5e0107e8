package mcp

import (
	"context"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// learnIn is what learn takes.
type learnIn struct {
	Text string          `json:"text" jsonschema:"one thing, in one or two sentences that make sense to somebody who was not here"`
	Kind pawl.MemoryKind `json:"kind,omitempty" jsonschema:"pattern (how it is done here; the default), gotcha (what surprised), preference (what the person wants), decision, rejected (considered and not done), fragile (breaks easily)"`
}

// learnOut is what learn answers.
type learnOut struct {
	recorded
	Known bool `json:"known,omitempty" jsonschema:"it was known already, and is not added again"`
}

func (s *Server) learn(ctx context.Context, c call, in learnIn) (answer[learnOut], error) {
	m := pawl.Memory{Kind: in.Kind, Text: in.Text}
	if m.Kind == "" {
		m.Kind = pawl.Pattern
	}
	if err := m.Validate(); err != nil {
		return answer[learnOut]{}, usage("%v", err)
	}
	var out learnOut
	act := func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		payloads, err := runs.Learn(m)(p, r)
		out.Known = err == nil && len(payloads) == 0
		return payloads, err
	}
	at, err := s.record(ctx, c.by, pawl.Line{Learn: &m}, act, nil)
	out.recorded = at
	text := "learned; " + at.String()
	if out.Known {
		text = "known already"
	}
	return answer[learnOut]{text: text + at.Notes.String(), data: out}, err
}
