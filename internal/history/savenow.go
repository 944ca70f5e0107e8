package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// SaveNow saves and journals a requested checkpoint. It fails if the snapshot fails, or while a restore is unfinished: a
// mix of two checkpoints must not pass for an intended state. Finishing the restore saves edited files.
func SaveNow(ctx context.Context, p *project.Project, run pawl.RunID, cfg config.Snapshots, by pawl.Author, why string) (SavedCheckpoint, error) {
	store, err := runs.OpenSnapshots(ctx, p, cfg)
	if err != nil {
		return SavedCheckpoint{}, err
	}
	defer store.Close()
	store.ReadAhead()
	saved := SavedCheckpoint{Run: run}
	return saved, journalCheckpoint(ctx, p, run, by, func(at Position) (pawl.Checkpoint, error) {
		if err := runs.RequireNoRestore(ctx, p); err != nil {
			return pawl.Checkpoint{}, fmt.Errorf("no checkpoint saved, because the files are partly restored: %w", err)
		}
		c, record, err := TakeCheckpoint(ctx, run, pawl.CheckpointManual, why, at, store.Take)
		if err != nil {
			return c, err
		}
		if err := addUnreadable(store, &record); err != nil {
			return c, err
		}
		saved.Checkpoint, saved.Record = c, &record
		return c, pruneOverQuota(ctx, p, store)
	})
}

// addUnreadable adds the unreadable paths to what LeftOutNotes reports: each manual checkpoint names them.
func addUnreadable(store *snapshot.Store, record *snapshot.Record) error {
	all, err := store.LeftOutOf(*record)
	for _, l := range all {
		if l.Unreadable() {
			record.NewLeftOut = append(record.NewLeftOut, l)
		}
	}
	return err
}

// TakeCheckpoint calls take to take a snapshot, and returns the checkpoint that names it.
func TakeCheckpoint(
	ctx context.Context, run pawl.RunID, kind pawl.CheckpointKind, why string, at Position,
	take func(context.Context, snapshot.Stamp) (snapshot.Record, error),
) (pawl.Checkpoint, snapshot.Record, error) {
	c := pawl.Checkpoint{ID: runs.NewCheckpointID(), Kind: kind, Why: runs.ClipText(why), Live: at.Live}
	record, err := take(ctx, snapshot.Stamp{Checkpoint: c.ID, Kind: kind, Run: run, Why: c.Why, Seq: at.Seq, Live: at.Live})
	if err != nil {
		return c, record, err
	}
	c.Snapshot = record.Snapshot()
	return c, record, nil
}

// journalCheckpoint journals the checkpoint that take returns.
func journalCheckpoint(
	ctx context.Context, p *project.Project, run pawl.RunID, by pawl.Author,
	take func(Position) (pawl.Checkpoint, error),
) error {
	r, err := runs.Perform(ctx, p, run, by, func(_ *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		c, err := take(Position{Seq: r.State.Seq, Live: runs.RefsOf(r.State.Live())})
		if c.Snapshot == nil {
			return nil, err
		}
		return []pawl.Payload{pawl.CheckpointSaved{Checkpoint: c}}, err
	})
	if err != nil {
		return err
	}
	return r.Log.Close()
}

// EnsureRun returns the run for what people and agents do outside attempts: the current run if unfinished, else the
// newest session run, else a new session run. Concurrent callers get the same run.
func EnsureRun(ctx context.Context, p *project.Project, version string) (pawl.RunID, error) {
	run, err := existingRun(ctx, p)
	if err != nil || run != "" {
		return run, err
	}
	err = p.WithEditLock(func() error {
		if run, err = existingRun(ctx, p); err == nil && run == "" { // another process may have been faster
			run, err = createSession(ctx, p, version)
		}
		return err
	})
	return run, err
}

// existingRun is EnsureRun without creating a run; "" for none.
func existingRun(ctx context.Context, p *project.Project) (pawl.RunID, error) {
	ids, err := runs.List(p)
	if err != nil {
		return "", err
	}
	if holder, alive := p.EngineHolder(); alive && slices.Contains(ids, holder.Run) {
		return holder.Run, nil
	}
	var session pawl.RunID
	for _, run := range ids {
		if !runs.Claimed(p, run) { // made elsewhere: nothing is added before the user adopts it
			continue
		}
		switch s, err := runs.LoadState(ctx, p, run); {
		case err != nil || s.Ended(): // a damaged run accepts no events, and must not block access to the files
		case runs.IsPlanRun(s):
			return run, nil
		case session == "":
			session = run
		}
	}
	return session, ctx.Err()
}

// createSession creates a session run, which has no plan.
func createSession(ctx context.Context, p *project.Project, version string) (pawl.RunID, error) {
	const name = "session"
	run := pawl.NewRunID(name, time.Now(), disk.RandomHex(2))
	if err := runs.Claim(p, run, []pawl.Event{}); err != nil {
		return "", err
	}
	log, err := journal.Create(p.Runs(), run)
	if err != nil {
		return "", err
	}
	created, err := redact.OfProcess().Event(pawl.Author{Kind: pawl.ByPerson}, pawl.RunCreated{
		Format: pawl.Format, Run: run, Project: p.ID, Kind: pawl.SessionRun, Name: name, Pawl: version,
	})
	if err == nil {
		_, err = log.Append(ctx, 0, created)
	}
	return run, errors.Join(err, log.Close())
}
