package mcp

import (
	"context"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// learnIn is the input of learn.
type learnIn struct {
	Text string          `json:"text" jsonschema:"one fact, in one or two sentences that a newcomer understands"`
	Kind pawl.MemoryKind `json:"kind,omitempty" jsonschema:"pattern (how things are done here; the default), gotcha (surprising behavior), preference (what the user wants), decision, rejected (considered and not done), fragile (breaks easily)"`
}

// learnOut is the output of learn.
type learnOut struct {
	recorded
	Known bool `json:"known,omitempty" jsonschema:"the note already existed and was not added again"`
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
	if out.Known {
		out.Next = "nothing: the note is known already"
		return answer[learnOut]{text: "already known" + out.Notes.String(), data: out}, err
	}
	out.Undo = "delete the line from .pawl/MEMORY.md"
	return answer[learnOut]{text: "note " + out.text(), data: out}, err
}
