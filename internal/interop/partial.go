package interop

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// partialWork finds what the steps of a run have changed: the difference between the last snapshot before a step started and, for
// a finished step, the one taken when it was done. It leaves out the other system's own files. What others change while a step runs
// counts as changed by the step. If other steps ran concurrently, it is unknown which one made a change.
type partialWork struct {
	project     *project.Project
	run         *runs.Run
	store       *snapshot.Store // nil: only declared outputs are known
	ownPatterns []string        // of the other system's files
}

// partial returns what an unfinished step has done so far; nil if it has not started, or is finished. Without snapshots, and if
// other steps ran concurrently, it reports only the step's declared outputs.
func (b partialWork) partial(ctx context.Context, id pawl.StepID) *format.Partial {
	st := b.run.State.Steps[id]
	if st == nil || st.Finished() || st.Attempts == 0 && st.Retries.Live == nil {
		return nil
	}
	p := &format.Partial{Staged: isStaged(ctx, b.project.Root)}
	if st.Progress != nil {
		p.Last = st.Progress.Text
	}
	changes, err := b.changes(ctx, st)
	if err != nil || b.concurrent(id) {
		p.Created = b.declaredOutputs(id)
		return p
	}
	p.Created, p.Modified = b.split(changes)
	return p
}

// files returns what a finished step did to files.
func (b partialWork) files(ctx context.Context, id pawl.StepID) format.StepFiles {
	st := b.run.State.Steps[id]
	switch {
	case st == nil || st.Status != pawl.Done || st.Attempts == 0:
		return format.StepFiles{}
	case b.concurrent(id):
		return format.StepFiles{Unknown: "other steps ran at the same time"}
	}
	base, end, err := b.around(id, st)
	if err != nil {
		return format.StepFiles{Unknown: err.Error()}
	}
	compared, err := b.store.Compare(ctx, *base, end, nil)
	if err != nil {
		return format.StepFiles{Unknown: "its snapshots cannot be compared"}
	}
	var found format.StepFiles
	found.Created, found.Modified = b.split(compared.Changes)
	return found
}

// around returns the last snapshot before a step started, and the one that was taken when it was done.
func (b partialWork) around(id pawl.StepID, st *pawl.StepState) (base, end *snapshot.Record, err error) {
	if base, _, err = b.snapshots(st); err != nil {
		return nil, nil, err
	}
	records, err := b.store.Records()
	if err != nil {
		return nil, nil, err
	}
	for i := range records {
		if r := &records[i]; r.Run == b.run.State.Run && r.Step == id && r.Item == "" && r.Kind == pawl.CheckpointStep && r.Ended.After(st.Started) {
			end = r
		}
	}
	if end == nil {
		err = errors.New("no snapshot was taken when the step was done")
	}
	return base, end, err
}

// split returns the created and the modified files among changes.
// It leaves out temporary files of pawl: a snapshot that is taken while pawl writes the mirror contains some.
func (b partialWork) split(changes []snapshot.Change) (created, modified []string) {
	for _, c := range changes {
		switch {
		case c.New == nil || c.New.Kind == snapshot.Folder || disk.IsTemp(c.Path) || format.Wanted(b.ownPatterns, c.Path):
		case len(created)+len(modified) >= maxPartialFiles:
			return created, modified
		case c.Old == nil:
			created = append(created, c.Path)
		default:
			modified = append(modified, c.Path)
		}
	}
	return created, modified
}

// concurrent reports whether other steps ran at the same time as this one: then it is unknown which step made a change.
func (b partialWork) concurrent(id pawl.StepID) bool {
	st := b.run.State.Steps[id]
	for other, o := range b.run.State.Steps {
		before := !o.Ended.IsZero() && !o.Ended.After(st.Started) || !st.Ended.IsZero() && !o.Started.Before(st.Ended)
		if other != id && o.Attempts > 0 && !before {
			return true
		}
	}
	return false
}

// maxPartialFiles limits the files that are named of a step.
const maxPartialFiles = 400

var errNoBase = errors.New("no snapshot was taken before the step began")

// changes compares the workspace before the step started with the emergency snapshot of its last attempt or, if there is
// none, with the workspace now.
func (b partialWork) changes(ctx context.Context, st *pawl.StepState) ([]snapshot.Change, error) {
	base, cut, err := b.snapshots(st)
	if err != nil {
		return nil, err
	}
	compared, err := b.store.Compare(ctx, *base, cut, nil)
	if err != nil {
		return nil, err
	}
	return compared.Changes, compared.Close()
}

// snapshots returns the run's last snapshot before a step started, and the emergency snapshot of its last attempt, nil if
// there is none.
func (b partialWork) snapshots(st *pawl.StepState) (base, cut *snapshot.Record, err error) {
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

// madeBy returns the files that a running step has created or modified so far, or why that is unknown.
func madeBy(ctx context.Context, p *project.Project, run pawl.RunID, id pawl.StepID) (files []string, unknown string) {
	cfg, err := config.Of(p)
	if err != nil {
		return nil, err.Error()
	}
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return nil, err.Error()
	}
	defer r.Log.Close()
	b := partialWork{project: p, run: r}
	st := r.State.Steps[id]
	if st == nil || b.concurrent(id) {
		return nil, "other steps ran at the same time"
	}
	if b.store, err = runs.OpenSnapshotsReadOnly(ctx, p, cfg.Snapshots); err != nil {
		return nil, err.Error()
	}
	defer b.store.Close()
	changes, err := b.changes(ctx, st)
	if err != nil {
		return nil, err.Error()
	}
	created, modified := b.split(changes)
	return slices.Concat(created, modified), ""
}

// existed reports whether something was at a path before a step started, and whether that is known.
func (b partialWork) existed(id pawl.StepID, path string) (existed, known bool) {
	st := b.run.State.Steps[id]
	if st == nil {
		return false, false
	}
	base, _, err := b.snapshots(st)
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

// declaredOutputs returns the declared outputs of a step that exist.
func (b partialWork) declaredOutputs(id pawl.StepID) []string {
	if b.run.Plan == nil {
		return nil
	}
	if step := b.run.Plan.Step(id); step != nil && step.Foreach == nil {
		return resume.NonEmptyOutputs(b.project.Root, step.Outputs)
	}
	return nil
}

// isStaged reports whether the git index has staged changes.
func isStaged(ctx context.Context, root string) bool {
	_, err := git.Output(ctx, root, "diff-index", "--cached", "--quiet", "HEAD")
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 1
}
