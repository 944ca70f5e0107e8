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
	"pawl/internal/cli/layout"
	"pawl/internal/history"
	"pawl/internal/snapshot"
)

func (a *app) restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore CHECKPOINT [PATH…]",
		Short: "Restore files from a checkpoint",
		Long: "Restore files from a checkpoint\n\n" + checkpointHelp +
			"restore resets all files, or only those below PATH, to the checkpoint, and removes files that did not exist then. It\n" +
			"first saves the current files as a checkpoint. It never removes ignored files and never touches the .git folder.",
		Example: "  pawl restore latest --dry-run\n  pawl restore 3f2a91c0 src/ --yes\n  pawl restore build --to /tmp/build-copy",
		Args:    atLeastOne(a.checkpointArgument()),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCheckpoints(c.Context(), func(t *checkpointAccess) error {
				paths, err := a.projectPaths(t.project, args[1:])
				if err != nil {
					return err
				}
				return a.withIntactCheckpoint(c.Context(), t, args[0], o.to != "", func(saved history.SavedCheckpoint) error {
					if err := t.checkPathsExist(saved, paths); err != nil {
						return err
					}
					if o.to != "" {
						return a.exportFiles(c.Context(), t, saved, paths, o.to)
					}
					return a.restore(c.Context(), t, saved, paths, o)
				})
			})
		},
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the changes and exit")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "restore even if git HEAD has moved since the checkpoint")
	c.Flags().StringVar(&o.to, "to", "", "write to `FOLDER` instead, which must be new or empty")
	return a.jsonFlag(c)
}

type restoreOptions struct {
	dryRun, yes, otherHead bool
	to                     string
}

// restoreReport is what `pawl restore --json` prints.
type restoreReport struct {
	Checkpoint pawl.CheckpointID `json:"checkpoint"`
	Before     pawl.CheckpointID `json:"before,omitempty"` // checkpoint of the files before the restore
	DryRun     bool              `json:"dry_run,omitempty"`
	Changes    []changeReport    `json:"changes"`
	Kept       []string          `json:"kept"` // ignored paths, which are not removed
	To         string            `json:"to,omitempty"`
}

// checkPathsExist returns an error for a path that exists neither in the checkpoint nor now: it is probably a typo.
func (t *checkpointAccess) checkPathsExist(saved history.SavedCheckpoint, paths []string) error {
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
			return usageError(fmt.Sprintf("pawl show %s .", saved.ID), "no such path: %s exists neither in checkpoint %s nor now", path, saved.ID)
		}
	}
	return nil
}

func (a *app) exportFiles(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, paths []string, to string) error {
	record, err := saved.SnapshotRecord()
	if err != nil {
		return err
	}
	folder, err := a.absolutePath(to)
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
	fmt.Fprintf(a.Out, "wrote %s to %s\n", layout.Count(countFiles(changes), "file"), to)
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

func (a *app) restore(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, paths []string, o restoreOptions) (err error) {
	r, err := history.PrepareRestore(ctx, t.project, t.store, saved, paths, o.otherHead || o.dryRun, a.version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	report := restoreReport{Checkpoint: saved.ID, DryRun: o.dryRun, Changes: reportChanges(r.Changes), Kept: r.Kept}
	if !a.json {
		a.printRestore(report)
	}
	if o.dryRun && !o.otherHead && !a.json && r.RequireSameHead(ctx) != nil {
		fmt.Fprintln(a.Out, "HEAD moved since: needs --other-head")
	}
	switch {
	case o.dryRun, len(r.Changes) == 0:
	default:
		if !o.yes {
			changes := layout.Count(len(report.Changes), "path")
			if err := a.confirm("restoring changes "+changes, fmt.Sprintf("Change %s to checkpoint %s?", changes, saved.ID)); err != nil {
				return err
			}
		}
		if report.Before, err = r.Do(ctx, a.author()); err != nil {
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
		fmt.Fprintf(a.Out, "restored; previous state saved as checkpoint %s\n", report.Before)
	}
	return nil
}

func (a *app) printRestore(r restoreReport) {
	out := bufio.NewWriter(a.Out)
	defer out.Flush()
	for _, c := range r.Changes {
		fmt.Fprintf(out, "%-8s %s\n", restoreVerbs[c.Change], c.Path)
	}
	for _, path := range r.Kept {
		fmt.Fprintf(out, "%-8s %s (ignored)\n", "keep", path)
	}
	if len(r.Changes) == 0 {
		fmt.Fprintln(out, "nothing to restore")
	}
}

// restoreVerbs say what a restore does to a path, by the kind of change.
var restoreVerbs = map[string]string{"added": "create", "removed": "remove", "changed": "change", "mode": "mode", "type": "replace"}
