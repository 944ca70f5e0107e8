package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

func (a *app) checkpointCommand() *cobra.Command {
	var message string
	c := &cobra.Command{
		Use:     "checkpoint",
		Short:   "Keep all files as they are now",
		Example: "  pawl checkpoint -m 'before the big refactoring'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if step := inside(); step != nil {
				return step.Report(pawl.Line{Checkpoint: &pawl.Checkpoint{Why: message}})
			}
			return a.checkpoint(c.Context(), message)
		},
	}
	c.Flags().StringVarP(&message, "message", "m", "", "what it is for")
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
	saved, err := history.SaveNow(ctx, p, run, cfg.Snapshots, me(), message)
	if errors.Is(err, snapshot.ErrQuota) {
		return &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl prune"}
	}
	if err != nil {
		return err
	}
	if r, err := runs.Load(ctx, p, run); err == nil { // else the mirror is brought up to date when the run goes on
		a.refreshMirror(ctx, p, r)
		defer r.Log.Close()
	}
	report := checkpointOf(saved)
	if a.json {
		return a.printJSON(report)
	}
	fmt.Fprintf(a.Out, "checkpoint %s: %d files, %s; %s new; %d left out\n", report.Checkpoint, report.Files, inBytes(report.Bytes), inBytes(report.Added), report.LeftOut)
	return nil
}

// inBytes writes a number of bytes for people.
func inBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for ; value >= 1024 && unit < len(units)-1; unit++ {
		value /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

func (a *app) checkpointsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "checkpoints [RUN]",
		Short: "List checkpoints, the newest last",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
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
	c.Flags().BoolVarP(&all, "all", "a", false, "of all runs, those set aside too")
	return a.jsonFlag(c)
}

func (t *traveller) runs(ctx context.Context, name string, all bool) ([]pawl.RunID, error) {
	if all {
		return history.AllRuns(t.project)
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
		fmt.Fprintf(a.Out, "%s  %s  %-17s %-28s %s", r.Checkpoint, r.Time.UTC().Format("2006-01-02 15:04:05"), r.Kind, r.content(), r.about())
		if withRun {
			fmt.Fprintf(a.Out, "  (%s)", r.Run)
		}
		fmt.Fprintln(a.Out)
	}
	if len(reports) == 0 {
		fmt.Fprintln(a.Out, "no checkpoint yet")
	}
	return nil
}

// content says in a few words what a checkpoint has of the files.
func (r checkpointReport) content() string {
	switch {
	case r.Snapshot == "kept":
		return fmt.Sprintf("%d files, %s", r.Files, inBytes(r.Bytes))
	case r.None != "":
		return "none: " + r.None
	case r.Snapshot == "pruned":
		return "pruned"
	}
	return "no files"
}

// about says what a checkpoint is about.
func (r checkpointReport) about() string {
	name := pawl.AttemptRef{Step: r.Step, Item: r.Item}.Name()
	why, _, _ := strings.Cut(r.Why, "\n")
	return strings.TrimSpace(name + "  " + why)
}
