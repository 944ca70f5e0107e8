package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/helptext"
	"pawl/internal/history"
	"pawl/internal/runs"
)

func (a *app) showCommand() *cobra.Command {
	var leftOut bool
	c := &cobra.Command{
		Use:     "show CHECKPOINT [FILE]",
		Short:   "Show a checkpoint, or a file in it",
		Long:    "Show a checkpoint, or a file in it\n\n" + helptext.Checkpoint,
		Example: "  pawl show latest\n  pawl show 3f2a91c0 src/main.go",
		Args:    oneOrTwo(a.checkpointArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCheckpoints(c.Context(), true, func(t *checkpointAccess) error {
				saved, err := t.find(c.Context(), args[0])
				if err != nil {
					return err
				}
				a.quoteForeignRun(t.project, saved.Run)
				if len(args) == 2 {
					return a.showFile(t, saved, args[1])
				}
				return a.showCheckpoint(c.Context(), t, saved, leftOut)
			})
		},
	}
	c.Flags().BoolVar(&leftOut, "left-out", false, "list the paths that the checkpoint excludes, and why")
	return a.jsonFlag(c)
}

func (a *app) showFile(t *checkpointAccess, saved history.SavedCheckpoint, name string) error {
	paths, err := a.projectPaths(t.project, []string{name})
	if err != nil {
		return err
	}
	return checkpointview.PrintFile(a.Out, t.store, saved, paths[0])
}

func (a *app) showCheckpoint(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, leftOut bool) (err error) {
	r := checkpointview.Of(saved).Named(runs.NamesByRun(ctx, t.project))
	r.Unverified = runs.RequireOwn(t.project, saved.Run) != nil
	shown := checkpointview.Shown{Report: r}
	if leftOut {
		if shown.List, err = checkpointview.LeftOut(t.store, saved); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(shown)
	}
	shown.Print(a.Out, shown.List)
	return nil
}
