package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/helptext"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
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
	record, err := saved.SnapshotRecord()
	if err != nil {
		return err
	}
	paths, err := a.projectPaths(t.project, []string{name})
	if err != nil {
		return err
	}
	e, err := t.store.At(record, paths[0])
	switch {
	case err != nil:
		return err
	case e == nil:
		return usageError("pawl show "+string(saved.ID), "no %s in this checkpoint", oneline.Path(paths[0]))
	case e.Kind == snapshot.Folder:
		return a.showFolder(t, *e)
	case e.Kind == snapshot.Link:
		_, err = fmt.Fprintf(a.Out, "%s\n", e.Target)
		return err
	}
	return t.store.Content(*e, a.Out)
}

func (a *app) showFolder(t *checkpointAccess, folder snapshot.Entry) error {
	entries, err := t.store.List(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		mark := ""
		if e.Kind == snapshot.Folder {
			mark = "/"
		}
		fmt.Fprintf(a.Out, "%04o  %12d  %s%s\n", e.Mode, e.Size, oneline.Path(e.Name), mark)
	}
	return nil
}

func (a *app) showCheckpoint(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, leftOut bool) error {
	r := checkpointview.Of(saved).Named(runs.NamesByRun(ctx, t.project))
	r.Unverified = runs.RequireOwn(t.project, saved.Run) != nil
	var list []snapshot.LeftOut
	if leftOut {
		record, err := saved.SnapshotRecord()
		if err != nil {
			return err
		}
		if list, err = t.store.LeftOutOf(record); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(checkpointview.Shown{Report: r, List: list})
	}
	r.Print(a.Out, list)
	return nil
}
