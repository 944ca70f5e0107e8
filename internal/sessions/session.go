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

// RunOfSession returns the run that an agent's session belongs to: the one that knows it and is not over, else the current
// one, else a session run, which is made if need be.
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

// SessionAbove returns the session whose agent started a process, or what started that, and the run that knows it; empty
// where no agent did. Of several of one agent it is the one that was heard of last.
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

// Welcome is what a session is told when it begins, and what else is to be done about it.
type Welcome struct {
	Brief          string                // empty: there is nothing to tell
	Others         []pawl.SessionID      // other sessions that live in this project
	Operations     []ReconciledOperation // what it was told of operations in doubt
	Runs           []pawl.RunID          // other runs in which some of them are
	UnreadableRuns []pawl.Finding        // other runs of which it is not known

	otherRuns []otherRun // where they are in doubt
}

// BeginSession journals that a session began, reconciles what earlier ones left in doubt, and returns what the session is
// to be told: all of it, or where the session only goes on, what is new to it. Once it was told, see Welcome.Told.
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
		return w, nil // a subagent is told what to do by its parent
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

// judge finds out what is in doubt, in the session's run and elsewhere.
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

// MarkReported journals what the session was told of operations in doubt, each in its run. Before that nobody counts as told: where
// it dies, the next session is told again.
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

// judgedAct says how operations in doubt were judged, and who was told.
func judgedAct(told pawl.SessionID, doubts []ReconciledOperation, redact func(string) string) runs.Act {
	var payloads []pawl.Payload
	for _, d := range doubts {
		payloads = append(payloads, pawl.OperationJudged{Operation: d.ID, Verdict: d.Verdict, Evidence: redactEvidence(d.Evidence, redact), Runs: d.Runs, Traces: d.Traces, Told: told})
	}
	return appendAct(payloads...)
}

// maxEvidence is how many lines of evidence an event has.
const maxEvidence = 16

// redactEvidence returns evidence as it may be journaled: the command lines of processes and the names of files may hold secrets.
func redactEvidence(lines []string, redact func(string) string) []string {
	kept := slices.Clone(lines[:min(len(lines), maxEvidence)])
	for i := range kept {
		kept[i] = runs.ClipText(redact(kept[i]))
	}
	return kept
}

// liveOthers returns the other agents' sessions that live, but for their subagents.
func liveOthers(s *pawl.State, id pawl.SessionID) []pawl.SessionID {
	var others []pawl.SessionID
	for _, x := range s.SessionsByTime() {
		if x.Session != id && x.Session.Parent() == "" && x.Doing != pawl.SessionIsEnded && x.Process != nil && !AgentGone(x) {
			others = append(others, x.Session)
		}
	}
	return others
}

// quietSession is how long a session whose process is not known may say nothing before it counts as gone.
const quietSession = 30 * time.Minute

// AgentGone reports whether a session's agent is no more. Where its process is not known, or cannot be seen from here, a
// long silence is taken for its end.
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

// sessionsOf returns what a brief tells of the sessions of a run.
func sessionsOf(s *pawl.State, reader pawl.SessionID) []brief.Session {
	var told []brief.Session
	for _, x := range s.SessionsByTime() {
		if x.Session.Parent() == "" {
			told = append(told, brief.Session{SessionState: *x, Gone: AgentGone(x), Reader: x.Session == reader})
		}
	}
	return told
}
