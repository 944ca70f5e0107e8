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
	Others         []pawl.SessionID      // other live sessions in this project
	Operations     []ReconciledOperation // tool calls in doubt that the brief reports
	Runs           []pawl.RunID          // other runs of some of these calls
	UnreadableRuns []pawl.Finding        // other runs that cannot be read

	otherRuns []otherRun // the calls by run
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
	w := Welcome{Others: liveOthers(r.State, began.Session)}
	if began.Session.Parent() != "" {
		return w, nil // a subagent gets its instructions from its parent
	}
	if err := w.judge(ctx, p, r); err != nil {
		return w, err
	}
	if remembered, err := p.Memories(); nothing && (err != nil || len(remembered) == 0) {
		return w, nil
	}
	b.Operations = append([]ReconciledOperation{}, w.Operations...)
	b.Findings = append(b.Findings, w.UnreadableRuns...)
	b.Session = began.Session
	if began.Source == "resume" && known != nil {
		b.After = told
	}
	text, err := Brief(ctx, p, run, b)
	w.Brief = text.Text
	return w, err
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
	w.Operations, w.UnreadableRuns = Reconcile(ctx, p, allInDoubt(r.State, others)), unreadableFindings(others)
	w.otherRuns = append(others, otherRun{run: r.State.Run, inDoubt: r.State.InDoubt(AgentGone)})
	for _, e := range others {
		if len(e.inDoubt) > 0 {
			w.Runs = append(w.Runs, e.run)
		}
	}
	return nil
}

// MarkReported journals in each run which tool calls were reported to the session. If it is not called, the next
// session gets the same report.
func (w *Welcome) MarkReported(ctx context.Context, p *project.Project, by pawl.Author, redact func(string) string) error {
	told := pawl.SessionIDOf(by.Name, by.Session, "")
	for _, e := range w.otherRuns {
		if len(e.inDoubt) == 0 {
			continue
		}
		r, err := runs.Perform(ctx, p, e.run, by, judgedAct(told, e.operationsOf(w.Operations), redact))
		if err == nil {
			err = r.Log.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// judgedAct journals the verdicts on tool calls and the session that they were reported to.
func judgedAct(told pawl.SessionID, doubts []ReconciledOperation, redact func(string) string) runs.Act {
	var payloads []pawl.Payload
	for _, d := range doubts {
		payloads = append(payloads, pawl.OperationJudged{Operation: d.ID, Verdict: d.Verdict, Evidence: redactEvidence(d.Evidence, redact), Runs: d.Runs, Traces: d.Traces, Told: told})
	}
	return appendAct(payloads...)
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

// liveOthers returns other live sessions, without subagents.
func liveOthers(s *pawl.State, id pawl.SessionID) []pawl.SessionID {
	var others []pawl.SessionID
	for _, x := range s.SessionsByTime() {
		if x.Session != id && x.Session.Parent() == "" && x.Doing != pawl.SessionIsEnded && x.Process != nil && !AgentGone(x) {
			others = append(others, x.Session)
		}
	}
	return others
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
func sessionsOf(s *pawl.State, reader pawl.SessionID) []brief.Session {
	var told []brief.Session
	for _, x := range s.SessionsByTime() {
		if x.Session.Parent() == "" {
			told = append(told, brief.Session{SessionState: *x, Gone: AgentGone(x), Reader: x.Session == reader})
		}
	}
	return told
}
