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
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// SavedCheckpoint is a checkpoint as a journal has it, with what the store still has of it.
type SavedCheckpoint struct {
	pawl.Checkpoint
	Run    pawl.RunID
	Record *snapshot.Record // nil: it had no snapshot, or that was pruned
}

// SaveNow takes a checkpoint that somebody asks for, and journals it. A checkpoint without a snapshot is an error
// here.
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

// TakeCheckpoint takes a snapshot by take, and returns the checkpoint that names it.
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

// journalCheckpoint journals the checkpoint that take takes.
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

// EnsureRun returns the run to which belongs what people and agents do or say outside every attempt: the current one if it
// is unfinished, else the newest session run, else a new one. Many who come at once get the same.
func EnsureRun(ctx context.Context, p *project.Project, version string) (pawl.RunID, error) {
	run, err := existingRun(ctx, p)
	if err != nil || run != "" {
		return run, err
	}
	err = p.Editing(func() error {
		if run, err = existingRun(ctx, p); err == nil && run == "" { // another process may have been faster
			run, err = createSession(ctx, p, version)
		}
		return err
	})
	return run, err
}

// existingRun returns the run that RunToTell does not have to make, empty where there is none.
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
		case err != nil || s.Ended(): // a damaged run takes no more events, and must not keep people from their files
		case runs.IsPlanRun(s):
			return run, nil
		case session == "":
			session = run
		}
	}
	return session, ctx.Err()
}

// createSession makes a run without a plan.
func createSession(ctx context.Context, p *project.Project, version string) (pawl.RunID, error) {
	const name = "session"
	run := pawl.NewRunID(name, time.Now(), disk.RandomHex(2))
	log, err := journal.Create(p.Runs(), run)
	if err != nil {
		return "", err
	}
	created, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.RunCreated{
		Format: pawl.Format, Run: run, Project: p.ID, Kind: pawl.SessionRun, Name: name, Pawl: version,
	})
	if err == nil {
		_, err = log.Append(ctx, 0, created)
	}
	return run, errors.Join(err, log.Close())
}

// Checkpoints lists the checkpoints of the runs, the oldest first, with what the store has of them. Of a damaged journal
// it lists those before the damage.
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

// allCheckpoints lists those of all runs.
func allCheckpoints(ctx context.Context, p *project.Project, store *snapshot.Store) ([]SavedCheckpoint, error) {
	runs, err := AllRuns(p)
	if err != nil {
		return nil, err
	}
	return Checkpoints(ctx, p, store, runs...)
}

// Latest is the name of the newest checkpoint with a snapshot.
const Latest = "latest"

// FindCheckpoint returns the checkpoint that a name stands for: its id or a unique beginning of it, Latest, or a step's
// name for its newest one: in the current run, or where that has none, in any. By the last two an emergency checkpoint is
// meant only where there is no other: it is what was there when something was cut off.
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
		return SavedCheckpoint{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%q stands for %d checkpoints", name, len(found)), Hint: "pawl checkpoints --all"}
	}
	return found[0], nil
}

// newestOfStep returns the newest checkpoint that a run has of a step: its own, or one that it has from the run that it was
// forked from.
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

// newestGood returns the newest checkpoint that fits: a good one, and where there is none an emergency one.
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

// GoodBefore returns the newest good checkpoint with a snapshot before this one; without an id there is none.
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

// IsIncomplete reports whether an error says that a snapshot cannot be read whole, and that nothing was done for that reason.
func IsIncomplete(err error) bool {
	_, damaged := errors.AsType[*pack.DamagedError](err)
	_, missing := errors.AsType[*pack.MissingError](err)
	return (damaged || missing) && pawl.KindOf(err) == pawl.KindDamaged
}

// SnapshotRecord returns the checkpoint's snapshot, or why there is none.
func (c SavedCheckpoint) SnapshotRecord() (snapshot.Record, error) {
	if c.Record != nil {
		return *c.Record, nil
	}
	why := "its snapshot was pruned"
	switch {
	case c.Snapshot == nil:
		why = "it was taken without files"
	case c.Snapshot.None != "":
		why = "it has no snapshot: " + c.Snapshot.None
	}
	return snapshot.Record{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("checkpoint %s: %s", c.ID, why), Hint: "pawl checkpoints --all"}
}

// Restore is a restore that is ready to be done. Nobody else works in the project until Close.
type Restore struct {
	*snapshot.Restoration
	project *project.Project
	run     pawl.RunID // that it is journaled in
	Target  SavedCheckpoint
	paths   []string
	lock    *project.Lock
	version string
	Command string // that is to be typed again, without the checkpoint
}

// PrepareRestore thinks a restore through. It refuses while anybody works in the project, and unless otherHead where git
// stands elsewhere than then.
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

// RequireIdle refuses where an attempt of any run, but for some, still runs: it would see its files change under it.
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
			continue // a run that cannot be read is no reason not to bring files back
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
	if was.Commit == is.Commit && was.Doing == is.Doing {
		return nil
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Err: fmt.Errorf("git stood at %s then, and stands at %s now", was, is),
		Hint: fmt.Sprintf("%s %s --other-head", r.Command, r.Target.ID),
	}
}

// Do keeps what is there as a checkpoint of its own, and then makes the changes. It returns that checkpoint.
func (r *Restore) Do(ctx context.Context, by pawl.Author) (before pawl.CheckpointID, err error) {
	if r.run, err = EnsureRun(ctx, r.project, r.version); err != nil {
		return "", err
	}
	err = journalCheckpoint(ctx, r.project, r.run, by, func(at Position) (pawl.Checkpoint, error) {
		why := "before the restore of " + string(r.Target.ID)
		c, _, err := TakeCheckpoint(ctx, r.run, pawl.CheckpointBeforeRestore, why, at, r.Save)
		before = c.ID
		return c, err
	})
	if err != nil {
		return "", err
	}
	if err := r.Apply(ctx); err != nil {
		again := fmt.Sprintf("%s %s", r.Command, r.Target.ID)
		return before, &pawl.Error{Kind: pawl.KindInternal, Err: fmt.Errorf("the restore is not complete; what was there is in checkpoint %s: %w", before, err), Hint: again}
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

// Close lets others work again.
func (r *Restore) Close() error {
	var err error
	if r.Restoration != nil {
		err = r.Restoration.Close()
	}
	return errors.Join(err, r.lock.Unlock())
}
