package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
	"pawl/internal/strictyaml"
)

// SavedCheckpoint is a journaled checkpoint with its snapshot.
type SavedCheckpoint struct {
	pawl.Checkpoint
	Run    pawl.RunID
	Record *snapshot.Record // nil if there is no snapshot, or the store does not have it
	Pruned bool             // pawl deleted the snapshot
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
				saved.Pruned = said.isPruned(c.ID)
			}
			all = append(all, saved)
		}
	}
	slices.SortStableFunc(all, func(a, b SavedCheckpoint) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// OtherRuns returns how many other runs have snapshots.
func OtherRuns(p *project.Project, store *snapshot.Store, but []pawl.RunID) (int, error) {
	records, err := store.Records()
	if err != nil {
		return 0, err
	}
	all, err := AllRuns(p)
	if err != nil {
		return 0, err
	}
	others := map[pawl.RunID]bool{}
	for _, r := range records {
		if slices.Contains(all, r.Run) && !slices.Contains(but, r.Run) {
			others[r.Run] = true
		}
	}
	return len(others), nil
}

// allCheckpoints returns the checkpoints of all runs.
func allCheckpoints(ctx context.Context, p *project.Project, store *snapshot.Store) ([]SavedCheckpoint, error) {
	runs, err := AllRuns(p)
	if err != nil {
		return nil, err
	}
	return Checkpoints(ctx, p, store, runs...)
}

// Latest is the name of the newest checkpoint with a snapshot that a step, an agent's tool call or a person saved. What pawl
// saves before a restore is never it: `pawl restore latest` twice restores the same files.
const Latest = "latest"

// FindCheckpoint returns the checkpoint for a name: its ID, Latest, a step's name for the step's newest one, or a unique
// prefix of an ID. It searches the current run first, then all runs. By a step's name an emergency checkpoint is found only if
// there is no other, because it shows interrupted work.
func FindCheckpoint(ctx context.Context, p *project.Project, store *snapshot.Store, name string) (SavedCheckpoint, error) {
	all, err := allCheckpoints(ctx, p, store)
	if err != nil {
		return SavedCheckpoint{}, err
	}
	found, err := named(ctx, p, all, name)
	if err != nil {
		return SavedCheckpoint{}, err
	}
	switch {
	case len(all) == 0:
		return SavedCheckpoint{}, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("no checkpoints yet; pawl saves one after each step of a run, and when you ask"), Hint: "pawl checkpoint"}
	case len(found) == 0 && name == Latest:
		return SavedCheckpoint{}, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("no checkpoint has files: their snapshots were not saved, were pruned, are missing, or show interrupted work"), Hint: allCheckpointsHint}
	case len(found) == 0:
		return SavedCheckpoint{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("no checkpoint %q%s", name, cmp.Or(withMessage(all, name), nearStep(all, name))), Hint: allCheckpointsHint}
	case len(found) > 1:
		return SavedCheckpoint{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%q is ambiguous: %d checkpoints match", name, len(found)), Hint: allCheckpointsHint}
	}
	return found[0], nil
}

// LatestFiles returns the newest checkpoint of a run that has files and shows no unfinished work; nil if there is none.
func LatestFiles(ctx context.Context, p *project.Project, store *snapshot.Store, run pawl.RunID) (*SavedCheckpoint, error) {
	all, err := Checkpoints(ctx, p, store, run)
	if err != nil {
		return nil, err
	}
	for _, found := range newestGood(all, SavedCheckpoint.isWork) {
		return &found, nil
	}
	return nil, nil
}

// LatestWork is LatestFiles for a run whose newest checkpoint another project may have saved. Its Record is nil if the store lacks the
// snapshot.
func LatestWork(ctx context.Context, p *project.Project, store *snapshot.Store, run pawl.RunID) (*SavedCheckpoint, error) {
	all, err := Checkpoints(ctx, p, store, run)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(all) {
		if c.showsWork() {
			return &c, nil
		}
	}
	return nil, nil
}

// withMessage suggests the newest checkpoint that was saved with this message.
func withMessage(all []SavedCheckpoint, message string) string {
	for _, c := range slices.Backward(all) {
		if c.Kind == pawl.CheckpointManual && strings.EqualFold(c.Why, strings.TrimSpace(message)) {
			return fmt.Sprintf("; did you mean %s, which has this message?", c.ID)
		}
	}
	return ""
}

// nearStep suggests a step that has a checkpoint.
func nearStep(all []SavedCheckpoint, name string) string {
	var ids []string
	for _, c := range all {
		if c.Step != "" && !slices.Contains(ids, string(c.Step)) {
			ids = append(ids, string(c.Step))
		}
	}
	if near := strictyaml.Nearest(name, ids); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// named returns the checkpoints that a name may mean.
func named(ctx context.Context, p *project.Project, all []SavedCheckpoint, name string) ([]SavedCheckpoint, error) {
	if name == Latest {
		return newestGood(all, SavedCheckpoint.isWork), nil
	}
	withID := func(is func(id string) bool) []SavedCheckpoint {
		return slices.DeleteFunc(slices.Clone(all), func(c SavedCheckpoint) bool { return !is(string(c.ID)) })
	}
	if found := withID(func(id string) bool { return id == name }); len(found) > 0 {
		return found, nil
	}
	run, err := runs.FindRun(ctx, p, "")
	if err != nil && !errors.Is(err, pawl.ErrNoRun) {
		return nil, err
	}
	found, err := newestOfStep(ctx, p, all, run, name)
	if err == nil && len(found) == 0 {
		found = newestGood(all, func(c SavedCheckpoint) bool { return string(c.Step) == name })
	}
	if err != nil || len(found) > 0 {
		return found, err
	}
	if s, err := runs.LoadState(ctx, p, run); err == nil && s.Steps[pawl.StepID(name)] != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("step %s has no checkpoint with files", name), Hint: allCheckpointsHint}
	}
	return withID(func(id string) bool { return strings.HasPrefix(id, name) }), nil
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

// newestGood returns the newest matching good checkpoint, or else the newest matching interim one.
func newestGood(all []SavedCheckpoint, fits func(SavedCheckpoint) bool) []SavedCheckpoint {
	var interim []SavedCheckpoint
	for _, c := range slices.Backward(all) {
		switch {
		case !fits(c):
		case !c.Kind.Interim():
			return []SavedCheckpoint{c}
		case interim == nil:
			interim = []SavedCheckpoint{c}
		}
	}
	return interim
}

// isWork reports whether the checkpoint has files, and shows neither unfinished work nor what a restore replaced.
func (c SavedCheckpoint) isWork() bool { return c.Record != nil && c.showsWork() }

// showsWork is isWork for a checkpoint whose files another project may have.
func (c SavedCheckpoint) showsWork() bool {
	return c.Snapshot != nil && !c.Pruned && !c.Kind.Interim() && c.Kind != pawl.CheckpointBeforeRestore
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
		if x.isWork() {
			return x, nil
		}
	}
	return SavedCheckpoint{}, nil
}

// GoodCheckpoints returns the checkpoints of a run with files, oldest first, without emergency and pruned ones. It reads the journal
// up to damage.
func GoodCheckpoints(log *journal.Log) []pawl.Checkpoint {
	said := checkpointLog{pruned: map[pawl.CheckpointID]string{}}
	for event, err := range log.Events(0) {
		if err != nil {
			break
		}
		said.add(event)
	}
	return slices.DeleteFunc(said.saved, func(c pawl.Checkpoint) bool {
		_, gone := said.pruned[c.ID]
		return gone || c.Kind == pawl.CheckpointEmergency || c.Unsaved() != ""
	})
}

// IsIncomplete reports whether err means that a snapshot cannot be read completely, so that nothing was done.
func IsIncomplete(err error) bool {
	_, damaged := errors.AsType[*pack.DamagedError](err)
	_, missing := errors.AsType[*pack.MissingError](err)
	return (damaged || missing) && pawl.KindOf(err) == pawl.KindDamaged
}

const allCheckpointsHint = "pawl checkpoints --all"

// SnapshotRecord returns the checkpoint's commit record. The error says why there is none.
func (c SavedCheckpoint) SnapshotRecord() (snapshot.Record, error) {
	if c.Record != nil {
		return *c.Record, nil
	}
	why, hint := "its snapshot is missing from the store", "pawl verify"
	switch {
	case c.Pruned:
		why, hint = "its snapshot was pruned", allCheckpointsHint
	case c.Snapshot == nil:
		why, hint = "it was saved without files", allCheckpointsHint
	case c.Snapshot.None != "":
		why, hint = "it has no snapshot: "+c.Snapshot.None, allCheckpointsHint
	}
	return snapshot.Record{}, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("checkpoint %s: %s", c.ID, why), Hint: hint}
}
