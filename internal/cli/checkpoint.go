package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

func (a *app) checkpointCommand() *cobra.Command {
	var message string
	c := &cobra.Command{
		Use:     "checkpoint",
		Short:   "Save a checkpoint of all files",
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
	report := checkpointOf(saved)
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
			return a.withCheckpoints(c.Context(), func(t *checkpointAccess) error {
				runs, err := t.runs(c.Context(), optional(args, 0), all)
				if err != nil {
					return err
				}
				found, err := history.Checkpoints(c.Context(), t.project, t.store, runs...)
				if err != nil {
					return err
				}
				return a.printCheckpoints(found, len(runs) > 1)
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

func (a *app) printCheckpoints(found []history.SavedCheckpoint, withRun bool) error {
	reports := []checkpointReport{}
	for _, c := range found {
		reports = append(reports, checkpointOf(c))
	}
	if a.json {
		return a.printJSON(reports)
	}
	for _, r := range reports {
		fmt.Fprintf(a.Out, "%s  %s  %-17s %-28s %s", r.Checkpoint, layout.UTC(r.Time), r.Kind, r.content(), r.about())
		if withRun {
			fmt.Fprintf(a.Out, "  (%s)", r.Run)
		}
		fmt.Fprintln(a.Out)
	}
	if len(reports) == 0 {
		fmt.Fprintln(a.Out, "no checkpoints yet")
	}
	return nil
}

// content describes the snapshot of a checkpoint.
func (r checkpointReport) content() string {
	switch {
	case r.Snapshot == "kept":
		return layout.Count(r.Files, "file") + ", " + layout.ByteSize(r.Bytes)
	case r.None != "":
		return "no snapshot: " + r.None
	case r.Snapshot == "pruned":
		return "pruned"
	}
	return "no snapshot"
}

// about returns the step or item of a checkpoint, and the first line of its reason.
func (r checkpointReport) about() string {
	name := pawl.AttemptRef{Step: r.Step, Item: r.Item}.Name()
	why, _, _ := strings.Cut(r.Why, "\n")
	return strings.TrimSpace(name + "  " + why)
}
