package sessions

import (
	"context"
	"errors"
	"slices"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
)

// RunOfSession returns the run of an agent's session: the unfinished run that knows it, else the current one, else a
// new session run.
func RunOfSession(ctx context.Context, p *project.Project, id pawl.SessionID, version string) (run pawl.RunID, known bool, err error) {
	ids, err := runs.List(p)
	if err != nil {
		return "", false, err
	}
	for _, run := range ids {
		if s, err := runs.LoadState(ctx, p, run); err == nil && !s.Ended() && s.Sessions[id] != nil {
			return run, true, nil
		}
	}
	run, err = history.EnsureRun(ctx, p, version)
	return run, false, err
}

// SessionAbove returns the session whose agent started a process, directly or indirectly, and its run; both are "" for
// none. Of several sessions of an agent it returns the last active one.
func SessionAbove(ctx context.Context, p *project.Project, pid int) (pawl.RunID, pawl.SessionID, error) {
	ids, err := runs.List(p)
	if err != nil {
		return "", "", err
	}
	table, err := process.Table()
	if err != nil {
		return "", "", err
	}
	above := process.Ancestors(table, pid)
	for _, run := range ids {
		s, err := runs.LoadState(ctx, p, run)
		if err != nil || s.Ended() {
			continue
		}
		for _, x := range s.SessionsByTime() {
			if x.Session.Parent() == "" && x.Process != nil && above[x.Process.PID] && !AgentGone(x) {
				return run, x.Session, nil
			}
		}
	}
	return "", "", ctx.Err()
}

// Welcome is the brief for a new session and what the caller must do about it.
type Welcome struct {
	Brief          string                // "" if there is nothing to report
	Others         []pawl.SessionID      // other live sessions that work on the same files
	Operations     []ReconciledOperation // tool calls in doubt that the brief reports
	Runs           []pawl.RunID          // other runs of some of these calls
	UnreadableRuns []pawl.Finding        // other runs that cannot be read
	Open           []pawl.SessionID      // sessions whose unfinished turns the brief reports

	run       pawl.RunID
	otherRuns []runDoubts // the calls by run
}

// BeginSession journals the start of a session, reconciles tool calls in doubt, and returns the brief: a full one, or
// for a continued session the news. Call Welcome.MarkReported after the session got it.
func BeginSession(ctx context.Context, p *project.Project, run pawl.RunID, began pawl.SessionBegan, b Briefing) (Welcome, error) {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return Welcome{}, err
	}
	defer r.Log.Close()
	known := r.State.Sessions[began.Session]
	var told pawl.Seq
	if known != nil {
		told = known.Seq
	}
	by := pawl.Author{Kind: pawl.ByHook, Name: began.Session.Agent(), Session: began.Session.Native()}
	nothing := r.State.Seq <= 1
	if err := r.Perform(ctx, p, by, appendAct(began)); err != nil {
		return Welcome{}, err
	}
	w := Welcome{Others: liveOthers(r.State, began)}
	if began.Session.Parent() != "" {
		return w, nil // a subagent gets its instructions from its parent
	}
	return w.tell(ctx, p, r, began, nothing, told, b)
}

// TellSession reconciles tool calls in doubt and returns the full brief for a session that did not get one when it began, or lost it.
func TellSession(ctx context.Context, p *project.Project, run pawl.RunID, began pawl.SessionBegan, b Briefing) (Welcome, error) {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return Welcome{}, err
	}
	defer r.Log.Close()
	return Welcome{}.tell(ctx, p, r, began, false, 0, b)
}

// tell reconciles tool calls in doubt and returns the brief: the news after the event told if the session continues.
func (w Welcome) tell(ctx context.Context, p *project.Project, r *runs.Run, began pawl.SessionBegan, nothing bool, told pawl.Seq, b Briefing) (Welcome, error) {
	if err := w.judge(ctx, p, r); err != nil {
		return w, err
	}
	if remembered, err := p.Memories(); nothing && (err != nil || len(remembered) == 0) {
		return w, nil
	}
	b.Operations = append([]ReconciledOperation{}, w.Operations...)
	b.Findings = append(b.Findings, w.UnreadableRuns...)
	b.Session = began.Session
	if began.Source == "resume" {
		b.After = told
	}
	text, err := Brief(ctx, p, r.State.Run, b)
	if err != nil || text.Nothing {
		return w, err
	}
	w.Brief, w.Open = text.Text, text.Open
	return w, nil
}

func appendAct(payloads ...pawl.Payload) runs.Act {
	return func(*project.Project, *runs.Run) ([]pawl.Payload, error) { return payloads, nil }
}

// judge reconciles tool calls in doubt of this run and others.
func (w *Welcome) judge(ctx context.Context, p *project.Project, r *runs.Run) error {
	others, err := otherRunsInDoubt(ctx, p, r.State.Run)
	if err != nil {
		return err
	}
	w.run = r.State.Run
	here := doubtsOf(r.State).settled(ctx, r.State)
	w.Operations, w.UnreadableRuns = reconcileAll(ctx, p, here, others), unreadableFindings(others)
	w.otherRuns = append(others, here)
	for _, e := range others {
		if len(e.inDoubt) > 0 {
			w.Runs = append(w.Runs, e.run)
		}
	}
	return nil
}

// MarkReported journals in each run which tool calls and unfinished turns were reported to the session. If it is not called, the next
// session gets the same report.
func (w *Welcome) MarkReported(ctx context.Context, p *project.Project, by pawl.Author, redact func(string) string) error {
	told := pawl.SessionIDOf(by.Name, by.Session, "")
	for _, e := range w.otherRuns {
		report := append(endings(e.inDoubt, e.said, redact), judged(told, e.operationsOf(w.Operations), redact)...)
		if e.run == w.run && len(w.Open) > 0 {
			report = append(report, pawl.SessionTold{Session: told, Open: w.Open})
		}
		if len(report) == 0 {
			continue
		}
		r, err := runs.Perform(ctx, p, e.run, by, appendAct(report...))
		if err == nil {
			err = r.Log.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// judged returns the verdicts on tool calls, with the session that they were reported to.
func judged(told pawl.SessionID, doubts []ReconciledOperation, redact func(string) string) (payloads []pawl.Payload) {
	for _, d := range doubts {
		payloads = append(payloads, pawl.OperationJudged{Operation: d.ID, Verdict: d.Verdict, Evidence: redactEvidence(d.Evidence, redact), Runs: d.Runs, Traces: d.Traces, Paths: redactEvidence(d.Touched, redact), Reads: d.Reads, Told: told})
	}
	return payloads
}

// maxEvidence is how many lines of evidence an event has.
const maxEvidence = 16

// redactEvidence removes secrets from command lines and file names.
func redactEvidence(lines []string, redact func(string) string) []string {
	kept := slices.Clone(lines[:min(len(lines), maxEvidence)])
	for i := range kept {
		kept[i] = runs.ClipText(redact(kept[i]))
	}
	return kept
}

// liveOthers returns other live sessions in the worktree of a session, without subagents. Each worktree has files of its own.
func liveOthers(s *pawl.State, began pawl.SessionBegan) []pawl.SessionID {
	var others []pawl.SessionID
	for _, x := range s.SessionsByTime() {
		if x.Session != began.Session && x.Worktree == began.Worktree && x.Session.Parent() == "" && x.Doing != pawl.SessionIsEnded && x.Process != nil && !AgentGone(x) {
			others = append(others, x.Session)
		}
	}
	return others
}

// Alive returns those of the sessions of a run that are alive.
func Alive(ctx context.Context, p *project.Project, run pawl.RunID, ids []pawl.SessionID) ([]pawl.SessionID, error) {
	s, err := runs.LoadState(ctx, p, run)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id pawl.SessionID) bool {
		x := s.Sessions[id]
		return x == nil || AgentGone(x)
	}), nil
}

// quietSession is how long a session without a known process may be silent before it counts as ended.
const quietSession = 30 * time.Minute

// AgentGone reports whether a session's agent has exited. If its process is unknown or not visible from here, long
// silence counts as its end.
func AgentGone(x *pawl.SessionState) bool {
	if x.Doing == pawl.SessionIsEnded {
		return true
	}
	if x.Process != nil {
		_, err := process.Find(*x.Process)
		if err == nil || errors.Is(err, process.ErrGone) {
			return err != nil
		}
	}
	return time.Since(x.Seen) > quietSession
}

// sessionsOf returns the sessions of a run for a brief.
func sessionsOf(ctx context.Context, p *project.Project, s *pawl.State, reader pawl.SessionID) []brief.Session {
	var told []brief.Session
	for _, x := range s.SessionsByTime() {
		if x.Session.Parent() != "" {
			continue
		}
		about := brief.Session{SessionState: *x, Gone: AgentGone(x), Reader: x.Session == reader}
		if x.Worktree != "" {
			about.Branch, about.NoWorktree = WorktreeBranch(ctx, p, x.Worktree)
		}
		told = append(told, about)
	}
	correctOutcomes(ctx, s, told)
	return told
}
