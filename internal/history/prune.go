package history

import (
	"context"
	"errors"
	"fmt"
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

// Prune deletes all snapshots except the newest keep of each run and those that always stay: of gates, on request, and
// the newest good one of each run. With dry it only reports.
func Prune(ctx context.Context, p *project.Project, store *snapshot.Store, keep int, dry bool) (snapshot.Pruned, error) {
	if err := store.CheckPacks(ctx); err != nil {
		return snapshot.Pruned{}, err
	}
	return prune(ctx, p, store, "prune", snapshot.PruneOptions{Keep: keep, DryRun: dry})
}

// prune deletes snapshots. It journals that in the affected runs first, so that a journal always explains a missing
// snapshot.
func prune(ctx context.Context, p *project.Project, store *snapshot.Store, why string, how snapshot.PruneOptions) (snapshot.Pruned, error) {
	names, err := namedCheckpoints(ctx, p)
	if err != nil {
		return snapshot.Pruned{}, err
	}
	how.RunGone = func(r snapshot.Record) bool {
		return !disk.Exists(p.RunDir(r.Run)) && !disk.Exists(p.ArchivedDir(r.Run))
	}
	how.Now = time.Now()
	how.Named = func(r snapshot.Record) bool { return names[r.Checkpoint] }
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

// namedCheckpoints returns the checkpoints that journals name, including archived runs. If a journal cannot be read, it
// fails, and nothing may be pruned.
func namedCheckpoints(ctx context.Context, p *project.Project) (map[pawl.CheckpointID]bool, error) {
	ids, err := AllRuns(p)
	if err == nil {
		err = runs.ExplainMissing(ctx, p, "", nil)
	}
	if err != nil {
		return nil, err
	}
	names := map[pawl.CheckpointID]bool{}
	for _, run := range ids {
		said, err := readCheckpointLog(ctx, p, run)
		if err != nil {
			return nil, err
		}
		for _, c := range said.saved {
			names[c.ID] = true
		}
	}
	return names, nil
}
