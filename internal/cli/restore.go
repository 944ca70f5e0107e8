package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/snapshot"
)

func (a *app) restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore CHECKPOINT [PATH…]",
		Short: "Bring files back to what they were",
		Long: "Bring files back to what they were\n\nAt a checkpoint: all, or only the paths named. What is there now is kept as a checkpoint\n" +
			"first. Ignored files are never removed, and git's own files never touched.",
		Example: "  pawl restore latest --dry-run\n  pawl restore 3f2a91c0 src/ --yes\n  pawl restore build --to /tmp/as-it-was",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
				paths, err := a.inside(t.project, args[1:])
				if err != nil {
					return err
				}
				return a.whole(c.Context(), t, args[0], o.to != "", func(saved history.SavedCheckpoint) error {
					if err := t.knows(saved, paths); err != nil {
						return err
					}
					if o.to != "" {
						return a.export(c.Context(), t, saved, paths, o.to)
					}
					return a.restore(c.Context(), t, saved, paths, o)
				})
			})
		},
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "also where git stands at another commit than then")
	c.Flags().StringVar(&o.to, "to", "", "write into this folder instead, which must be empty or not there")
	return a.jsonFlag(c)
}

type restoreOptions struct {
	dryRun, yes, otherHead bool
	to                     string
}

// restoreReport is what `pawl restore --json` prints.
type restoreReport struct {
	Checkpoint pawl.CheckpointID `json:"checkpoint"`
	Before     pawl.CheckpointID `json:"before,omitempty"` // what was there
	DryRun     bool              `json:"dry_run,omitempty"`
	Changes    []changeReport    `json:"changes"`
	Kept       []string          `json:"kept"` // ignored, so they stay
	To         string            `json:"to,omitempty"`
}

// knows refuses paths at which nothing was then and nothing is now: they are not what the user meant.
func (t *traveller) knows(saved history.SavedCheckpoint, paths []string) error {
	record, err := saved.SnapshotRecord()
	if err != nil {
		return err
	}
	for _, path := range paths {
		e, err := t.store.At(record, path)
		if err != nil {
			return err
		}
		if _, missing := os.Lstat(filepath.Join(t.project.Root, path)); e == nil && missing != nil {
			return usageError(fmt.Sprintf("pawl show %s .", saved.ID), "%s was not there at checkpoint %s, and is not there now", path, saved.ID)
		}
	}
	return nil
}

func (a *app) export(ctx context.Context, t *traveller, saved history.SavedCheckpoint, paths []string, to string) error {
	record, err := saved.SnapshotRecord()
	if err != nil {
		return err
	}
	folder, err := a.fromHere(to)
	if err == nil {
		err = history.RequireEmpty(folder)
	}
	if err != nil {
		return err
	}
	changes, err := t.store.Export(ctx, record, paths, folder)
	if err != nil {
		return err
	}
	report := restoreReport{Checkpoint: saved.ID, Changes: reportChanges(changes), Kept: []string{}, To: to}
	if a.json {
		return a.printJSON(report)
	}
	fmt.Fprintf(a.Out, "%d files and links written to %s\n", countFiles(changes), to)
	return nil
}

func countFiles(changes []snapshot.Change) int {
	n := 0
	for _, c := range changes {
		if c.New != nil && c.New.Kind != snapshot.Folder {
			n++
		}
	}
	return n
}

func (a *app) restore(ctx context.Context, t *traveller, saved history.SavedCheckpoint, paths []string, o restoreOptions) (err error) {
	r, err := history.PrepareRestore(ctx, t.project, t.store, saved, paths, o.otherHead || o.dryRun, a.version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	report := restoreReport{Checkpoint: saved.ID, DryRun: o.dryRun, Changes: reportChanges(r.Changes), Kept: r.Kept}
	if !a.json {
		a.printRestore(report)
	}
	switch {
	case o.dryRun, len(r.Changes) == 0:
	default:
		if !o.yes {
			if err := a.confirm(fmt.Sprintf("Change %d paths to what they were at checkpoint %s?", len(report.Changes), saved.ID)); err != nil {
				return err
			}
		}
		if report.Before, err = r.Do(ctx, me()); err != nil {
			return err
		}
	}
	if a.json {
		if report.Kept == nil {
			report.Kept = []string{}
		}
		return a.printJSON(report)
	}
	if report.Before != "" {
		fmt.Fprintf(a.Out, "restored; what was there is checkpoint %s\n", report.Before)
	}
	return nil
}

func (a *app) printRestore(r restoreReport) {
	out := bufio.NewWriter(a.Out)
	defer out.Flush()
	for _, c := range r.Changes {
		fmt.Fprintf(out, "%-8s %s\n", restoring[c.Change], c.Path)
	}
	for _, path := range r.Kept {
		fmt.Fprintf(out, "%-8s %s (ignored then)\n", "stays", path)
	}
	if len(r.Changes) == 0 {
		fmt.Fprintln(out, "all is as it was then")
	}
}

// restoring are the words for what a restore does.
var restoring = map[string]string{"added": "bring", "removed": "remove", "changed": "change", "mode": "mode", "type": "replace"}
