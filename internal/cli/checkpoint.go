package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

func (a *app) checkpointCommand() *cobra.Command {
	var message string
	c := &cobra.Command{
		Use:   "checkpoint",
		Short: "Save a checkpoint of all files",
		Long: "Save a checkpoint of all files\n\nIgnored files, files that may hold secrets, and folders that tools can make again, such as node_modules, are excluded:\n" +
			"pawl show latest --left-out lists them. If no run is unfinished, the checkpoint belongs to a session run, a run without a plan.",
		Example: "  pawl checkpoint -m 'before the big refactoring'",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if step := stepClient(); step != nil {
				return step.Report(pawl.Line{Checkpoint: &pawl.Checkpoint{Why: message}})
			}
			return a.checkpoint(c.Context(), message)
		},
	}
	messageFlag(c, &message, "description")
	return a.jsonFlag(c)
}

func (a *app) checkpoint(ctx context.Context, message string) error {
	p, err := a.projectOrInit()
	if err != nil {
		return err
	}
	a.register(p)
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	run, err := history.EnsureRun(ctx, p, a.version)
	if err != nil {
		return err
	}
	saved, err := history.SaveNow(ctx, p, run, cfg.Snapshots, a.author(), message)
	if errors.Is(err, snapshot.ErrQuota) {
		return &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl prune"}
	}
	if err != nil {
		return err
	}
	if r, err := runs.Load(ctx, p, run); err == nil { // otherwise the next engine updates the mirror
		a.refreshMirror(ctx, p, r)
		defer r.Log.Close()
	}
	a.printNotes(history.LeftOutNotes(saved.Record))
	report := checkpointview.Of(saved)
	if a.json {
		return a.printJSON(report)
	}
	fmt.Fprintf(a.Out, "checkpoint %s: %s, %s; %s added to the store; %s excluded\n", report.Checkpoint, layout.Count(report.Files, "file"), layout.ByteSize(report.Bytes), layout.ByteSize(report.Added),
		layout.Count(report.LeftOut, "path"))
	return nil
}

func (a *app) checkpointsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "checkpoints [RUN]",
		Short: "List checkpoints, newest last",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCheckpoints(c.Context(), true, func(t *checkpointAccess) error {
				runs, err := t.runs(c.Context(), optional(args, 0), all)
				if err != nil {
					return err
				}
				found, err := history.Checkpoints(c.Context(), t.project, t.store, runs...)
				if err != nil {
					return err
				}
				if len(runs) == 1 {
					a.quoteForeignRun(t.project, runs[0])
				}
				if err := a.printCheckpoints(c.Context(), t.project, found, len(runs) > 1, foreignRuns(t.project, runs)); err != nil || all || a.json || len(args) > 0 {
					return err
				}
				return a.noteOtherRuns(t, runs)
			})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "list the checkpoints of all runs, archived ones included")
	return a.jsonFlag(c)
}

func (t *checkpointAccess) runs(ctx context.Context, name string, all bool) ([]pawl.RunID, error) {
	if all {
		return history.AllRuns(t.project)
	}
	if name == "" {
		return runs.CheckpointRuns(ctx, t.project)
	}
	run, err := runs.FindRun(ctx, t.project, name)
	return []pawl.RunID{run}, err
}

// noteOtherRuns says that other runs have checkpoints, which are not listed.
func (a *app) noteOtherRuns(t *checkpointAccess, listed []pawl.RunID) error {
	others, err := history.OtherRuns(t.project, t.store, listed)
	if others > 0 {
		fmt.Fprintf(a.Err, "pawl: note: these are the checkpoints of the current run; to list those of %s too: pawl checkpoints --all\n", layout.Count(others, "other run"))
	}
	return err
}

// foreignRuns returns which runs were made elsewhere.
func foreignRuns(p *project.Project, all []pawl.RunID) map[pawl.RunID]bool {
	foreign := map[pawl.RunID]bool{}
	for _, run := range all {
		foreign[run] = runs.RequireOwn(p, run) != nil
	}
	return foreign
}

func (a *app) printCheckpoints(ctx context.Context, p *project.Project, found []history.SavedCheckpoint, withRun bool, foreign map[pawl.RunID]bool) error {
	reports, names := []checkpointview.Report{}, runs.NamesByRun(ctx, p)
	for _, c := range found {
		report := checkpointview.Of(c).Named(names)
		report.Unverified = foreign[c.Run]
		reports = append(reports, report)
	}
	if a.json {
		return a.printJSON(reports)
	}
	checkpointview.List(a.Out, reports, withRun)
	return nil
}
