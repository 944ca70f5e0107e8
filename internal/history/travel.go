package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// SavedCheckpoint is a journaled checkpoint with its snapshot.
type SavedCheckpoint struct {
	pawl.Checkpoint
	Run    pawl.RunID
	Record *snapshot.Record // nil if there is no snapshot, or it was pruned
}

// SaveNow saves and journals a requested checkpoint. If the snapshot fails, it returns an error.
func SaveNow(ctx context.Context, p *project.Project, run pawl.RunID, cfg config.Snapshots, by pawl.Author, why string) (SavedCheckpoint, error) {
	store, err := runs.OpenSnapshots(ctx, p, cfg)
	if err != nil {
		return SavedCheckpoint{}, err
	}
	defer store.Close()
	saved := SavedCheckpoint{Run: run}
	return saved, journalCheckpoint(ctx, p, run, by, func(at Position) (pawl.Checkpoint, error) {
		c, record, err := TakeCheckpoint(ctx, run, pawl.CheckpointManual, why, at, store.Take)
		if err != nil {
			return c, err
		}
		saved.Checkpoint, saved.Record = c, &record
		return c, pruneOverQuota(ctx, p, store)
	})
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

// Checkpoints returns the checkpoints of the runs, oldest first, with their snapshots. For a damaged journal it returns
// those before the damage.
func Checkpoints(ctx context.Context, p *project.Project, store *snapshot.Store, runs ...pawl.RunID) ([]SavedCheckpoint, error) {
	records, err := store.Records()
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*snapshot.Record, len(records))
	for i := range records {
		byID[records[i].ID.String()] = &records[i]
	}
	var all []SavedCheckpoint
	for _, run := range runs {
		said, err := readCheckpointLog(ctx, p, run)
		if err != nil && pawl.KindOf(err) != pawl.KindDamaged {
			return nil, err
		}
		for _, c := range said.saved {
			saved := SavedCheckpoint{Checkpoint: c, Run: run}
			if c.Snapshot != nil {
				saved.Record = byID[c.Snapshot.Record]
			}
			all = append(all, saved)
		}
	}
	slices.SortStableFunc(all, func(a, b SavedCheckpoint) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// allCheckpoints returns the checkpoints of all runs.
func allCheckpoints(ctx context.Context, p *project.Project, store *snapshot.Store) ([]SavedCheckpoint, error) {
	runs, err := AllRuns(p)
	if err != nil {
		return nil, err
	}
	return Checkpoints(ctx, p, store, runs...)
}

// Latest is the name of the newest checkpoint with a snapshot.
const Latest = "latest"

// FindCheckpoint returns the checkpoint for a name: its ID or a unique prefix, Latest, or a step's name for the step's
// newest one. It searches the current run first, then all runs. By the last two kinds of name an emergency checkpoint
// is found only if there is no other, because it shows interrupted work.
func FindCheckpoint(ctx context.Context, p *project.Project, store *snapshot.Store, name string) (SavedCheckpoint, error) {
	all, err := allCheckpoints(ctx, p, store)
	if err != nil {
		return SavedCheckpoint{}, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(c SavedCheckpoint) bool { return !strings.HasPrefix(string(c.ID), name) })
	switch {
	case name == Latest:
		found = newestGood(all, func(c SavedCheckpoint) bool { return c.Record != nil })
	case len(found) == 0:
		run, err := runs.FindRun(ctx, p, "")
		if err != nil && !errors.Is(err, pawl.ErrNoRun) {
			return SavedCheckpoint{}, err
		}
		if found, err = newestOfStep(ctx, p, all, run, name); err != nil {
			return SavedCheckpoint{}, err
		}
		if len(found) == 0 {
			found = newestGood(all, func(c SavedCheckpoint) bool { return string(c.Step) == name })
		}
	}
	switch {
	case len(found) == 0:
		return SavedCheckpoint{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("no checkpoint %q", name), Hint: "pawl checkpoints --all"}
	case len(found) > 1:
		return SavedCheckpoint{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%q is ambiguous: %d checkpoints match", name, len(found)), Hint: "pawl checkpoints --all"}
	}
	return found[0], nil
}

// newestOfStep returns the newest checkpoint of a step, including those that a forked run inherited.
func newestOfStep(ctx context.Context, p *project.Project, all []SavedCheckpoint, run pawl.RunID, step string) ([]SavedCheckpoint, error) {
	upTo := pawl.Seq(math.MaxInt64)
	for run != "" {
		found := newestGood(all, func(c SavedCheckpoint) bool { return c.Run == run && string(c.Step) == step && c.Seq <= upTo })
		if len(found) > 0 {
			return found, nil
		}
		said, err := readCheckpointLog(ctx, p, run)
		if err != nil && !errors.Is(err, pawl.ErrNoRun) {
			return nil, err
		}
		if run = ""; said.forked != nil {
			run, upTo = said.forked.Run, said.forked.Seq
		}
	}
	return nil, nil
}

// newestGood returns the newest matching good checkpoint, or else the newest matching emergency one.
func newestGood(all []SavedCheckpoint, fits func(SavedCheckpoint) bool) []SavedCheckpoint {
	var emergency []SavedCheckpoint
	for _, c := range slices.Backward(all) {
		switch {
		case !fits(c):
		case c.Kind != pawl.CheckpointEmergency:
			return []SavedCheckpoint{c}
		case emergency == nil:
			emergency = []SavedCheckpoint{c}
		}
	}
	return emergency
}

// GoodBefore returns the newest good checkpoint with a snapshot before c; without one, a SavedCheckpoint with an empty
// ID.
func GoodBefore(ctx context.Context, p *project.Project, store *snapshot.Store, c SavedCheckpoint) (SavedCheckpoint, error) {
	all, err := allCheckpoints(ctx, p, store)
	if err != nil {
		return SavedCheckpoint{}, err
	}
	before := slices.IndexFunc(all, func(x SavedCheckpoint) bool { return x.ID == c.ID && x.Run == c.Run })
	for _, x := range slices.Backward(all[:max(before, 0)]) {
		if x.Record != nil && x.Kind != pawl.CheckpointEmergency {
			return x, nil
		}
	}
	return SavedCheckpoint{}, nil
}

// IsIncomplete reports whether err means that a snapshot cannot be read completely, so that nothing was done.
func IsIncomplete(err error) bool {
	_, damaged := errors.AsType[*pack.DamagedError](err)
	_, missing := errors.AsType[*pack.MissingError](err)
	return (damaged || missing) && pawl.KindOf(err) == pawl.KindDamaged
}

// SnapshotRecord returns the checkpoint's commit record. The error says why there is none.
func (c SavedCheckpoint) SnapshotRecord() (snapshot.Record, error) {
	if c.Record != nil {
		return *c.Record, nil
	}
	why := "its snapshot was pruned"
	switch {
	case c.Snapshot == nil:
		why = "it was saved without files"
	case c.Snapshot.None != "":
		why = "it has no snapshot: " + c.Snapshot.None
	}
	return snapshot.Record{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("checkpoint %s: %s", c.ID, why), Hint: "pawl checkpoints --all"}
}

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
