package statusview

import (
	"context"
	"fmt"
	"io"
	"slices"
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
	Tree    string            `json:"worktree,omitempty"` // the linked worktree of git that it works in; absent: none
	Branch  string            `json:"branch,omitempty"`   // of the worktree, or the commit if HEAD is detached
	NoTree  bool              `json:"worktree_gone,omitempty"`
	Doing   pawl.SessionDoing `json:"doing"`
	Gone    bool              `json:"gone"` // the agent's process has ended
	Why     string            `json:"why,omitempty"`
	Asked   string            `json:"asked,omitempty"`
	Said    string            `json:"said,omitempty"`
	Done    int               `json:"operations_done"`
	Since   time.Time         `json:"since"`
	Seen    time.Time         `json:"seen_at"`
	PID     int               `json:"pid,omitempty"`
	Calls   []Call            `json:"calls,omitempty"` // the tool calls that are running, oldest first
}

// Call is a tool call that is running.
type Call struct {
	Tool    string    `json:"tool"`
	Summary string    `json:"summary,omitempty"`
	Dir     string    `json:"dir,omitempty"` // the folder that it runs in; absent: the project's
	Since   time.Time `json:"since"`
}

// sessionsOf returns the sessions of a run.
func sessionsOf(s *pawl.State) []Session {
	reports := []Session{}
	for _, x := range s.SessionsByTime() {
		report := Session{
			Session: x.Session, Agent: x.Session.Agent(), Native: x.Session.Native(), Parent: x.Session.Parent(), Doing: x.Doing,
			Gone: sessions.AgentGone(x), Why: x.Why, Asked: x.Asked, Said: x.Said, Tree: x.Worktree, Done: x.Did, Since: x.Since, Seen: x.Seen,
		}
		if x.Process != nil {
			report.PID = x.Process.PID
		}
		if !report.Gone {
			report.Calls = callsOf(s, x.Session)
		}
		reports = append(reports, report)
	}
	return reports
}

// callsOf returns the tool calls of a live session that are running.
func callsOf(s *pawl.State, session pawl.SessionID) (calls []Call) {
	for _, o := range s.Operations {
		if o.Session == session && !o.Abandoned {
			calls = append(calls, Call{Tool: o.Tool, Summary: o.Summary, Dir: o.Dir, Since: o.Began})
		}
	}
	slices.SortFunc(calls, func(a, b Call) int { return a.Since.Compare(b.Since) })
	return calls
}

// AddSessions adds the run's agent sessions, and the tool calls without a recorded outcome, checked now.
func (r *Report) AddSessions(ctx context.Context, p *project.Project, s *pawl.State) {
	r.Sessions, r.Doubts = sessionsOf(s), toolCallsInDoubt(ctx, p, s)
	for i, x := range r.Sessions {
		if x.Tree != "" {
			r.Sessions[i].Branch, r.Sessions[i].NoTree = sessions.WorktreeBranch(ctx, p, x.Tree)
		}
	}
}

// CountSessions adds the run's agent sessions, without checking tool calls.
func (r *Report) CountSessions(s *pawl.State) { r.Sessions = sessionsOf(s) }

// toolCallsInDoubt returns the tool calls without a recorded outcome, checked now.
func toolCallsInDoubt(ctx context.Context, p *project.Project, s *pawl.State) []sessions.ReconciledOperation {
	return append([]sessions.ReconciledOperation{}, sessions.InDoubt(ctx, p, s)...) // none is [], not null
}

func printSessions(w io.Writer, sessions []Session) {
	for _, x := range sessions {
		fmt.Fprintf(w, "\nsession %s  %s; %s; last activity %s\n", x.Session, doing(x), layout.Count(x.Done, "finished tool call"), layout.UTCWithZone(x.Seen))
		printWorktree(w, x)
		for _, c := range x.Calls {
			fmt.Fprintf(w, "  runs   %s %s%s since %s\n", c.Tool, layout.OneLine(c.Summary), inFolder(c.Dir), layout.UTCWithZone(c.Since))
		}
		if x.Asked != "" {
			fmt.Fprintf(w, "  asked  %s\n", layout.OneLine(x.Asked))
		}
		if x.Said != "" {
			fmt.Fprintf(w, "  said   %s\n", layout.OneLine(x.Said))
		}
	}
}

func printWorktree(w io.Writer, x Session) {
	switch {
	case x.Tree == "":
	case x.NoTree:
		fmt.Fprintf(w, "  in     worktree %s, which no longer exists\n", x.Tree)
	default:
		fmt.Fprintf(w, "  in     worktree %s on %s\n", x.Tree, x.Branch)
	}
}

// doing says what a session does, or how it ended. One whose agent exited between two turns has left nothing unfinished.
func doing(x Session) string {
	switch {
	case x.Gone && x.Doing == pawl.SessionIdle:
		return "ended after its last turn"
	case x.Gone && x.Doing != pawl.SessionIsEnded:
		return "ended unexpectedly"
	case x.Doing == pawl.SessionAsks:
		return "working; it has asked for permission"
	}
	return string(x.Doing)
}

func printInDoubt(w io.Writer, doubts []sessions.ReconciledOperation) {
	for _, d := range doubts {
		fmt.Fprintf(w, "\nin doubt  tool call %d %s: %s  %s%s\n", d.Seq, d.Verdict, d.Tool, layout.OneLine(d.Summary), inFolder(d.Dir))
		fmt.Fprintf(w, "  session %s, started %s\n", d.Session, layout.UTCWithZone(d.Began))
		for _, line := range d.Evidence {
			fmt.Fprintf(w, "  - %s\n", line)
		}
	}
}

// inFolder names the folder of a tool call; empty for the project's.
func inFolder(dir string) string {
	if dir == "" {
		return ""
	}
	return "  (in folder " + layout.OneLine(dir) + ")"
}
