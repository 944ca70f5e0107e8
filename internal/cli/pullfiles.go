package cli

import (
	"context"
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/transfer"
)

// pullFiles makes the files of the project those of the newest checkpoint of a run's work, if the newest engine worked in another project.
// The run is in a database, whose lease nobody has, and the snapshots are on a remote. If it is interrupted, it can be repeated.
func (a *app) pullFiles(ctx context.Context, p *project.Project, run pawl.RunID) (err error) {
	if err := runs.RequireOwn(p, run); err != nil {
		return err
	}
	s, err := runs.LoadState(ctx, p, run)
	if err != nil || !resume.Elsewhere(p, s) {
		return err
	}
	stored, err := journal.StoredIn(p.Runs(), run)
	if err != nil {
		return err
	}
	if stored == "" {
		return usageError("pawl pull "+string(run), "--pull works for runs in a database; pull run %s, adopt it, and restore its latest checkpoint", run)
	}
	if err := journal.RequireNoLease(p.Runs(), run); err != nil {
		return err
	}
	from, err := transfer.Connect(ctx, p, "")
	if err != nil {
		return err
	}
	cfg, err := config.Of(p)
	if err != nil {
		return err
	}
	store, err := runs.OpenSnapshots(ctx, p, cfg.Snapshots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := from.Pull(ctx, run, store); err != nil {
		return err
	}
	latest, err := history.LatestWork(ctx, p, store, run)
	if err != nil || latest == nil {
		return err
	}
	if latest.Record == nil {
		return &pawl.Error{
			Kind: pawl.KindDamaged, Hint: "pawl checkpoints",
			Err: fmt.Errorf("remote %s does not have the files of checkpoint %s, which host %s saved; to continue with older ones, restore them, and pawl resume --yes", from.Name, latest.ID, s.LastHost),
		}
	}
	r, err := history.PrepareRestore(ctx, p, store, *latest, history.RestoreOptions{OtherHead: true, Version: a.version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if len(r.Changes) == 0 && r.Unfinished == nil {
		return nil
	}
	if _, err := r.Do(ctx, a.author()); err != nil {
		return err
	}
	fmt.Fprintf(a.texts(), "restored %d paths from checkpoint %s, which host %s saved\n", len(r.Changes), latest.ID, s.LastHost)
	return nil
}
