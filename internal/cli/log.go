package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func (a *app) logCommand() *cobra.Command {
	var last int
	var graph, all bool
	c := a.readRunCommand("log [RUN]", "Show the event log", func(_ context.Context, _ *project.Project, r *runs.Run) error {
		after := pawl.Seq(0)
		if last > 0 {
			after = max(0, r.State.Seq-pawl.Seq(last))
		}
		return a.printLog(r, after)
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
	c.Flags().BoolVar(&graph, "graph", false, "draw the checkpoints with forks and restores, newest first")
	c.Flags().BoolVar(&all, "all", false, "with --graph: include runs that are not related by forks")
	return a.jsonFlag(c)
}

func (a *app) printLog(r *runs.Run, after pawl.Seq) error {
	out := bufio.NewWriter(a.Out)
	for e, err := range r.Log.Events(after) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		if a.json {
			if err := printLine(out, e); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%6d  %s  %-10s %-18s %s\n", e.Seq, e.Time.UTC().Format("2006-01-02 15:04:05.000"), e.By.Kind, e.Type, e.Data)
	}
	return out.Flush()
}

// printLine writes a value as one line of JSON.
func printLine(w *bufio.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
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
		return checkpointview.Graph(a.Out, nodes)
	})
}
