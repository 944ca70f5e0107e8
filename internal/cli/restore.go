package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/internal/cli/helptext"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/restoreview"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/runs"
)

func (a *app) restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore [CHECKPOINT [PATH…]]",
		Short: "Restore files from a checkpoint",
		Long: "Restore files from a checkpoint\n\n" + helptext.Checkpoint +
			"restore resets all files, or only those below PATH, to the checkpoint, and removes files that did not exist then. It\n" +
			"first saves the current files as a checkpoint, with PATH only these. It never removes files that the checkpoint\n" +
			"excludes, such as ignored ones, and never touches the .git folder. An interrupted restore blocks `pawl run` and\n" +
			"`pawl resume`: repeat it, or run `pawl restore` alone, to finish it.",
		Example: "  pawl restore latest --dry-run\n  pawl restore 3f2a91c0 src/ --yes\n  pawl restore build --to /tmp/build-copy\n  pawl restore --undo",
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCheckpoints(c.Context(), o.dryRun, func(t *checkpointAccess) error {
				return a.restoreNamed(c, t, args, o)
			})
		},
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the changes, or with --to the files that would be written, and exit")
	yesFlag(c, &o.yes, helptext.Confirm)
	c.Flags().BoolVar(&o.undo, "undo", false, "return to the files before the interrupted or the last restore; twice: redo it")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "restore even if git HEAD has moved since the checkpoint")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "print each path")
	c.Flags().StringVar(&o.to, "to", "", "write to `FOLDER` instead, which must be new or empty")
	return a.jsonFlag(c)
}

type restoreOptions struct {
	dryRun, yes, undo, otherHead, verbose bool
	to                                    string
}

// restoreNamed restores what the arguments name: a checkpoint with paths, or the last or the unfinished restore.
func (a *app) restoreNamed(c *cobra.Command, t *checkpointAccess, args []string, o restoreOptions) error {
	ctx := c.Context()
	if o.undo || len(args) == 0 {
		return a.restoreAgain(c, t, args, o)
	}
	paths, err := a.projectPaths(t.project, args[1:])
	if err != nil {
		return err
	}
	return a.withIntactCheckpoint(ctx, t, args[0], o.to != "", paths, func(saved history.SavedCheckpoint) error {
		if err := t.checkPathsExist(saved, paths); err != nil {
			return err
		}
		if o.to != "" {
			return a.exportFiles(ctx, t, saved, paths, o)
		}
		return a.restore(ctx, t, saved, history.RestoreOptions{Paths: paths}, o)
	})
}

// restoreAgain undoes the last restore, or finishes the unfinished one.
func (a *app) restoreAgain(c *cobra.Command, t *checkpointAccess, args []string, o restoreOptions) error {
	switch {
	case len(args) > 0:
		return usageError("pawl restore --undo", "--undo takes no CHECKPOINT: it restores the files before the last restore")
	case o.to != "":
		return usageError("pawl checkpoints", "--to needs a CHECKPOINT")
	}
	find := history.RestoreToUndo
	if !o.undo {
		u, _, err := runs.UnfinishedRestore(c.Context(), t.project)
		if err != nil {
			return err
		}
		if u == nil {
			return missingArgument(c, a.checkpointArgument())
		}
		find = history.RestoreToFinish
	}
	target, how, err := find(c.Context(), t.project, t.store)
	if err != nil {
		return err
	}
	return a.restore(c.Context(), t, target, how, o)
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
			why, err := t.store.WhyLeftOut(record, path)
			if err != nil {
				return err
			}
			if why != "" {
				return usageError(fmt.Sprintf("pawl show %s --left-out", saved.ID), "%s is not in checkpoint %s, which left it out (%s); it stays missing", oneline.Path(path), saved.ID, why)
			}
			return usageError(fmt.Sprintf("pawl show %s .", saved.ID), "no such path: %s exists neither in checkpoint %s nor now", oneline.Path(path), saved.ID)
		}
	}
	return nil
}

// exportFiles writes the files of a checkpoint to a folder of their own. A dry run prints which ones.
func (a *app) exportFiles(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, paths []string, o restoreOptions) error {
	record, err := saved.SnapshotRecord()
	if err != nil {
		return err
	}
	if paths, err = record.Within(paths); err != nil {
		return err
	}
	folder, err := a.absolutePath(o.to)
	if err == nil {
		err = history.RequireEmpty(folder)
	}
	if err != nil {
		return err
	}
	changes, err := t.store.ExportChanges(record, paths)
	if err == nil && !o.dryRun {
		changes, err = t.store.Export(ctx, record, paths, folder)
	}
	if err != nil {
		return err
	}
	leftOut, err := t.store.LeftOutBelow(record, paths)
	if err != nil {
		return err
	}
	report := restoreview.OfExport(saved.ID, changes, leftOut, o.to, o.dryRun)
	if a.json {
		return a.printJSON(report)
	}
	report.PrintExport(a.Out, o.verbose || o.dryRun)
	return nil
}

func (a *app) restore(ctx context.Context, t *checkpointAccess, saved history.SavedCheckpoint, how history.RestoreOptions, o restoreOptions) (err error) {
	plan := history.PrepareRestore
	if o.dryRun {
		plan = history.PreviewRestore
	}
	how.OtherHead, how.Version = o.otherHead, a.version
	r, err := plan(ctx, t.project, t.store, saved, how)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Undo && !a.json {
		fmt.Fprintln(a.Out, restoreview.UndoText(r))
	}
	report, err := restoreview.Of(r, o.dryRun)
	if err != nil {
		return err
	}
	if !o.dryRun && (len(r.Changes) > 0 || r.Unfinished != nil) {
		if !o.yes && r.Unfinished == nil { // the user has confirmed an unfinished one before
			if a.interactive() {
				restoreview.PrintPaths(a.Out, report.Changes[:min(len(report.Changes), shownPaths)])
			}
			changes := layout.Count(len(report.Changes), "path")
			if err := a.confirm("restoring changes "+changes, report.Question(r.Undo)); err != nil {
				return err
			}
		}
		report.Before, err = r.Do(ctx, a.author())
		if report.Edited, report.EditedIn = r.Edited, r.EditedIn; err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	report.Print(a.Out, o.verbose || o.dryRun)
	if o.dryRun && !o.otherHead && r.Unfinished == nil && r.RequireSameHead(ctx) != nil {
		fmt.Fprintln(a.Out, "HEAD moved since: needs --other-head")
	}
	return nil
}

// shownPaths is how many paths are printed before the question whether to restore them.
const shownPaths = 20
