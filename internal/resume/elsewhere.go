package resume

import (
	"context"
	"errors"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/recovery"
	"pawl/internal/runs"
)

// Elsewhere reports whether the newest engine of a run worked in another project, whose files and processes cannot be seen here.
func Elsewhere(p *project.Project, s *pawl.State) bool { return s.LastHome != "" && s.LastHome != p.ID }

// elsewhereFact compares the project with what the newest engine left in another one; nil if it worked here.
func elsewhereFact(ctx context.Context, p *project.Project, s *pawl.State, cfg config.Snapshots) *recovery.Elsewhere {
	if !Elsewhere(p, s) {
		return nil
	}
	fact := &recovery.Elsewhere{Host: s.LastHost}
	for _, live := range s.Live() {
		if live.Home != p.ID && live.Input == "" {
			fact.Attempts = append(fact.Attempts, live.Name())
		}
	}
	stored, err := journal.StoredIn(p.Runs(), s.Run)
	if stored != "" {
		fact.Hint = "pawl resume --pull"
	}
	if err != nil {
		fact.Lost = err.Error()
		return fact
	}
	if fact.Checkpoint, fact.Differ, err = compareWork(ctx, p, s.Run, cfg); err != nil {
		fact.Lost = err.Error()
	}
	return fact
}

// compareWork returns the newest checkpoint of a run's work, and how many paths differ from it here. It changes nothing.
func compareWork(ctx context.Context, p *project.Project, run pawl.RunID, cfg config.Snapshots) (newest pawl.CheckpointID, differ int, err error) {
	store, err := runs.OpenSnapshotsReadOnly(ctx, p, cfg)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	latest, err := history.LatestWork(ctx, p, store, run)
	if err != nil || latest == nil {
		return "", 0, err
	}
	if latest.Record == nil {
		return latest.ID, 0, errors.New("this project does not have its files")
	}
	r, err := store.Prepare(ctx, *latest.Record, nil)
	if err != nil {
		return latest.ID, 0, err
	}
	return latest.ID, len(r.Changes), r.Close()
}
