package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// pruneOverQuota prunes the snapshots if they exceed their quota.
func pruneOverQuota(ctx context.Context, p *project.Project, store *snapshot.Store) error {
	full, err := store.Full()
	if err != nil || !full {
		return err
	}
	_, err = prune(ctx, p, store, "quota", snapshot.PruneOptions{Quota: true})
	return err
}

// PruneOptions selects the snapshots that Prune deletes. What a resume or an unfinished restore needs always stays.
type PruneOptions struct {
	// Checkpoints are the ones to delete. Nothing else is deleted then, not even the snapshots of deleted runs.
	Checkpoints []SavedCheckpoint
	// KeepLast and KeepWithin, with ByPolicy, keep the newest ones of each run and those younger than that. All others go, also those
	// of gates and those that users asked for.
	ByPolicy   bool
	KeepLast   int
	KeepWithin time.Duration
	// Keep is the number of snapshots that stay of each run without a policy, besides those of gates, on request, and the
	// newest good one.
	Keep   int
	DryRun bool
}

// Prune deletes snapshots. In a read-only store, or with DryRun, it only reports what it would delete.
func Prune(ctx context.Context, p *project.Project, store *snapshot.Store, o PruneOptions) (snapshot.Pruned, error) {
	if err := store.CheckPacks(ctx); err != nil {
		return snapshot.Pruned{}, err
	}
	how := snapshot.PruneOptions{Keep: o.Keep, DryRun: o.DryRun}
	switch {
	case len(o.Checkpoints) > 0:
		gone, err := deletable(ctx, p, o.Checkpoints)
		if err != nil {
			return snapshot.Pruned{}, err
		}
		how.Policy = func(r snapshot.Record) bool { return !gone[r.Checkpoint] }
		how.Named = func(snapshot.Record) bool { return true }
		how.RunGone = func(snapshot.Record) bool { return false }
	case o.ByPolicy:
		records, err := store.Records()
		if err != nil {
			return snapshot.Pruned{}, err
		}
		how.Policy = keptByAge(records, o.KeepLast, time.Now().Add(-o.KeepWithin))
	}
	return prune(ctx, p, store, "prune", how)
}

// deletable returns the IDs of the checkpoints. It fails if one is needed, or has no snapshot.
func deletable(ctx context.Context, p *project.Project, all []SavedCheckpoint) (map[pawl.CheckpointID]bool, error) {
	needed, err := neededCheckpoints(ctx, p)
	if err != nil {
		return nil, err
	}
	ids := map[pawl.CheckpointID]bool{}
	for _, c := range all {
		if _, err := c.SnapshotRecord(); err != nil {
			return nil, err
		}
		if why := needed[c.ID]; why != "" {
			return nil, runs.UsageError("", "checkpoint %s is needed: %s", c.ID, why)
		}
		ids[c.ID] = true
	}
	return ids, nil
}

// keptByAge reports for a snapshot whether it is one of the newest of its run, or was taken after a time. records are all
// snapshots, oldest first.
func keptByAge(records []snapshot.Record, last int, after time.Time) func(snapshot.Record) bool {
	newer := map[pawl.RunID]int{}
	kept := map[pawl.CheckpointID]bool{}
	for _, r := range slices.Backward(records) {
		kept[r.Checkpoint] = newer[r.Run] < last || r.Ended.After(after)
		newer[r.Run]++
	}
	return func(r snapshot.Record) bool { return kept[r.Checkpoint] }
}

// neededCheckpoints returns the checkpoints that an unfinished run, rollback or restore needs, with the reason. Of a run
// that cannot be read, nothing is known; readCheckpointLogs then refuses to prune.
func neededCheckpoints(ctx context.Context, p *project.Project) (map[pawl.CheckpointID]string, error) {
	ids, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	needed := map[pawl.CheckpointID]string{}
	for _, run := range ids {
		s, err := runs.LoadState(ctx, p, run)
		if err != nil {
			continue
		}
		if s.LastGood != nil && s.Kind != pawl.SessionRun && !s.Ended() {
			needed[s.LastGood.ID] = "it is the newest one of the unfinished run " + string(run)
		}
		if s.Rollback != nil {
			needed[s.Rollback.Checkpoint] = "the rollback to it is unfinished"
		}
		if s.Restore != nil {
			if err := addNeededByRestore(ctx, p, run, s.Restore, needed); err != nil {
				return nil, err
			}
		}
	}
	return needed, nil
}

// addNeededByRestore adds the checkpoints that an unfinished restore needs, and those with edits made since it was
// interrupted: finishing or undoing it replaces the edited files.
func addNeededByRestore(ctx context.Context, p *project.Project, run pawl.RunID, r *pawl.RestoreState, needed map[pawl.CheckpointID]string) error {
	log, err := readCheckpointLog(ctx, p, run)
	if err != nil {
		return err
	}
	since := slices.IndexFunc(log.saved, func(c pawl.Checkpoint) bool { return c.ID == r.Before })
	for _, c := range log.saved[since+1:] {
		if c.Kind == pawl.CheckpointBeforeRestore || c.Kind == pawl.CheckpointManual {
			needed[c.ID] = "it has files edited during an unfinished restore"
		}
	}
	needed[r.Checkpoint], needed[r.Before] = "a restore of it is unfinished", "it has the files before an unfinished restore"
	return nil
}

// prune deletes snapshots. It journals that in the affected runs first, so that a journal always explains a missing
// snapshot.
func prune(ctx context.Context, p *project.Project, store *snapshot.Store, why string, how snapshot.PruneOptions) (snapshot.Pruned, error) {
	logs, err := readCheckpointLogs(ctx, p)
	if err != nil {
		return snapshot.Pruned{}, err
	}
	names, undo := map[pawl.CheckpointID]bool{}, map[pawl.CheckpointID]bool{}
	for _, log := range logs {
		log.addTo(names, undo)
	}
	if how.RunGone == nil {
		how.RunGone = func(r snapshot.Record) bool {
			return !disk.Exists(p.RunDir(r.Run)) && !disk.Exists(p.ArchivedDir(r.Run))
		}
	}
	needed, err := neededCheckpoints(ctx, p)
	if err != nil {
		return snapshot.Pruned{}, err
	}
	how.Needed = func(r snapshot.Record) bool {
		return needed[r.Checkpoint] != "" || how.Policy == nil && undo[r.Checkpoint]
	}
	how.Now = time.Now()
	if how.Named == nil {
		how.Named = func(r snapshot.Record) bool { return names[r.Checkpoint] }
	}
	how.BeforeRemove = func(going []snapshot.Record) error {
		gone := map[pawl.RunID][]pawl.CheckpointID{}
		for _, r := range going {
			gone[r.Run] = append(gone[r.Run], r.Checkpoint)
		}
		return journalPruned(ctx, p, gone, why)
	}
	return store.Prune(ctx, how)
}

// maxPruned is how many checkpoints one event lists, because a journal line is limited.
const maxPruned = 2000

// journalPruned journals in each run, also in archived ones, which checkpoints lose their snapshots. Deleted runs are
// skipped.
func journalPruned(ctx context.Context, p *project.Project, gone map[pawl.RunID][]pawl.CheckpointID, why string) error {
	for run, ids := range gone {
		var events []pawl.Event
		for len(ids) > 0 {
			n := min(len(ids), maxPruned)
			event, err := redact.OfProcess().Event(pawl.Author{Kind: pawl.ByEngine}, pawl.CheckpointsPruned{Checkpoints: ids[:n], Why: why})
			if err != nil {
				return err
			}
			events, ids = append(events, event), ids[n:]
		}
		log, err := journal.Open(runDir(p, run), run)
		if errors.Is(err, pawl.ErrNoRun) {
			continue
		}
		if err != nil {
			return fmt.Errorf("journal pruned checkpoints of run %s: %w", run, err)
		}
		_, err = log.Append(ctx, 0, events...)
		if err := errors.Join(err, log.Close()); err != nil {
			return fmt.Errorf("journal pruned checkpoints of run %s: %w", run, err)
		}
	}
	return nil
}

// addTo adds the checkpoints that the log names, and the one that an undo of the run's last restore needs. That is not
// always the newest one before a restore: one with edits made while the restore was interrupted is newer.
func (s *checkpointLog) addTo(names, undo map[pawl.CheckpointID]bool) {
	for _, c := range s.saved {
		names[c.ID] = true
	}
	for _, r := range slices.Backward(s.restored) {
		if r.Before != r.Checkpoint {
			undo[r.Before] = true
			return
		}
	}
}

// readCheckpointLogs reads what the journals of all runs, including archived ones, record about checkpoints. If a journal
// cannot be read, it fails, and nothing may be pruned.
func readCheckpointLogs(ctx context.Context, p *project.Project) ([]*checkpointLog, error) {
	ids, err := AllRuns(p)
	if err == nil {
		err = runs.ExplainMissing(ctx, p, "", nil)
	}
	if err != nil {
		return nil, err
	}
	var logs []*checkpointLog
	for _, run := range ids {
		log, err := readCheckpointLog(ctx, p, run)
		if err != nil {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}
