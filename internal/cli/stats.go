package cli

import (
	"context"
	"fmt"
	"pawl/internal/cli/statusview"

	"github.com/spf13/cobra"

	"pawl/internal/cli/stats"
	"pawl/internal/runs"
)

func (a *app) statsCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "stats [RUN]",
		Short: "Show time, retries and cost of a run, and time lost to crashes",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return usageError("", "--all cannot be combined with RUN")
			}
			if all {
				return a.allStats(c.Context())
			}
			return a.stats(c.Context(), optional(args, 0))
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show all runs of this project, one per line, with totals")
	return a.jsonFlag(c)
}

func (a *app) stats(ctx context.Context, name string) error {
	p, r, err := a.loadRun(ctx, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	report := stats.Of(r, statusview.Of(p, r).Deaths)
	if a.json {
		return a.printJSON(report)
	}
	return report.Print(a.Out)
}

// allStats prints the statistics of all runs of the project, sessions included.
func (a *app) allStats(ctx context.Context) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	ids, err := runs.List(p)
	if err != nil {
		return err
	}
	report := stats.All{Runs: []stats.Run{}}
	for _, run := range ids {
		r, err := runs.Load(ctx, p, run)
		if err != nil {
			a.printNotes([]string{fmt.Sprintf("run %s is omitted: %v", run, err)})
			continue
		}
		report.Add(r, statusview.Of(p, r))
		if err := r.Log.Close(); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	return report.Print(a.Out)
}
