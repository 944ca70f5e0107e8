package cli

import (
	"context"
	"fmt"
	"pawl/internal/cli/runsview"
	"pawl/internal/cli/statusview"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) archiveCommand() *cobra.Command {
	var o runs.ArchiveOptions
	c := &cobra.Command{
		Use:   "archive [RUN…]",
		Short: "Archive finished runs",
		Long: "Archive finished runs\n\narchive moves runs to .pawl/archive: the given RUNs, even unfinished ones, or all that have completed or failed, except the newest\n" +
			"run. It lists archives beyond the newest N (--keep) as due, and deletes them only with --delete. It never deletes a run that it\n" +
			"has just archived.",
		Example: "  pawl archive\n  pawl archive notes-20260101-120000-0a1b\n  pawl archive --keep 2 --delete",
		RunE: func(c *cobra.Command, args []string) error {
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
	numberVar(c, &o.Keep, "keep", "", runs.DefaultArchives, 0, "keep the newest `N` archives")
	c.Flags().BoolVar(&o.Delete, "delete", false, "delete the archives beyond those that --keep keeps")
	return a.jsonFlag(c)
}

func (a *app) archive(ctx context.Context, p *project.Project, o runs.ArchiveOptions) error {
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
		fmt.Fprintln(a.Out, "nothing to archive")
	case len(done.Deleted) > 0:
		fmt.Fprintln(a.Err, "pawl: hint: pawl prune")
	case len(done.Due) > 0:
		fmt.Fprintln(a.Err, "pawl: hint: pawl archive --delete")
	}
	return nil
}

// archivedReports returns the lines of `pawl runs --archived`.
func (a *app) archivedReports(ctx context.Context, p *project.Project) ([]runsview.Report, error) {
	ids, err := runs.ArchivedRuns(p)
	if err != nil {
		return nil, err
	}
	var reports []runsview.Report
	for _, run := range ids {
		r, err := runs.LoadArchived(ctx, p, run)
		if err != nil {
			reports = append(reports, runsview.Report{Run: run, Project: p.Root, Status: "unreadable", Error: err.Error()})
			continue
		}
		report := statusview.Of(p, r)
		reports = append(reports, runsview.Report{
			Run: run, Project: p.Root, Status: report.Status, Percent: report.Percent, Created: report.Created, Updated: report.Updated, Archived: true,
			Unverified: report.Unverified,
		})
		if err := r.Log.Close(); err != nil {
			return nil, err
		}
	}
	return reports, nil
}
