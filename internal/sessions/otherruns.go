package sessions

import (
	"context"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// elsewhere is what is in doubt in a run that is not the one at hand.
type elsewhere struct {
	run    pawl.RunID
	doubts []*pawl.OperationState
	err    error // why it is not known
}

// manyRuns is how many runs are searched for what is in doubt, the newest ones.
const manyRuns = 20

// doubtsElsewhere returns what is in doubt in the project's other runs. A session may have died in one that is not, or no
// longer, the current one: a plan was started, or has completed, while it was at work.
func doubtsElsewhere(ctx context.Context, p *project.Project, not pawl.RunID) ([]elsewhere, error) {
	ids, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	var found []elsewhere
	for _, run := range ids[:min(len(ids), manyRuns)] {
		if run == not {
			continue
		}
		s, err := runs.LoadState(ctx, p, run)
		if err != nil {
			found = append(found, elsewhere{run: run, err: err})
			continue
		}
		doubts := s.InDoubt(SessionGone)
		for _, o := range doubts {
			o.Overlaps = true // that run knows nothing of those who have worked in this one since
		}
		if len(doubts) > 0 {
			found = append(found, elsewhere{run: run, doubts: doubts})
		}
	}
	return found, ctx.Err()
}

// allDoubts returns what is in doubt in a run and elsewhere.
func allDoubts(s *pawl.State, others []elsewhere) []*pawl.OperationState {
	all := s.InDoubt(SessionGone)
	for _, e := range others {
		all = append(all, e.doubts...)
	}
	return all
}

// of returns those of some judged operations that are in doubt there.
func (e elsewhere) of(all []DoubtfulOperation) (its []DoubtfulOperation) {
	for _, o := range e.doubts {
		for _, d := range all {
			if d.ID == o.ID {
				its = append(its, d)
			}
		}
	}
	return its
}

// unread says which runs cannot be read.
func unread(others []elsewhere) (found []pawl.Finding) {
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
