package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

func (a *app) pruneCommand() *cobra.Command {
	var keep int
	var dry bool
	var as string
	c := &cobra.Command{
		Use:   "prune",
		Short: "Let go of old snapshots, and give their space back",
		Long: "Let go of old snapshots, and give their space back\n\nOf each run the last ones stay, and beside them gates, what people\n" +
			"asked for, and the last good one. The checkpoints stay listed.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if keep < 0 {
				return usageError("pawl prune --keep 5", "--keep must not be negative")
			}
			if as != "" {
				return a.pruneAs(c.Context(), as, keep, dry)
			}
			return a.travel(c.Context(), func(t *traveller) error { return a.prune(c.Context(), t, keep, dry) })
		},
	}
	c.Flags().IntVar(&keep, "keep", snapshot.DefaultKeep, "how many stay of each run")
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would go")
	c.Flags().StringVar(&as, "as", "", "let go of another system's checkpoints instead: gyoshu")
	return a.jsonFlag(c)
}

// pruneReport is what `pawl prune --json` prints.
type pruneReport struct {
	DryRun bool        `json:"dry_run,omitempty"`
	Gone   []goneEntry `json:"gone"`
	Kept   int         `json:"kept"`
	Freed  int64       `json:"freed_bytes"`
}

type goneEntry struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Run        pawl.RunID          `json:"run"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Step       pawl.StepID         `json:"step,omitempty"`
}

func (a *app) prune(ctx context.Context, t *traveller, keep int, dry bool) error {
	pruned, err := history.Prune(ctx, t.project, t.store, keep, dry)
	if err != nil {
		return err
	}
	report := pruneReport{DryRun: dry, Gone: []goneEntry{}, Kept: pruned.Kept, Freed: pruned.Freed}
	for _, r := range pruned.Removed {
		report.Gone = append(report.Gone, goneEntry{Checkpoint: r.Checkpoint, Run: r.Run, Kind: r.Kind, Step: r.Step})
	}
	if a.json {
		return a.printJSON(report)
	}
	for _, g := range report.Gone {
		fmt.Fprintf(a.Out, "%s  %-17s %s  (%s)\n", g.Checkpoint, g.Kind, cmp.Or(string(g.Step), "-"), g.Run)
	}
	if dry {
		fmt.Fprintf(a.Out, "would go: %s; would stay: %d; at most %s would be freed\n", count(len(report.Gone), "snapshot"), report.Kept, inBytes(report.Freed))
		return nil
	}
	fmt.Fprintf(a.Out, "gone: %s; kept: %d; freed: %s\n", count(len(report.Gone), "snapshot"), report.Kept, inBytes(max(0, report.Freed)))
	return nil
}

func (a *app) archiveCommand() *cobra.Command {
	var o runs.Archiving
	c := &cobra.Command{
		Use:   "archive [RUN…]",
		Short: "Set whole runs aside",
		Long: "Set whole runs aside\n\nIn .pawl/archive: those named, or else all that are completed or have failed, but the newest run.\n" +
			"The last archives stay; older ones are named as due, and go only with --delete.",
		Example: "  pawl archive\n  pawl archive notes-20260101-120000-0a1b\n  pawl archive --keep 2 --delete",
		RunE: func(c *cobra.Command, args []string) error {
			if o.Keep < 0 {
				return usageError("pawl archive --keep 5", "--keep must not be negative")
			}
			p, err := a.project()
			if err != nil {
				return err
			}
			for _, name := range args {
				run, err := runs.FindRun(c.Context(), p, name)
				if err != nil {
					return err
				}
				o.Runs = append(o.Runs, run)
			}
			return a.archive(c.Context(), p, o)
		},
	}
	c.Flags().IntVar(&o.Keep, "keep", runs.DefaultArchives, "how many archives stay")
	c.Flags().BoolVar(&o.Delete, "delete", false, "delete the archives beyond them")
	return a.jsonFlag(c)
}

func (a *app) archive(ctx context.Context, p *project.Project, o runs.Archiving) error {
	done, err := runs.ArchiveRuns(ctx, p, o)
	if err != nil {
		return err
	}
	if a.json {
		for _, list := range []*[]pawl.RunID{&done.Moved, &done.Due, &done.Deleted} {
			if *list == nil {
				*list = []pawl.RunID{}
			}
		}
		return a.printJSON(done)
	}
	for _, run := range done.Moved {
		fmt.Fprintf(a.Out, "archived  %s\n", run)
	}
	for _, run := range done.Deleted {
		fmt.Fprintf(a.Out, "deleted   %s\n", run)
	}
	for _, run := range done.Due {
		fmt.Fprintf(a.Out, "due       %s\n", run)
	}
	switch {
	case len(done.Moved)+len(done.Deleted)+len(done.Due) == 0:
		fmt.Fprintln(a.Out, "nothing to set aside")
	case len(done.Deleted) > 0:
		fmt.Fprintln(a.Err, "pawl: hint: pawl prune")
	case len(done.Due) > 0:
		fmt.Fprintln(a.Err, "pawl: hint: pawl archive --delete")
	}
	return nil
}

// archivedReports are the lines of `pawl runs --archived`.
func (a *app) archivedReports(ctx context.Context, p *project.Project) ([]runReport, error) {
	ids, err := runs.Archived(p)
	if err != nil {
		return nil, err
	}
	var reports []runReport
	for _, run := range ids {
		r, err := runs.LoadArchived(ctx, p, run)
		if err != nil {
			reports = append(reports, runReport{Run: run, Project: p.Root, Status: "unreadable", Error: err.Error()})
			continue
		}
		report := reportOf(p, r)
		reports = append(reports, runReport{
			Run: run, Project: p.Root, Status: report.Status, Percent: report.Percent, Created: report.Created, Updated: report.Updated, Archived: true,
		})
		if err := r.Log.Close(); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// insteadOf returns the unfinished run of a plan that is begun anew, empty where there is none. One that cannot be read
// is left where it is: whether it is of this plan is not known.
func insteadOf(ctx context.Context, p *project.Project, source string) (pawl.RunID, error) {
	run, err := runs.Unfinished(ctx, p, source)
	if pawl.KindOf(err) == pawl.KindDamaged {
		return "", nil
	}
	return run, err
}
