package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Restore is a planned restore. It holds the engine lock until Close, unless it is a preview.
//
// The checkpoint of the files before the restore carries the intent in the same event, so an interrupted restore can be
// finished or undone. Either one only replaces files that a checkpoint has.
type Restore struct {
	*snapshot.Restoration
	RestoreOptions
	Target     SavedCheckpoint
	Unfinished *pawl.RestoreState // the interrupted restore that this one finishes or undoes; nil for none
	Edited     pawl.CheckpointID  // the checkpoint of edits made since Unfinished was interrupted; empty for none
	EditedIn   []string           // the files with these edits, which the restore replaces or removes
	Command    string             // the command to repeat, without the checkpoint

	project *project.Project
	store   *snapshot.Store
	run     pawl.RunID    // the run whose journal records the restore
	lock    *project.Lock // nil for a preview
}

// RestoreOptions says what to restore.
type RestoreOptions struct {
	Paths     []string // with everything below them. Defaults to all.
	OtherHead bool     // allow it even if git's HEAD has moved since the checkpoint
	Undo      bool     // it undoes an earlier restore
	Undone    Undone   // with Undo: the restore that it undoes, if that one has ended
	Version   string   // of this program
}

// Undone is an ended restore that another one undoes.
type Undone struct {
	pawl.FilesRestored
	Time time.Time // when it ended; zero: there is none
}

// PrepareRestore plans a restore. It fails while an attempt runs, while another restore is unfinished, and, unless
// OtherHead is set, if git's HEAD has moved since the checkpoint.
func PrepareRestore(ctx context.Context, p *project.Project, store *snapshot.Store, target SavedCheckpoint, o RestoreOptions) (*Restore, error) {
	r := newRestore(p, target, "pawl restore", o)
	if err := runs.RequireOwn(p, target.Run); err != nil {
		return nil, err
	}
	var err error
	r.lock, err = p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: r.Command})
	if err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, store); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// PreviewRestore is PrepareRestore for a dry run: with a read-only store it changes nothing, and it ignores git's HEAD.
func PreviewRestore(ctx context.Context, p *project.Project, store *snapshot.Store, target SavedCheckpoint, o RestoreOptions) (*Restore, error) {
	o.OtherHead = true
	r := newRestore(p, target, "pawl restore", o)
	if err := errors.Join(runs.RequireOwn(p, target.Run), p.RequireNoEngine()); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, store); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func newRestore(p *project.Project, target SavedCheckpoint, command string, o RestoreOptions) *Restore {
	o.Paths = slices.Compact(slices.Sorted(slices.Values(o.Paths)))
	return &Restore{project: p, Target: target, RestoreOptions: o, Command: command}
}

func (r *Restore) prepare(ctx context.Context, store *snapshot.Store) error {
	r.store = store
	record, err := r.Target.SnapshotRecord()
	if err == nil {
		r.Paths, err = record.Within(r.Paths)
	}
	if err == nil {
		err = RequireIdle(ctx, r.project)
	}
	if err == nil {
		err = r.findUnfinished(ctx)
	}
	if err == nil {
		r.Restoration, err = store.Prepare(ctx, record, r.Paths)
	}
	if err == nil && !r.OtherHead && r.Unfinished == nil {
		err = r.RequireSameHead(ctx)
	}
	return err
}

// findUnfinished sets Unfinished if this restore finishes or undoes the unfinished one. It fails if it does neither.
func (r *Restore) findUnfinished(ctx context.Context) error {
	u, run, err := runs.UnfinishedRestore(ctx, r.project)
	if err != nil || u == nil {
		return err
	}
	if !slices.Equal(u.Paths, r.Paths) || r.Target.ID != u.Checkpoint && r.Target.ID != u.Before {
		return runs.RequireNoRestore(ctx, r.project)
	}
	r.Unfinished, r.run = u, run
	return nil
}

// RequireIdle fails if an attempt of any run except but is running, because its files would change under it.
func RequireIdle(ctx context.Context, p *project.Project, but ...pawl.RunID) error {
	ids, err := runs.List(p)
	if err != nil {
		return err
	}
	for _, run := range ids {
		if slices.Contains(but, run) {
			continue
		}
		s, err := runs.LoadState(ctx, p, run)
		if err != nil {
			continue // an unreadable run does not prevent a restore
		}
		if err := runs.RequireNoLiveAttempt(p, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *Restore) RequireSameHead(ctx context.Context) error {
	then, now, err := r.Head(ctx)
	if err != nil {
		return err
	}
	var was, is snapshot.Head
	if then != nil {
		was = *then
	}
	if now != nil {
		is = *now
	}
	if was.Commit == is.Commit && was.InProgress == is.InProgress {
		return nil
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Err: fmt.Errorf("HEAD was %s at the checkpoint and is %s now", was, is),
		Hint: fmt.Sprintf("%s %s --other-head", r.Command, r.Target.ID),
	}
}

// Do saves the current files as a checkpoint, restores the target's, and returns the ID of the checkpoint with the files
// before the restore. For an unfinished restore it saves the current files only if they have changed since.
func (r *Restore) Do(ctx context.Context, by pawl.Author) (before pawl.CheckpointID, err error) {
	if r.Unfinished != nil {
		before, err = r.continueFrom(ctx, by)
	} else {
		before, err = r.begin(ctx, by)
	}
	if err != nil {
		return "", err
	}
	if err := r.Apply(ctx); err != nil {
		return before, &pawl.Error{
			Kind: pawl.KindInternal, Hint: "pawl restore",
			Err: fmt.Errorf("the restore is incomplete (previous state saved as checkpoint %s): %w", before, err),
		}
	}
	done, err := runs.Perform(ctx, r.project, r.run, by, func(*project.Project, *runs.Run) ([]pawl.Payload, error) {
		return []pawl.Payload{pawl.FilesRestored{
			Checkpoint: r.Target.ID, From: r.Target.Run, Before: before, Paths: r.Paths, Changed: len(r.Changes),
		}}, nil
	})
	if err != nil {
		return before, err
	}
	return before, errors.Join(done.Log.Close(), runs.UnmarkRestore(r.project))
}

// begin saves the current files with the intent of the restore, in one event.
func (r *Restore) begin(ctx context.Context, by pawl.Author) (before pawl.CheckpointID, err error) {
	if r.run, err = EnsureRun(ctx, r.project, r.Version); err != nil {
		return "", err
	}
	if err := runs.MarkRestore(r.project, r.run); err != nil {
		return "", err
	}
	why := "before restoring " + string(r.Target.ID)
	if r.Undo {
		why = "before undoing a restore"
	}
	intent := &pawl.RestoreIntent{Checkpoint: r.Target.ID, From: r.Target.Run, Paths: r.Paths, Undo: r.Undo}
	return r.saveCurrent(ctx, by, why, intent)
}

// continueFrom makes sure that some checkpoint has each file that is overwritten, and returns the one before the restore.
// To finish a restore, that is normally the one taken before it; to undo it, the restored one.
func (r *Restore) continueFrom(ctx context.Context, by pawl.Author) (pawl.CheckpointID, error) {
	u := r.Unfinished
	other := u.Before
	if r.Target.ID == u.Before {
		other = u.Checkpoint
	}
	all, err := allCheckpoints(ctx, r.project, r.store)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if c.ID != other || c.Record == nil {
			continue
		}
		if r.EditedIn, err = r.UnsavedIn(*c.Record); err != nil {
			return "", err
		}
		if saved, err := r.SavedIn(*c.Record); saved || err != nil {
			return u.Before, err
		}
	}
	r.Edited, err = r.saveCurrent(ctx, by, "edited during the unfinished restore of "+string(u.Checkpoint), nil)
	return u.Before, err
}

// saveCurrent saves the current files as a checkpoint, and journals it with the intent.
func (r *Restore) saveCurrent(ctx context.Context, by pawl.Author, why string, intent *pawl.RestoreIntent) (id pawl.CheckpointID, err error) {
	err = journalCheckpoint(ctx, r.project, r.run, by, func(at Position) (pawl.Checkpoint, error) {
		c, _, err := TakeCheckpoint(ctx, r.run, pawl.CheckpointBeforeRestore, why, at, r.Save)
		id, c.Restores = c.ID, intent
		return c, err
	})
	return id, err
}

// RestoreToFinish returns the checkpoint and the paths of the unfinished restore.
func RestoreToFinish(ctx context.Context, p *project.Project, store *snapshot.Store) (SavedCheckpoint, RestoreOptions, error) {
	u, _, err := runs.UnfinishedRestore(ctx, p)
	if err == nil && u == nil {
		err = runs.UsageError("pawl checkpoints", "no restore is unfinished")
	}
	if err != nil {
		return SavedCheckpoint{}, RestoreOptions{}, err
	}
	target, err := FindCheckpoint(ctx, p, store, string(u.Checkpoint))
	return target, RestoreOptions{Paths: u.Paths, Undo: u.Undo}, err
}

// RestoreToUndo returns what `pawl restore --undo` restores: the checkpoint before the unfinished restore, or before the
// last one. It finishes an unfinished undo.
func RestoreToUndo(ctx context.Context, p *project.Project, store *snapshot.Store) (SavedCheckpoint, RestoreOptions, error) {
	o := RestoreOptions{Undo: true}
	u, _, err := runs.UnfinishedRestore(ctx, p)
	if err != nil {
		return SavedCheckpoint{}, o, err
	}
	before := pawl.CheckpointID("")
	switch {
	case u != nil && u.Undo:
		before, o.Paths = u.Checkpoint, u.Paths
	case u != nil:
		before, o.Paths = u.Before, u.Paths
	default:
		last, err := lastRestore(ctx, p)
		if err != nil {
			return SavedCheckpoint{}, o, err
		}
		before, o.Paths, o.Undone = last.Before, last.Paths, Undone{FilesRestored: last.FilesRestored, Time: last.event.Time}
	}
	target, err := FindCheckpoint(ctx, p, store, string(before))
	return target, o, err
}

// lastRestore returns the newest restore of the user's own runs. It fails if that was undone before it ended: nothing is left to undo, and
// files were changed since the one before.
func lastRestore(ctx context.Context, p *project.Project) (last restoreEvent, err error) {
	all, err := AllRuns(p)
	if err != nil {
		return last, err
	}
	for _, run := range all {
		if !runs.Claimed(p, run) {
			continue
		}
		log, err := readCheckpointLog(ctx, p, run)
		if err != nil && pawl.KindOf(err) != pawl.KindDamaged {
			return last, err
		}
		for _, r := range log.restored {
			if r.event.Time.After(last.event.Time) {
				last = r
			}
		}
	}
	switch last.Before {
	case "":
		return last, runs.UsageError("pawl checkpoints", "no restore to undo")
	case last.Checkpoint:
		return last, runs.UsageError("pawl checkpoints", "the last restore was interrupted and then undone; to return to the files before an earlier one, restore its checkpoint")
	}
	return last, nil
}

// Close releases the engine lock.
func (r *Restore) Close() error {
	var err error
	if r.Restoration != nil {
		err = r.Restoration.Close()
	}
	if r.lock == nil {
		return err
	}
	return errors.Join(err, r.lock.Unlock())
}
