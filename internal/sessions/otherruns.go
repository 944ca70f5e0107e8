package sessions

import (
	"context"
	"maps"
	"slices"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise/process"
	"pawl/internal/transcript"
)

// runDoubts is what a run records of its tool calls without an outcome.
type runDoubts struct {
	run     pawl.RunID
	inDoubt []*pawl.OperationState
	open    []*pawl.OperationState                  // those that may still be running
	said    map[pawl.OperationID]transcript.Outcome // of calls in doubt, by the agents' own records
	left    []pawl.LeftProcess                      // by calls with an outcome
	agents  map[pawl.SessionID]int                  // the numbers of the agents' processes that are alive
	err     error                                   // why nothing is known
}

// doubtsOf returns what a run records of its tool calls without an outcome. The agents' own records are not read.
func doubtsOf(s *pawl.State) runDoubts {
	d := runDoubts{run: s.Run, inDoubt: s.InDoubt(AgentGone), left: s.Left, agents: map[pawl.SessionID]int{}}
	for _, o := range s.Operations {
		if !slices.Contains(d.inDoubt, o) {
			d.open = append(d.open, o)
		}
	}
	for _, o := range d.inDoubt {
		x := s.Sessions[o.Session]
		if parent := o.Session.Parent(); parent != "" { // a subagent runs in its agent's process
			x = s.Sessions[parent]
		}
		if x == nil || x.Process == nil {
			continue
		}
		if stat, err := process.Find(*x.Process); err == nil {
			d.agents[o.Session] = stat.PID
		}
	}
	return d
}

// settled adds what the agents' own records say of the calls in doubt.
func (d runDoubts) settled(ctx context.Context, s *pawl.State) runDoubts {
	d.said = settle(ctx, s, d.inDoubt)
	return d
}

// maxRuns is how many runs are searched, newest first.
const maxRuns = 20

// otherRunsInDoubt returns the tool calls in doubt of the project's other runs. A session's run may no longer be the
// current one, because a plan was started or completed meanwhile. Runs that were made elsewhere are left out.
func otherRunsInDoubt(ctx context.Context, p *project.Project, not pawl.RunID) ([]runDoubts, error) {
	ids, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	var found []runDoubts
	for _, run := range ids[:min(len(ids), maxRuns)] {
		if run == not || !runs.Claimed(p, run) {
			continue
		}
		s, err := runs.LoadState(ctx, p, run)
		if err != nil {
			found = append(found, runDoubts{run: run, err: err})
			continue
		}
		d := doubtsOf(s)
		for _, o := range d.inDoubt {
			o.Overlaps = true // that run does not record sessions that worked in this one
		}
		if len(d.inDoubt) > 0 {
			found = append(found, d.settled(ctx, s))
		}
	}
	return found, ctx.Err()
}

// reconcileAll finds out how far the tool calls in doubt of a run and of others came.
func reconcileAll(ctx context.Context, p *project.Project, here runDoubts, others []runDoubts) []ReconciledOperation {
	all := runDoubts{said: map[pawl.OperationID]transcript.Outcome{}, agents: map[pawl.SessionID]int{}}
	for _, d := range append([]runDoubts{here}, others...) {
		all.inDoubt, all.open, all.left = append(all.inDoubt, d.inDoubt...), append(all.open, d.open...), append(all.left, d.left...)
		maps.Copy(all.said, d.said)
		maps.Copy(all.agents, d.agents)
	}
	return nameRuns(reconcile(ctx, p, all), others)
}

// nameRuns sets the run of each reconciled call that belongs to another run.
func nameRuns(all []ReconciledOperation, others []runDoubts) []ReconciledOperation {
	for _, e := range others {
		for _, o := range e.inDoubt {
			for i := range all {
				if all[i].ID == o.ID {
					all[i].Run = e.run
				}
			}
		}
	}
	return all
}

// operationsOf returns those of the reconciled calls that belong to the run.
func (e runDoubts) operationsOf(all []ReconciledOperation) (its []ReconciledOperation) {
	for _, o := range e.inDoubt {
		for _, d := range all {
			if d.ID == o.ID {
				its = append(its, d)
			}
		}
	}
	return its
}

// unreadableFindings reports the runs that cannot be read.
func unreadableFindings(others []runDoubts) (found []pawl.Finding) {
	for _, e := range others {
		if e.err != nil {
			found = append(found, pawl.Finding{
				Level: pawl.Warn, Where: string(e.run), Hint: "pawl recover " + string(e.run),
				What: "cannot check for tool calls in doubt: " + e.err.Error(),
			})
		}
	}
	return found
}
