package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/restoreview"
	"pawl/internal/snapshot"
)

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff [FROM [TO]] [-- PATH…]",
		Short: "Show what changed between two checkpoints, or since one",
		Long: "Show what changed between two checkpoints, or since one\n\nFROM and TO are checkpoints: an id, the beginning of an id, \"latest\" (the newest of all runs), or a\n" +
			"step (its newest checkpoint, in the current run if that has one). FROM defaults to the newest checkpoint, TO to the\n" +
			"current files. git apply accepts the output.",
		Example: "  pawl diff\n  pawl diff build --stat\n  pawl diff 3f2a91c0 latest -- src/",
		Args: func(c *cobra.Command, args []string) error {
			if named := checkpointArgs(c, args); named > 2 {
				return fmt.Errorf("diff takes at most two checkpoints; put paths after --")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCheckpoints(c.Context(), false, func(t *checkpointAccess) error {
				named := checkpointArgs(c, args)
				return a.diff(c.Context(), t, args[:named], args[named:], o)
			})
		},
	}
	c.Flags().BoolVar(&o.names, "names", false, "print only the names of changed paths")
	c.Flags().BoolVar(&o.stat, "stat", false, "print only the number of changed lines of each file")
	return a.jsonFlag(c)
}

// checkpointArgs returns the number of arguments before --.
func checkpointArgs(c *cobra.Command, args []string) int {
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		return dash
	}
	return len(args)
}

type diffOptions struct{ names, stat bool }

func (a *app) diff(ctx context.Context, t *checkpointAccess, named, paths []string, o diffOptions) (err error) {
	name := "latest"
	if len(named) > 0 {
		name = named[0]
	}
	from, err := a.snapshotToCompare(ctx, t, name)
	if err != nil {
		return err
	}
	var to *snapshot.Record
	if len(named) > 1 {
		if to, err = a.snapshotToCompare(ctx, t, named[1]); err != nil {
			return err
		}
	}
	if paths, err = a.projectPaths(t.project, paths); err != nil {
		return err
	}
	for _, side := range []*snapshot.Record{from, to} {
		if side == nil {
			continue
		}
		if paths, err = side.Within(paths); err != nil {
			return err
		}
	}
	compared, err := t.store.Compare(ctx, *from, to, paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compared.Close()) }()
	return a.printDiff(compared, o)
}

// snapshotToCompare returns a checkpoint's snapshot. It marks what the command prints if the checkpoint was made elsewhere.
func (a *app) snapshotToCompare(ctx context.Context, t *checkpointAccess, name string) (*snapshot.Record, error) {
	saved, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	a.quoteForeignRun(t.project, saved.Run)
	record, err := saved.SnapshotRecord()
	return &record, err
}

func (a *app) printDiff(compared *snapshot.Comparison, o diffOptions) error {
	if a.json {
		return a.printJSON(restoreview.Changes(compared.Changes))
	}
	return checkpointview.PrintDiff(a.Out, compared, o.form())
}

// form returns the form that the flags ask for.
func (o diffOptions) form() checkpointview.DiffForm {
	switch {
	case o.names:
		return checkpointview.Paths
	case o.stat:
		return checkpointview.Stats
	}
	return checkpointview.Patch
}
