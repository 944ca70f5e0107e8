package mcp

import (
	"context"
	"errors"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/config"
	"pawl/internal/sessions"
)

// briefIn is the input of brief.
type briefIn struct {
	runIn
	Since  string `json:"since,omitempty" jsonschema:"list changed files since this checkpoint; defaults to the run's last good one"`
	Budget int    `json:"budget,omitempty" jsonschema:"maximum size in bytes, at least 2000; defaults to what suits your client"`
}

// briefOut is the output of brief.
type briefOut struct {
	Run      pawl.RunID      `json:"run,omitempty"`
	Status   pawl.RunStatus  `json:"status,omitempty"`
	Checked  time.Time       `json:"checked_at" jsonschema:"when the content was checked"`
	Cut      bool            `json:"cut" jsonschema:"lines were omitted to fit the budget"`
	Next     string          `json:"next" jsonschema:"what to do now"`
	Sections []brief.Section `json:"sections" jsonschema:"most important first"`
	More     []string        `json:"more,omitempty" jsonschema:"omitted sections, and commands that show more"`
}

func (s *Server) brief(ctx context.Context, c call, in briefIn) (answer[briefOut], error) {
	b, err := s.briefOf(ctx, c.ClientInfo(), in)
	if err != nil {
		return answer[briefOut]{}, err
	}
	out := briefOut{Run: b.Run, Status: b.Status, Checked: b.Checked, Cut: b.Cut, Sections: b.Sections, Next: nextOf(b), More: moreOf(b)}
	return answer[briefOut]{text: b.Text, data: out}, nil
}

// nextOf returns what an agent does with a brief. The sections say it in detail.
func nextOf(b brief.Brief) string {
	switch {
	case b.Run == "":
		return "start the work: there is nothing to resume"
	case len(b.Doubts)+len(b.Operations) > 0:
		return "verify what is in doubt before you repeat it, then do what the section about the next work says; do not redo finished work"
	}
	return "do what the section about the next work says; do not redo finished work"
}

// moreOf returns the lines of the text's last section, which the sections of a brief do not contain.
func moreOf(b brief.Brief) []string {
	_, last, ok := strings.Cut(b.Text, "Where to read more\n")
	var lines []string
	for line := range strings.Lines(last) {
		if line, is := strings.CutPrefix(line, "- "); ok && is {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// briefOf returns the brief for a client. A project without runs has a brief too.
func (d *toolContext) briefOf(ctx context.Context, client *sdk.Implementation, in briefIn) (brief.Brief, error) {
	p, err := d.project()
	if err != nil {
		return brief.Brief{}, err
	}
	c, err := config.Of(p)
	if err != nil {
		return brief.Brief{}, err
	}
	b := sessions.Briefing{
		Options: brief.Options{For: audienceOf(client), Budget: in.Budget}, Since: in.Since, Session: d.caller(ctx, p).session, Snapshots: c.Snapshots,
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
