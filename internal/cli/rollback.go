package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/eventstream"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/rollbackview"
	"pawl/internal/cli/signals"
	"pawl/internal/cli/supply"
	"pawl/internal/engine"
	"pawl/internal/history"
	"pawl/internal/runs"
	"pawl/internal/transfer"
)

type rollbackOptions struct {
	to, plan                     string
	dryRun, yes, otherHead, stop bool
}

func (a *app) rollbackCommand() *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:   "rollback [--to CHECKPOINT]",
		Short: "Roll back to a checkpoint: run undo commands, restore files",
		Long: "Roll back to a checkpoint: run undo commands, restore files\n\n" + helptext.Checkpoint +
			"rollback acts on the run that the checkpoint belongs to. It runs the undo commands of the steps and items that finished after\n" +
			"the checkpoint, newest first. Then it restores the files, as pawl restore does. `pawl rollback` without --to continues an interrupted rollback;\n" +
			"undo commands that provably finished do not rerun.",
		Example: "  pawl rollback --to build --dry-run\n  pawl rollback --to 3f2a91c0 --yes\n  pawl rollback",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("pawl checkpoints", "rollback takes no arguments; name the checkpoint with --to %s", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withCheckpoints(c.Context(), o.dryRun, func(t *checkpointAccess) error {
				target, err := a.rollbackTarget(c.Context(), t, o)
				if err != nil {
					return err
				}
				return a.rollback(c.Context(), t, target, o)
			})
		},
	}
	textFlag(c, &o.to, "to", "CHECKPOINT", "the checkpoint to roll back to (default: that of the interrupted rollback)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the undo commands and file changes, and exit")
	yesFlag(c, &o.yes, helptext.Confirm)
	textFlag(c, &o.plan, "plan", "HASH", "roll back only if that does exactly what a dry run showed: HASH is plan of its --json")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "restore even if git HEAD has moved since the checkpoint")
	c.Flags().BoolVar(&o.stop, "stop", false, "abandon an interrupted rollback: keep what was undone, change no files")
	return a.jsonFlag(c)
}

// rollbackTarget returns the named checkpoint, or that of the interrupted rollback.
func (a *app) rollbackTarget(ctx context.Context, t *checkpointAccess, o rollbackOptions) (history.SavedCheckpoint, error) {
	if o.to != "" {
		return t.find(ctx, o.to)
	}
	back, err := runs.UnfinishedRollback(ctx, t.project)
	switch {
	case err != nil:
		return history.SavedCheckpoint{}, err
	case back == "" && o.stop:
		return history.SavedCheckpoint{}, usageError("pawl status", "there is no interrupted rollback")
	case back == "":
		return history.SavedCheckpoint{}, usageError("pawl checkpoints", "rollback needs --to CHECKPOINT: there is no interrupted rollback to continue")
	}
	return t.find(ctx, string(back))
}

func (a *app) rollback(ctx context.Context, t *checkpointAccess, target history.SavedCheckpoint, o rollbackOptions) (err error) {
	cfg, byRun := t.config, runs.NamesByRun(ctx, t.project)
	if !o.dryRun && !o.stop {
		if cfg.Secrets, err = supply.ForRollback(ctx, t.project, target.Run, supply.Prompt(a.In, a.Out)); err != nil {
			return err
		}
	}
	names := func(text string) string { return byRun(target.Run, text) }
	if !a.json {
		cfg.Notify = func(e pawl.Event) { rollbackview.PrintEvent(a.Out, e, names) }
	}
	var r *engine.Rollback
	if o.dryRun {
		r, err = engine.PreviewRollback(ctx, cfg, t.store, target)
	} else {
		r, err = engine.PrepareRollback(ctx, cfg, t.store, target, o.otherHead || o.stop)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !a.json {
		rollbackview.Of(r, o.dryRun).Print(a.Out, names)
	}
	if o.dryRun {
		return a.printRollbackResult(r, true)
	}
	if o.stop && !r.Continued {
		return usageError("pawl status", "run %s has no interrupted rollback to stop", r.Run)
	}
	if err := rollbackview.Of(r, false).Confirm(o.yes, o.plan, a.confirm); err != nil {
		return err
	}
	if o.plan != "" {
		defer eventstream.SurviveClosedReaders()() // the server that started this process may end
	}
	soft, _, release := signals.Contexts(ctx)
	defer release()
	if o.stop {
		err = r.Stop(soft, "stopped by a person")
	} else if err = transfer.TakeOver(soft, t.project, r.Run, transfer.PushOptions{By: a.author(), Version: a.version}, func(string) bool { return o.yes }); err == nil {
		err = r.Do(soft)
	}
	a.printNotes(r.Notes())
	if err != nil {
		return err
	}
	return a.printRollbackResult(r, false)
}

// printRollbackResult prints the outcome of a rollback.
func (a *app) printRollbackResult(r *engine.Rollback, dry bool) error {
	switch report := rollbackview.Of(r, dry); {
	case a.json:
		return a.printJSON(report)
	case !dry:
		report.PrintDone(a.Out, a.Err)
	}
	return nil
}
