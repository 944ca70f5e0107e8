package statusview

import (
	"context"
	"fmt"
	"io"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/sessions"
)

// Session is a session of an agent in `pawl status --json`.
type Session struct {
	Session pawl.SessionID    `json:"session"`
	Agent   string            `json:"agent"`
	Native  string            `json:"native_id"` // the agent's own id, which its native resume takes
	Parent  pawl.SessionID    `json:"parent,omitempty"`
	Doing   pawl.SessionDoing `json:"doing"`
	Gone    bool              `json:"gone"` // the agent's process has ended
	Why     string            `json:"why,omitempty"`
	Asked   string            `json:"asked,omitempty"`
	Said    string            `json:"said,omitempty"`
	Done    int               `json:"operations_done"`
	Since   time.Time         `json:"since"`
	Seen    time.Time         `json:"seen_at"`
	PID     int               `json:"pid,omitempty"`
}

// sessionsOf returns the sessions of a run.
func sessionsOf(s *pawl.State) []Session {
	reports := []Session{}
	for _, x := range s.SessionsByTime() {
		report := Session{
			Session: x.Session, Agent: x.Session.Agent(), Native: x.Session.Native(), Parent: x.Session.Parent(), Doing: x.Doing,
			Gone: sessions.AgentGone(x), Why: x.Why, Asked: x.Asked, Said: x.Said, Done: x.Did, Since: x.Since, Seen: x.Seen,
		}
		if x.Process != nil {
			report.PID = x.Process.PID
		}
		reports = append(reports, report)
	}
	return reports
}

// AddSessions adds the run's agent sessions, and the tool calls without a recorded outcome, checked now.
func (r *Report) AddSessions(ctx context.Context, p *project.Project, s *pawl.State) {
	r.Sessions, r.Doubts = sessionsOf(s), toolCallsInDoubt(ctx, p, s)
}

// CountSessions adds the run's agent sessions, without checking tool calls.
func (r *Report) CountSessions(s *pawl.State) { r.Sessions = sessionsOf(s) }

// toolCallsInDoubt returns the tool calls without a recorded outcome, checked now.
func toolCallsInDoubt(ctx context.Context, p *project.Project, s *pawl.State) []sessions.ReconciledOperation {
	doubts := sessions.Reconcile(ctx, p, s.InDoubt(sessions.AgentGone))
	return append([]sessions.ReconciledOperation{}, doubts...) // none is [], not null
}

func printSessions(w io.Writer, sessions []Session) {
	for _, x := range sessions {
		doing := string(x.Doing)
		if x.Gone && x.Doing != pawl.SessionIsEnded {
			doing = "ended unexpectedly"
		}
		fmt.Fprintf(w, "\nsession %s  %s; %s; last activity %s\n", x.Session, doing, layout.Count(x.Done, "tool call"), layout.UTCWithZone(x.Seen))
		if x.Asked != "" {
			fmt.Fprintf(w, "  asked  %s\n", layout.OneLine(x.Asked))
		}
		if x.Said != "" {
			fmt.Fprintf(w, "  said   %s\n", layout.OneLine(x.Said))
		}
	}
}

func printInDoubt(w io.Writer, doubts []sessions.ReconciledOperation) {
	for _, d := range doubts {
		fmt.Fprintf(w, "\nin doubt  tool call %s: %s  %s\n", d.Verdict, d.Tool, layout.OneLine(d.Summary))
		fmt.Fprintf(w, "  session %s, started %s\n", d.Session, layout.UTCWithZone(d.Began))
		for _, line := range d.Evidence {
			fmt.Fprintf(w, "  - %s\n", line)
		}
	}
}
