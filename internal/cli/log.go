package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/logview"
	"pawl/internal/cli/signals"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) logCommand() *cobra.Command {
	var last int
	var graph, all, follow bool
	c := a.readRunCommand("log [RUN]", "Show the events in a run's journal", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		after := pawl.Seq(0)
		if last > 0 {
			after = max(0, r.State.Seq-pawl.Seq(last))
		}
		after, err := logview.Show(a.Out, r, after, a.json)
		if err != nil || !follow {
			return err
		}
		soft, _, release := signals.Contexts(ctx)
		defer release()
		return logview.Follow(soft, a.Out, p, r, after, a.json)
	})
	events := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if graph {
			return a.graph(c.Context(), optional(args, 0), all)
		}
		if all {
			return usageError("pawl log --graph --all", "--all needs --graph")
		}
		return events(c, args)
	}
	numberVar(c, &last, "last", "n", 0, 1, "show only the last `N` events")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show new events until the run ends")
	c.Flags().BoolVar(&graph, "graph", false, "draw the checkpoints with forks and restores, newest first")
	c.Flags().BoolVar(&all, "all", false, "with --graph: include runs that are not related by forks")
	c.MarkFlagsMutuallyExclusive("graph", "follow")
	return a.jsonFlag(c)
}

// graph draws the checkpoints of a run and its relatives, or of all runs.
func (a *app) graph(ctx context.Context, name string, all bool) error {
	return a.withCheckpoints(ctx, true, func(t *checkpointAccess) error {
		var ids []pawl.RunID
		if !all {
			run, err := runs.FindRun(ctx, t.project, name)
			if err != nil {
				return err
			}
			ids = append(ids, run)
		}
		nodes, err := history.Lineage(ctx, t.project, t.store, ids...)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(checkpointview.NodesOf(nodes))
		}
		return checkpointview.Graph(a.Out, nodes, runs.NamesByRun(ctx, t.project))
	})
}
