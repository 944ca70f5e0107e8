package interop

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// begunWork finds what was begun of a run's steps and not finished: what differs from the last checkpoint before a step
// began. Its own files another system writes itself, and what other steps finished since is theirs. Where others were at work
// at the same time it is only what the step declares.
type begunWork struct {
	project *project.Project
	run     *runs.Run
	store   *snapshot.Store // nil: there are only the outputs that a step declares
	own     []string        // patterns of the other system's files
}

// of returns what was begun of a step; nil where that is nothing, or nobody knows.
func (b begunWork) of(ctx context.Context, id pawl.StepID) *format.Partial {
	st := b.run.State.Steps[id]
	if st == nil || st.Finished() || st.Attempts == 0 && st.Retries.Live == nil {
		return nil
	}
	p := &format.Partial{Staged: isStaged(ctx, b.project.Root)}
	if st.Progress != nil {
		p.Last = st.Progress.Text
	}
	changes, err := b.changes(ctx, st)
	if err != nil || b.beside(id) {
		p.Created = b.declared(id)
		return p
	}
	others := b.finishedByOthers(id)
	for _, c := range changes {
		switch {
		case c.New == nil || c.New.Kind == snapshot.Folder || others[c.Path] || format.Wanted(b.own, c.Path):
		case len(p.Created)+len(p.Modified) >= mostFiles:
			return p
		case c.Old == nil:
			p.Created = append(p.Created, c.Path)
		default:
			p.Modified = append(p.Modified, c.Path)
		}
	}
	return p
}

// beside reports whether other steps were at work at the same time as one: nobody knows then whose a change is.
func (b begunWork) beside(id pawl.StepID) bool {
	st := b.run.State.Steps[id]
	for other, o := range b.run.State.Steps {
		before := !o.Ended.IsZero() && !o.Ended.After(st.Started) || !st.Ended.IsZero() && !o.Started.Before(st.Ended)
		if other != id && o.Attempts > 0 && !before {
			return true
		}
	}
	return false
}

// mostFiles is how many files a partial step names.
const mostFiles = 400

var errNoBase = errors.New("no snapshot was taken before the step began")

// changes compares the workspace, as it was when the step's last attempt was cut off or else as it is, with how it was
// before the step began.
func (b begunWork) changes(ctx context.Context, st *pawl.StepState) ([]snapshot.Change, error) {
	base, cut, err := b.around(st)
	if err != nil {
		return nil, err
	}
	compared, err := b.store.Compare(ctx, *base, cut, nil)
	if err != nil {
		return nil, err
	}
	return compared.Changes, compared.Close()
}

// around returns the last snapshot of the run before a step began, and that of its last attempt as it was cut off, nil where
// there is none.
func (b begunWork) around(st *pawl.StepState) (base, cut *snapshot.Record, err error) {
	if b.store == nil {
		return nil, nil, errNoBase
	}
	records, err := b.store.Records()
	if err != nil {
		return nil, nil, err
	}
	for i := range records {
		switch r := &records[i]; {
		case r.Run != b.run.State.Run:
		case st.Retries.Live == nil && st.Retries.Last != nil && r.Kind == pawl.CheckpointEmergency && r.Token == st.Retries.Last.Token:
			cut = r
		case r.Kind != pawl.CheckpointEmergency && r.Kind != pawl.CheckpointBeforeRestore && !r.Ended.After(st.Started):
			base = r
		}
	}
	if base == nil {
		err = errNoBase
	}
	return base, cut, err
}

// existed reports whether there was something at a path before a step began; known is false where nobody can tell.
func (b begunWork) existed(id pawl.StepID, path string) (existed, known bool) {
	st := b.run.State.Steps[id]
	if st == nil {
		return false, false
	}
	base, _, err := b.around(st)
	if err != nil {
		return false, false
	}
	entry, err := b.store.At(*base, path)
	if err != nil || entry != nil {
		return entry != nil, err == nil
	}
	left, err := b.store.LeftOutOf(*base)
	return false, err == nil && !slices.ContainsFunc(left, func(l snapshot.LeftOut) bool { return path == l.Path || strings.HasPrefix(path, l.Path+"/") })
}

// declared returns the outputs that a step declares and in which there is something.
func (b begunWork) declared(id pawl.StepID) []string {
	if b.run.Plan == nil {
		return nil
	}
	if step := b.run.Plan.Step(id); step != nil && step.Foreach == nil {
		return resume.NonEmptyOutputs(b.project.Root, step.Outputs)
	}
	return nil
}

// finishedByOthers returns the recorded outputs of the other steps.
func (b begunWork) finishedByOthers(id pawl.StepID) map[string]bool {
	paths := map[string]bool{}
	for other, st := range b.run.State.Steps {
		if other != id && st.Finished() {
			for path := range st.Outputs {
				paths[path] = true
			}
		}
	}
	return paths
}

// isStaged reports whether git has something staged.
func isStaged(ctx context.Context, root string) bool {
	_, err := resume.RunGit(ctx, root, "diff", "--cached", "--quiet")
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 1
}
