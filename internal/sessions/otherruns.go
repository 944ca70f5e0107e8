package sessions

import (
	"context"
	"maps"
	"slices"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/transcript"
)

// otherRun lists the tool calls in doubt of another run.
type otherRun struct {
	run     pawl.RunID
	inDoubt []*pawl.OperationState
	said    map[pawl.OperationID]transcript.Outcome // by the agents' own records
	left    []pawl.LeftProcess
	err     error // why they are unknown
}

// maxRuns is how many runs are searched, newest first.
const maxRuns = 20

// otherRunsInDoubt returns the tool calls in doubt of the project's other runs. A session's run may no longer be the
// current one, because a plan was started or completed meanwhile. Runs that were made elsewhere are left out.
func otherRunsInDoubt(ctx context.Context, p *project.Project, not pawl.RunID) ([]otherRun, error) {
	ids, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	var found []otherRun
	for _, run := range ids[:min(len(ids), maxRuns)] {
		if run == not || !runs.Claimed(p, run) {
			continue
		}
		s, err := runs.LoadState(ctx, p, run)
		if err != nil {
			found = append(found, otherRun{run: run, err: err})
			continue
		}
		doubts := s.InDoubt(AgentGone)
		for _, o := range doubts {
			o.Overlaps = true // that run does not record sessions that worked in this one
		}
		if len(doubts) > 0 {
			found = append(found, otherRun{run: run, inDoubt: doubts, said: settle(ctx, s, doubts), left: s.Left})
		}
	}
	return found, ctx.Err()
}

// inDoubtHere returns the tool calls in doubt of a run that is loaded.
func inDoubtHere(ctx context.Context, s *pawl.State) otherRun {
	doubts := s.InDoubt(AgentGone)
	return otherRun{run: s.Run, inDoubt: doubts, said: settle(ctx, s, doubts), left: s.Left}
}

// reconcileAll finds out how far the tool calls in doubt of a run and of others came.
func reconcileAll(ctx context.Context, p *project.Project, here otherRun, others []otherRun) []ReconciledOperation {
	all, said := slices.Clone(here.inDoubt), map[pawl.OperationID]transcript.Outcome{}
	maps.Copy(said, here.said)
	left := slices.Clone(here.left)
	for _, e := range others {
		all = append(all, e.inDoubt...)
		maps.Copy(said, e.said)
		left = append(left, e.left...)
	}
	return nameRuns(Reconcile(ctx, p, all, said, left), others)
}

// nameRuns sets the run of each reconciled call that belongs to another run.
func nameRuns(all []ReconciledOperation, others []otherRun) []ReconciledOperation {
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
func (e otherRun) operationsOf(all []ReconciledOperation) (its []ReconciledOperation) {
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
func unreadableFindings(others []otherRun) (found []pawl.Finding) {
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
