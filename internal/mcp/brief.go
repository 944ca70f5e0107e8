package mcp

import (
	"context"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/config"
	"pawl/internal/sessions"
)

// briefIn is what brief takes.
type briefIn struct {
	runIn
	Since  string `json:"since,omitempty" jsonschema:"the checkpoint that you know: what changed is told since then; the run's last good one if left out"`
	Budget int    `json:"budget,omitempty" jsonschema:"at most this many bytes, from 2000; what suits you if left out"`
}

// briefOut is what brief answers.
type briefOut struct {
	Run      pawl.RunID      `json:"run,omitempty"`
	Status   pawl.RunStatus  `json:"status,omitempty"`
	Checked  time.Time       `json:"checked_at" jsonschema:"when all of it was checked"`
	Cut      bool            `json:"cut" jsonschema:"lines were left out for lack of room"`
	Sections []brief.Section `json:"sections" jsonschema:"the most important first"`
}

func (s *Server) brief(ctx context.Context, c call, in briefIn) (answer[briefOut], error) {
	told, err := s.briefOf(ctx, c.ClientInfo(), in)
	out := briefOut{Run: told.Run, Status: told.Status, Checked: told.Checked, Cut: told.Cut, Sections: told.Sections}
	return answer[briefOut]{text: told.Text, data: out}, err
}

// briefOf briefs a client. That nothing was run yet is worth a brief too.
func (d *desk) briefOf(ctx context.Context, client *sdk.Implementation, in briefIn) (brief.Brief, error) {
	p, err := d.project()
	if err != nil {
		return brief.Brief{}, err
	}
	c, err := config.Read(p.Config())
	if err != nil {
		return brief.Brief{}, err
	}
	b := sessions.Briefing{
		Options: brief.Options{For: audienceOf(client), Budget: in.Budget}, Since: in.Since, Session: d.here(ctx, p).session, Snapshots: c.Snapshots,
	}
	if step := d.step; step != nil && in.Run == "" && step.Attempt.Attempt > 0 {
		b.Attempt = &step.Attempt
	}
	run, err := d.find(ctx, p, in.Run)
	if err != nil && !(in.Run == "" && errors.Is(err, pawl.ErrNoRun)) {
		return brief.Brief{}, err
	}
	return sessions.Brief(ctx, p, run, b)
}
