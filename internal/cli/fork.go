package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
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
		Long: "Start a new run from a checkpoint\n\n" + checkpointHelp +
			"Steps that were finished at the checkpoint stay finished. The files are restored in place, as pawl restore does, or\n" +
			"written to another folder, which becomes a project of its own. The old run is not changed.",
		Example: "  pawl fork build\n  pawl fork 3f2a91c0 --to ../second-try",
		Args:    exactArgs(a.checkpointArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCheckpoints(c.Context(), false, func(t *checkpointAccess) error {
				return a.withIntactCheckpoint(c.Context(), t, args[0], o.to != "", func(saved history.SavedCheckpoint) error {
					return a.fork(c.Context(), t, saved, o)
				})
			})
		},
	}
	c.Flags().StringVar(&o.to, "to", "", "write to `FOLDER` instead, which must be new or empty")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "restore even if git HEAD has moved since the checkpoint")
	return a.jsonFlag(c)
}

// forkReport is what `pawl fork --json` prints.
type forkReport struct {
	Run        pawl.RunID        `json:"run"`
	Project    string            `json:"project"` // its folder
	From       pawl.RunID        `json:"from"`
	Checkpoint pawl.CheckpointID `json:"checkpoint"`
	Before     pawl.CheckpointID `json:"before,omitempty"` // checkpoint of the files before the restore
	Again      []history.Redo    `json:"again,omitempty"`  // finished, but missing in the snapshot: will rerun
}

func (a *app) fork(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, o forkOptions) (err error) {
	into := history.ForkOptions{OtherHead: o.otherHead, Version: a.version}
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
	return a.printFork(forkReport{
		Run: done.Run, Project: done.Root, From: saved.Run, Checkpoint: saved.ID, Before: done.Before, Again: f.Redo,
	}, done.Kind, o)
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
		for _, again := range f.Redo {
			fmt.Fprintf(a.Out, "rerun    %s: finished while the checkpoint was being saved, and not part of it\n", rerunName(again))
		}
	}
	if o.yes || changes == 0 && len(f.Redo) == 0 {
		return nil
	}
	effect := fmt.Sprintf("forking run %s at checkpoint %s changes %s", saved.Run, saved.ID, layout.Count(changes, "path"))
	return a.confirm(effect, effect+". Continue?")
}

func rerunName(again history.Redo) string {
	if len(again.Items) == 0 {
		return "step " + string(again.Step)
	}
	items := make([]string, len(again.Items))
	for i, id := range again.Items {
		items[i] = string(id)
	}
	return fmt.Sprintf("items of step %s: %s", again.Step, strings.Join(items, ", "))
}

func (a *app) printFork(r forkReport, kind pawl.RunKind, o forkOptions) error {
	if a.json {
		return a.printJSON(r)
	}
	if r.Before != "" {
		fmt.Fprintf(a.Out, "restored; previous state saved as checkpoint %s\n", r.Before)
	}
	where := ""
	if o.to != "" {
		where = " in " + r.Project
	}
	fmt.Fprintf(a.Out, "run %s%s: forked from run %s at checkpoint %s\n", r.Run, where, r.From, r.Checkpoint)
	if kind == pawl.SessionRun {
		return nil
	}
	command := "pawl resume"
	if o.to != "" {
		command = fmt.Sprintf("pawl -C %s resume", r.Project)
	}
	fmt.Fprintf(a.Err, "pawl: hint: %s %s\n", command, r.Run)
	return nil
}
