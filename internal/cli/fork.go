package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
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
		Short: "Start a new run from what a run was at a checkpoint",
		Long: "Start a new run from what a run was at a checkpoint\n\nWhat was finished then stays finished. The files are brought back\n" +
			"as pawl restore does, or written into another folder, which becomes a project of its own. The old run stays as it is.",
		Example: "  pawl fork build\n  pawl fork 3f2a91c0 --to ../second-try",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
				return a.whole(c.Context(), t, args[0], o.to != "", func(saved history.SavedCheckpoint) error {
					return a.fork(c.Context(), t, saved, o)
				})
			})
		},
	}
	c.Flags().StringVar(&o.to, "to", "", "in this folder instead, which must be empty or not there")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "also where git stands at another commit than then")
	return a.jsonFlag(c)
}

// forkReport is what `pawl fork --json` prints.
type forkReport struct {
	Run        pawl.RunID        `json:"run"`
	Project    string            `json:"project"` // its folder
	From       pawl.RunID        `json:"from"`
	Checkpoint pawl.CheckpointID `json:"checkpoint"`
	Before     pawl.CheckpointID `json:"before,omitempty"` // what was there
	Again      []history.Redo    `json:"again,omitempty"`  // finished, but not in the snapshot
}

func (a *app) fork(ctx context.Context, t *traveller, saved history.SavedCheckpoint, o forkOptions) (err error) {
	into := history.ForkOptions{OtherHead: o.otherHead, Version: a.version}
	if o.to != "" {
		if into.Folder, err = a.fromHere(o.to); err != nil {
			return err
		}
	}
	f, err := history.PrepareFork(ctx, t.project, t.store, saved, into)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := a.agreeToFork(f, saved, o); err != nil {
		return err
	}
	done, err := f.Do(ctx, me())
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

// fromHere returns a path that the user named as it is to be opened, -C considered.
func (a *app) fromHere(path string) (string, error) {
	here, err := a.here()
	if err != nil || filepath.IsAbs(path) {
		return path, err
	}
	return filepath.Abs(filepath.Join(here, path))
}

// agreeToFork shows what a fork would change and do again, and asks for a yes where it changes or repeats anything.
func (a *app) agreeToFork(f *history.Fork, saved history.SavedCheckpoint, o forkOptions) error {
	changes := 0
	if f.Restore != nil {
		report := restoreReport{Changes: reportChanges(f.Changes), Kept: f.Kept}
		changes = len(report.Changes)
		if !a.json {
			a.printRestore(report)
		}
	}
	if !a.json {
		for _, again := range f.Redo {
			fmt.Fprintf(a.Out, "runs again  %s: it was finished while the checkpoint was taken, and is not in it\n", redone(again))
		}
	}
	if o.yes || changes == 0 && len(f.Redo) == 0 {
		return nil
	}
	return a.confirm(fmt.Sprintf("Fork run %s at checkpoint %s, changing %d paths?", saved.Run, saved.ID, changes))
}

func redone(again history.Redo) string {
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
		fmt.Fprintf(a.Out, "restored; what was there is checkpoint %s\n", r.Before)
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
