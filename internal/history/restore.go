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

// Restore is a planned restore. It holds the engine lock until Close.
type Restore struct {
	*snapshot.Restoration
	project *project.Project
	run     pawl.RunID // the run whose journal records the restore
	Target  SavedCheckpoint
	paths   []string
	lock    *project.Lock
	version string
	Command string // the command to repeat, without the checkpoint
}

// PrepareRestore plans a restore. It fails while an attempt runs, and, unless otherHead is set, if git's HEAD has moved
// since the checkpoint.
func PrepareRestore(
	ctx context.Context, p *project.Project, store *snapshot.Store, target SavedCheckpoint, paths []string, otherHead bool, version string,
) (*Restore, error) {
	r := &Restore{project: p, Target: target, paths: paths, version: version, Command: "pawl restore"}
	if err := r.prepare(ctx, store, otherHead); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Restore) prepare(ctx context.Context, store *snapshot.Store, otherHead bool) error {
	record, err := r.Target.SnapshotRecord()
	if err != nil {
		return err
	}
	if err := runs.RequireOwn(r.project, r.Target.Run); err != nil {
		return err
	}
	r.lock, err = r.project.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC(), Command: r.Command})
	if err != nil {
		return err
	}
	if err = RequireIdle(ctx, r.project); err == nil {
		r.Restoration, err = store.Prepare(ctx, record, r.paths)
	}
	if err == nil && !otherHead {
		err = r.RequireSameHead(ctx)
	}
	if err != nil {
		return errors.Join(err, r.Close())
	}
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

// Do saves the current files as a checkpoint, restores the target's, and returns the ID of the saved checkpoint.
func (r *Restore) Do(ctx context.Context, by pawl.Author) (before pawl.CheckpointID, err error) {
	if r.run, err = EnsureRun(ctx, r.project, r.version); err != nil {
		return "", err
	}
	err = journalCheckpoint(ctx, r.project, r.run, by, func(at Position) (pawl.Checkpoint, error) {
		why := "before restoring " + string(r.Target.ID)
		c, _, err := TakeCheckpoint(ctx, r.run, pawl.CheckpointBeforeRestore, why, at, r.Save)
		before = c.ID
		return c, err
	})
	if err != nil {
		return "", err
	}
	if err := r.Apply(ctx); err != nil {
		again := fmt.Sprintf("%s %s", r.Command, r.Target.ID)
		return before, &pawl.Error{Kind: pawl.KindInternal, Err: fmt.Errorf("the restore is incomplete (previous state saved as checkpoint %s): %w", before, err), Hint: again}
	}
	done, err := runs.Perform(ctx, r.project, r.run, by, func(*project.Project, *runs.Run) ([]pawl.Payload, error) {
		return []pawl.Payload{pawl.FilesRestored{
			Checkpoint: r.Target.ID, From: r.Target.Run, Before: before, Paths: r.paths, Changed: len(r.Changes),
		}}, nil
	})
	if err != nil {
		return before, err
	}
	return before, done.Log.Close()
}

// Close releases the engine lock.
func (r *Restore) Close() error {
	var err error
	if r.Restoration != nil {
		err = r.Restoration.Close()
	}
	return errors.Join(err, r.lock.Unlock())
}
