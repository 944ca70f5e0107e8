package remotecmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/transfer"
)

// PullFiles is pullFiles for the run that runs.FindRun returns for a name. It returns its ID.
func PullFiles(ctx context.Context, p *project.Project, name string, by pawl.Author, version string, out io.Writer) (string, error) {
	run, err := runs.FindRun(ctx, p, name)
	if err != nil {
		return "", err
	}
	return string(run), pullFiles(ctx, p, run, by, version, out)
}

// pullFiles makes the files of the project those of the newest checkpoint of a run's work, if the newest engine worked in another project.
// The run is in a database, whose lease nobody has, and the snapshots are on a remote. If it is interrupted, it can be repeated. It tells
// the user what it restored.
func pullFiles(ctx context.Context, p *project.Project, run pawl.RunID, by pawl.Author, version string, out io.Writer) error {
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
		return &pawl.Error{Kind: pawl.KindUsage, Hint: "pawl pull " + string(run), Err: fmt.Errorf("--pull works for runs in a database; pull run %s, adopt it, and restore its latest checkpoint", run)}
	}
	if err := journal.RequireNoLease(p.Runs(), run); err != nil {
		return err
	}
	return transfer.With(ctx, p, "", func(from *transfer.Connection, store *snapshot.Store) error {
		if _, err := from.Pull(ctx, run, store); err != nil {
			return err
		}
		return restoreWork(ctx, p, s, from.Name, store, by, version, out)
	})
}

// Examine is resume.Examine, and asks the remotes from which the run was pulled who pushed it last.
func Examine(ctx context.Context, p *project.Project, r *runs.Run, change *resume.PlanDiff, cfg config.Snapshots, notices []string, gone bool) (*resume.Examination, error) {
	x, err := resume.Examine(ctx, p, r, change, cfg, notices, gone)
	if err == nil {
		x.Findings = append(x.Findings, transfer.Owners(ctx, p, r.State.Run)...)
	}
	return x, err
}

// restoreWork restores the newest checkpoint of a run's work.
func restoreWork(ctx context.Context, p *project.Project, s *pawl.State, from string, store *snapshot.Store, by pawl.Author, version string, out io.Writer) (err error) {
	latest, err := history.LatestWork(ctx, p, store, s.Run)
	if err != nil || latest == nil {
		return err
	}
	if latest.Record == nil {
		return &pawl.Error{
			Kind: pawl.KindDamaged, Hint: "pawl checkpoints",
			Err: fmt.Errorf("remote %s does not have the files of checkpoint %s, which host %s saved; to continue with older ones, restore them, and pawl resume --yes", from, latest.ID, s.LastHost),
		}
	}
	r, err := history.PrepareRestore(ctx, p, store, *latest, history.RestoreOptions{OtherHead: true, Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if len(r.Changes) == 0 && r.Unfinished == nil {
		return nil
	}
	if _, err := r.Do(ctx, by); err != nil {
		return err
	}
	fmt.Fprintf(out, "restored %d paths from checkpoint %s, which host %s saved\n", len(r.Changes), latest.ID, s.LastHost)
	return nil
}
