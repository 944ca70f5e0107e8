package rebuild

import (
	"errors"
	"fmt"
	"io"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// MayContinue returns an error for a run whose journal was truncated, and for one that was made elsewhere, unless the resume is dry.
func MayContinue(p *project.Project, r *runs.Run, dry bool) error {
	if err := CheckTruncated(p, r); err != nil || dry {
		return err
	}
	return runs.RequireOwn(p, r.State.Run)
}

// CheckTruncated returns an error of KindDamaged if other files know more events than the journal has. A journal cut at
// the end of a line looks intact, and continuing from it would repeat finished work.
func CheckTruncated(p *project.Project, r *runs.Run) error {
	run := r.State.Run
	if last, err := r.Log.Event(r.State.Seq); err != nil || last.By == By() {
		return errors.Join(err, runs.RewriteViews(p, r)) // a rebuild was accepted and then interrupted
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
		if seq > r.State.Seq { // not just written by another process
			return &pawl.Error{
				Kind: pawl.KindDamaged, Hint: "pawl recover " + string(run),
				Err: fmt.Errorf("the journal of run %s ends at event %d, but %s has event %d: the journal was truncated", run, r.State.Seq, who, seq),
			}
		}
	}
	ref, ok, err := orphanAttempt(p, r)
	if err != nil || !ok {
		return err
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Hint: "pawl recover " + string(run),
		Err: fmt.Errorf("the journal of run %s ends at event %d and does not contain attempt %d of %s, which left records: the journal was truncated", run, r.State.Seq, ref.Attempt, ref.Name()),
	}
}

// stateSeq returns the event that STATE.md was made from, reading only its head.
func stateSeq(p *project.Project, run pawl.RunID) pawl.Seq {
	file, err := disk.Open(p.StateFile(run))
	if err != nil {
		return 0
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 8<<10)) // best effort
	return StateSeq(run, string(head))
}
