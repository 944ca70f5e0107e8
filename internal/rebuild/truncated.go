package rebuild

import (
	"errors"
	"fmt"
	"io"
	"os"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// CheckTruncated returns an error of KindDamaged where others know of more events than a run's journal has. Cut at the end of a
// line it looks whole, and to go on from it would be to do finished work again.
func CheckTruncated(p *project.Project, r *runs.Run) error {
	run := r.State.Run
	if last, err := r.Log.Event(r.State.Seq); err != nil || last.By == By() {
		return errors.Join(err, runs.RewriteViews(p, r)) // it was rebuilt, and who did so died before that
	}
	for who, knows := range map[string]func() pawl.Seq{
		"state.json": func() pawl.Seq { return journal.CachedSeq(p.Runs(), run) },
		"STATE.md":   func() pawl.Seq { return stateSeq(p, run) },
	} {
		seq := knows()
		if seq <= r.State.Seq {
			continue
		}
		if err := r.Refresh(); err != nil {
			return err
		}
		if seq > r.State.Seq { // nobody has just written it
			return &pawl.Error{
				Kind: pawl.KindDamaged, Hint: "pawl recover " + string(run),
				Err: fmt.Errorf("the journal of run %s ends at event %d, and %s knows of event %d: its end is lost", run, r.State.Seq, who, seq),
			}
		}
	}
	ref, ok, err := orphanAttempt(p, r)
	if err != nil || !ok {
		return err
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Hint: "pawl recover " + string(run),
		Err: fmt.Errorf("the journal of run %s ends at event %d, and does not know attempt %d of %s, which left its records: its end is lost", run, r.State.Seq, ref.Attempt, ref.Name()),
	}
}

// stateSeq reads as much of STATE.md as says of which event it knows.
func stateSeq(p *project.Project, run pawl.RunID) pawl.Seq {
	file, err := os.Open(p.StateFile(run))
	if err != nil {
		return 0
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 8<<10)) // what is missing does not say it
	return StateSeq(run, string(head))
}
