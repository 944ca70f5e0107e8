package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/liveview"
	"pawl/internal/cli/restoreview"
	"pawl/internal/cli/signals"
	"pawl/internal/cli/supply"
	"pawl/internal/engine"
	"pawl/internal/history"
	"pawl/internal/runs"
)

type rollbackOptions struct {
	to                           string
	dryRun, yes, otherHead, stop bool
}

func (a *app) rollbackCommand() *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:   "rollback [--to CHECKPOINT]",
		Short: "Roll back to a checkpoint: run undo commands, restore files",
		Long: "Roll back to a checkpoint: run undo commands, restore files\n\n" + checkpointHelp +
			"rollback runs the undo commands of the steps and items that finished after the checkpoint, newest first. Then it\n" +
			"restores the files, as pawl restore does. `pawl rollback` without --to continues an interrupted rollback;\n" +
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
				target, err := a.rollbackTarget(c.Context(), t, o.to)
				if err != nil {
					return err
				}
				return a.rollback(c.Context(), t, target, o)
			})
		},
	}
	textFlag(c, &o.to, "to", "CHECKPOINT", "the checkpoint to roll back to (default: that of the interrupted rollback)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the undo commands and file changes, and exit")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "restore even if git HEAD has moved since the checkpoint")
	c.Flags().BoolVar(&o.stop, "stop", false, "abandon an interrupted rollback: keep what was undone, change no files")
	return a.jsonFlag(c)
}

// rollbackTarget returns the named checkpoint, or that of the interrupted rollback.
func (a *app) rollbackTarget(ctx context.Context, t *checkpointAccess, name string) (history.SavedCheckpoint, error) {
	if name != "" {
		return t.find(ctx, name)
	}
	back, err := runs.UnfinishedRollback(ctx, t.project)
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	if back == "" {
		return history.SavedCheckpoint{}, usageError("pawl checkpoints", "rollback needs --to CHECKPOINT: there is no interrupted rollback to continue")
	}
	return t.find(ctx, string(back))
}

// rollbackReport is what `pawl rollback --json` prints.
type rollbackReport struct {
	Checkpoint pawl.CheckpointID    `json:"checkpoint"`
	Run        pawl.RunID           `json:"run"`
	DryRun     bool                 `json:"dry_run,omitempty"`
	Continued  bool                 `json:"continued,omitempty"`
	Undos      []engine.Undo        `json:"undos"`
	Nothing    []engine.Undo        `json:"nothing_to_undo"`
	Left       []string             `json:"unfinished"` // started and never finished: no undo runs for them
	Doubtful   []pawl.AttemptRef    `json:"judged_first"`
	Reopened   []pawl.StepID        `json:"reopened"`
	Changes    []restoreview.Change `json:"changes"`
	Kept       []string             `json:"kept"`
	Stopped    string               `json:"stopped,omitempty"`
}

func reportRollback(r *engine.Rollback, dry bool) rollbackReport {
	report := rollbackReport{
		Checkpoint: r.Target.ID, Run: r.Run, DryRun: dry, Continued: r.Continued, Undos: r.Undos, Nothing: r.WithoutUndo, Left: r.Unfinished,
		Doubtful: r.InDoubt, Reopened: r.Reopened, Changes: restoreview.Changes(r.Changes), Kept: r.Ignored, Stopped: r.Stopped,
	}
	report.Undos, report.Nothing = append([]engine.Undo{}, r.Undos...), append([]engine.Undo{}, r.WithoutUndo...)
	report.Left, report.Kept = append([]string{}, r.Unfinished...), append([]string{}, r.Ignored...)
	report.Reopened = append([]pawl.StepID{}, r.Reopened...)
	return report
}

func (a *app) rollback(ctx context.Context, t *checkpointAccess, target history.SavedCheckpoint, o rollbackOptions) (err error) {
	cfg := t.config
	if !o.dryRun && !o.stop {
		if cfg.Secrets, err = supply.ForRollback(ctx, t.project, target.Run, supply.Prompt(a.In, a.Out)); err != nil {
			return err
		}
	}
	if !a.json {
		cfg.Notify = a.printUndoEvent
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
		a.printRollback(reportRollback(r, o.dryRun))
	}
	if o.dryRun {
		return a.printRollbackResult(r, true)
	}
	if err := a.confirmRollback(r, o); err != nil {
		return err
	}
	soft, _, release := signals.Contexts(ctx)
	defer release()
	if o.stop {
		err = r.Stop(soft, "stopped by a user")
	} else {
		err = r.Do(soft)
	}
	a.printNotes(r.Notes())
	if err != nil {
		return err
	}
	return a.printRollbackResult(r, false)
}

// confirmRollback asks for confirmation, except for a rollback that is being continued.
func (a *app) confirmRollback(r *engine.Rollback, o rollbackOptions) error {
	switch {
	case o.stop && !r.Continued:
		return usageError("pawl status", "run %s has no interrupted rollback to stop", r.Run)
	case o.yes || r.Continued:
		return nil
	}
	effect, question := rollbackEffects(len(r.Undos), len(restoreview.Changes(r.Changes)))
	return a.confirm("rolling back "+effect, question)
}

// rollbackEffects says what a rollback does, and asks for it.
func rollbackEffects(undos, paths int) (effect, question string) {
	commands, changes := layout.Count(undos, "undo command"), layout.Count(paths, "path")
	switch {
	case undos == 0 && paths == 0:
		return "reruns steps; it runs no undo command and changes no file", "Roll back? No undo command runs and no file changes."
	case undos == 0:
		return "changes " + changes + "; it runs no undo command", "Change " + changes + "?"
	case paths == 0:
		return "runs " + commands + "; it changes no file", "Run " + commands + "?"
	}
	return "runs " + commands + " and changes " + changes, "Run " + commands + " and change " + changes + "?"
}

func (a *app) printRollback(r rollbackReport) {
	word := "Rolling back"
	if r.Continued {
		word = "Continuing to roll back"
	}
	fmt.Fprintf(a.Out, "%s run %s to checkpoint %s\n", word, r.Run, r.Checkpoint)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(a.Out, "  %-16s %s\n", what, fmt.Sprintf(format, args...))
	}
	for _, ref := range r.Doubtful {
		line("check first", "attempt %d of %s was interrupted", ref.Attempt, ref.Name())
	}
	for _, u := range r.Undos {
		command, _, _ := strings.Cut(strings.TrimSpace(u.Command), "\n")
		line("undo", "%-20s %s%s", undoName(u), command, undoNote(u.Status))
	}
	for _, u := range r.Nothing {
		line("nothing to undo", "%s", undoName(u))
	}
	for _, name := range r.Left {
		line("not undone", "%s started and never finished; check its effects yourself", name)
	}
	if len(r.Reopened) > 0 {
		line("will rerun", "%s", layout.JoinIDs(r.Reopened))
	}
	line("files", "%s will change", layout.Count(len(r.Changes), "path"))
}

func undoName(u engine.Undo) string {
	name := pawl.AttemptRef{Step: u.Step, Item: u.Item}.Name()
	if u.Items > 0 {
		name += " (" + layout.Count(u.Items, "item") + ")"
	}
	return name
}

// undoNote returns the state of an undo, or "" if it has yet to run.
func undoNote(stands string) string {
	if stands == "to do" {
		return ""
	}
	return "  (" + stands + ")"
}

// printUndoEvent prints an event of a rollback in one line.
func (a *app) printUndoEvent(event pawl.Event) {
	payload, err := event.Payload()
	if err != nil {
		return
	}
	line := func(ref pawl.UndoRef, format string, args ...any) {
		fmt.Fprintf(a.Out, "%-20s %s\n", ref.Name(), fmt.Sprintf(format, args...))
	}
	switch p := payload.(type) {
	case pawl.UndoStarted:
		line(p.UndoRef, "undo started (attempt %d)", p.Attempt)
	case pawl.UndoDone:
		line(p.UndoRef, "undone")
	case pawl.UndoFailed:
		line(p.UndoRef, "undo %s (attempt %d): %s", liveview.OutcomeText(p.Outcome), p.Attempt, p.Why)
	case pawl.UndoSkipped:
		line(p.UndoRef, "undo skipped")
	case pawl.FilesRestored:
		fmt.Fprintf(a.Out, "files restored; previous state saved as checkpoint %s\n", p.Before)
	}
}

// printRollbackResult prints the outcome of a rollback.
func (a *app) printRollbackResult(r *engine.Rollback, dry bool) error {
	switch {
	case a.json:
		return a.printJSON(reportRollback(r, dry))
	case dry:
	case r.Stopped != "":
		fmt.Fprintf(a.Out, "rollback of run %s given up; what is undone stays undone\n", r.Run)
	default:
		fmt.Fprintf(a.Out, "run %s rolled back to checkpoint %s\n", r.Run, r.Target.ID)
		fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.Run)
	}
	return nil
}
