package cli

import (
	"context"

	"pawl"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/history"
	"pawl/internal/runs"
)

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
