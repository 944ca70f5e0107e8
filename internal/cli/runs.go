package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/runsview"
	"pawl/internal/cli/statusview"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) runsCommand() *cobra.Command {
	var all, archived bool
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of this project, newest first",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.runs(c.Context(), all, archived) },
	}
	c.Flags().BoolVar(&all, "all", false, "list the runs of all your projects")
	c.Flags().BoolVar(&archived, "archived", false, "list only archived runs")
	return a.jsonFlag(c)
}

func (a *app) runs(ctx context.Context, all, archived bool) error {
	projects, err := a.projects(all)
	if err != nil {
		return err
	}
	reports := []runsview.Report{}
	for _, p := range projects {
		found, err := a.runReports(ctx, p, archived)
		if err != nil {
			return err
		}
		reports = append(reports, found...)
	}
	if a.json {
		return a.printJSON(reports)
	}
	return runsview.Print(a.Out, reports)
}

func (a *app) runReports(ctx context.Context, p *project.Project, archived bool) ([]runsview.Report, error) {
	if archived {
		return a.archivedReports(ctx, p)
	}
	runs, err := runs.List(p)
	if err != nil {
		return nil, err
	}
	var reports []runsview.Report
	for _, run := range runs {
		reports = append(reports, a.runReport(ctx, p, run))
	}
	return reports, nil
}

// projects returns this project, or all registered projects that still exist.
func (a *app) projects(all bool) ([]*project.Project, error) {
	if !all {
		p, err := a.project()
		return []*project.Project{p}, err
	}
	entries, err := project.List()
	if err != nil {
		fmt.Fprintf(a.Err, "pawl: note: %v\n", err)
	}
	var projects []*project.Project
	for _, e := range entries {
		if !e.Live() {
			continue
		}
		p, err := project.Find(e.Path)
		if err != nil {
			fmt.Fprintf(a.Err, "pawl: note: %s: %v\n", e.Path, err)
			continue
		}
		projects = append(projects, p)
	}
	return projects, nil
}

// runReport returns the line of a run. A run that cannot be read is listed as unreadable.
func (a *app) runReport(ctx context.Context, p *project.Project, run pawl.RunID) runsview.Report {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return runsview.Report{Run: run, Project: p.Root, Status: "unreadable", Error: err.Error()}
	}
	defer r.Log.Close()
	report := statusview.Of(p, r)
	report.CountSessions(r.State)
	return runsview.Report{
		Run: run, Project: p.Root, Status: report.Status, Percent: report.Percent, Created: report.Created, Updated: report.Updated,
		Unverified: report.Unverified, Standing: report.StandingWord(), State: r.State,
	}
}
