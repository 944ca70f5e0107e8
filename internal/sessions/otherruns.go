package sessions

import (
	"context"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// otherRun is what is in doubt in a run that is not the one at hand.
type otherRun struct {
	run     pawl.RunID
	inDoubt []*pawl.OperationState
	err     error // why it is not known
}

// maxRuns is how many runs are searched for what is in doubt, the newest ones.
const maxRuns = 20

// otherRunsInDoubt returns what is in doubt in the project's other runs. A session may have died in one that is not, or no
// longer, the current one: a plan was started, or has completed, while it was at work.
func otherRunsInDoubt(ctx context.Context, p *project.Project, not pawl.RunID) ([]otherRun, error) {
	ids, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	var found []otherRun
	for _, run := range ids[:min(len(ids), maxRuns)] {
		if run == not {
			continue
		}
		s, err := runs.LoadState(ctx, p, run)
		if err != nil {
			found = append(found, otherRun{run: run, err: err})
			continue
		}
		doubts := s.InDoubt(AgentGone)
		for _, o := range doubts {
			o.Overlaps = true // that run knows nothing of those who have worked in this one since
		}
		if len(doubts) > 0 {
			found = append(found, otherRun{run: run, inDoubt: doubts})
		}
	}
	return found, ctx.Err()
}

// allInDoubt returns what is in doubt in a run and elsewhere.
func allInDoubt(s *pawl.State, others []otherRun) []*pawl.OperationState {
	all := s.InDoubt(AgentGone)
	for _, e := range others {
		all = append(all, e.inDoubt...)
	}
	return all
}

// operationsOf returns those of some judged operations that are in doubt there.
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

// unreadableFindings says which runs cannot be read.
func unreadableFindings(others []otherRun) (found []pawl.Finding) {
	for _, e := range others {
		if e.err != nil {
			found = append(found, pawl.Finding{
				Level: pawl.Warn, Where: string(e.run), Hint: "pawl recover " + string(e.run),
				What: "what is in doubt there is not known: " + e.err.Error(),
			})
		}
	}
	return found
}
