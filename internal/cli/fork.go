package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/internal/cli/forkview"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/restoreview"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
)

type forkOptions struct {
	to             string
	yes, otherHead bool
}

func (a *app) forkCommand() *cobra.Command {
	var o forkOptions
	c := &cobra.Command{
		Use:   "fork CHECKPOINT",
		Short: "Start a new run from a checkpoint",
		Long: "Start a new run from a checkpoint\n\n" + helptext.Checkpoint +
			"Steps that were finished at the checkpoint stay finished. fork restores the files in place, as pawl restore does. With --to, it\n" +
			"writes them to FOLDER, which becomes a separate project. The old run is not changed.",
		Example: "  pawl fork build\n  pawl fork 3f2a91c0 --to ../second-try",
		Args:    exactArgs(a.checkpointArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCheckpoints(c.Context(), false, func(t *checkpointAccess) error {
				return a.withIntactCheckpoint(c.Context(), t, args[0], o.to != "", nil, func(saved history.SavedCheckpoint) error {
					return a.fork(c.Context(), t, saved, o)
				})
			})
		},
	}
	c.Flags().StringVar(&o.to, "to", "", "write to `FOLDER` instead, which must be new or empty")
	yesFlag(c, &o.yes, helptext.Confirm)
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "restore even if git HEAD has moved since the checkpoint")
	return a.jsonFlag(c)
}

func (a *app) fork(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, o forkOptions) (err error) {
	into := history.ForkOptions{OtherHead: o.otherHead, Version: a.version, Snapshots: t.config.Snapshots}
	if o.to != "" {
		if into.Folder, err = a.absolutePath(o.to); err != nil {
			return err
		}
	}
	f, err := history.PrepareFork(ctx, t.project, t.store, saved, into)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := a.confirmFork(f, saved, o); err != nil {
		return err
	}
	done, err := f.Do(ctx, a.author())
	if err != nil {
		return err
	}
	home, err := project.Find(done.Root)
	if err != nil {
		return err
	}
	a.register(home)
	if r, err := runs.Load(ctx, home, done.Run); err == nil {
		a.refreshViews(home, r)
		err = r.Log.Close()
		if err != nil {
			return err
		}
	}
	a.printNotes(done.Notes)
	report := forkview.Of(f, done, saved)
	if a.json {
		return a.printJSON(report)
	}
	report.Print(a.Out, o.to != "")
	if next := report.Next(done.Kind, o.to != ""); next != "" {
		fmt.Fprintf(a.Err, "pawl: hint: %s\n", next)
	}
	return nil
}

// absolutePath resolves a path that the user gave against the current folder or -C.
func (a *app) absolutePath(path string) (string, error) {
	here, err := a.here()
	if err != nil || filepath.IsAbs(path) {
		return path, err
	}
	return filepath.Abs(filepath.Join(here, path))
}

// confirmFork prints what a fork changes and reruns, and asks for confirmation if there is any of either.
func (a *app) confirmFork(f *history.Fork, saved history.SavedCheckpoint, o forkOptions) error {
	changes := 0
	if f.Restore != nil {
		report, err := restoreview.Of(f.Restore, true)
		if err != nil {
			return err
		}
		changes = len(report.Changes)
		if !a.json {
			report.Print(a.Out, true)
		}
	}
	if !a.json {
		forkview.PrintRedo(a.Out, f.Redo)
	}
	if o.yes || changes == 0 && len(f.Redo) == 0 {
		return nil
	}
	effect := fmt.Sprintf("forking run %s at checkpoint %s changes %s", saved.Run, saved.ID, layout.Count(changes, "path"))
	return a.confirm(effect, effect+". Continue?")
}
