package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
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
		Use:   "rollback --to CHECKPOINT",
		Short: "Undo what was finished since a checkpoint, and bring its files back",
		Long: "Undo what was finished since a checkpoint, and bring its files back\n\n" +
			"The undo commands of the steps and items that were finished after it are run, the newest first; then the files are\n" +
			"brought back, as pawl restore does. Cut off, pawl rollback goes on where it was: what is proven to be undone is not\n" +
			"undone again.",
		Example: "  pawl rollback --to build --dry-run\n  pawl rollback --to 3f2a91c0 --yes\n  pawl rollback",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("pawl checkpoints", "the checkpoint is named by --to: pawl rollback --to %s", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return a.travel(c.Context(), func(t *traveller) error {
				target, err := a.rollbackTarget(c.Context(), t, o.to)
				if err != nil {
					return err
				}
				return a.rollback(c.Context(), t, target, o)
			})
		},
	}
	c.Flags().StringVar(&o.to, "to", "", "the checkpoint (default: that of the rollback that was cut off)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.otherHead, "other-head", false, "also where git stands at another commit than then")
	c.Flags().BoolVar(&o.stop, "stop", false, "give up a rollback that was cut off: what is undone stays so, no file is changed")
	return a.jsonFlag(c)
}

// rollbackTarget finds the checkpoint to go back to.
func (a *app) rollbackTarget(ctx context.Context, t *traveller, name string) (history.SavedCheckpoint, error) {
	if name != "" {
		return t.find(ctx, name)
	}
	back, err := runs.UnfinishedRollback(ctx, t.project)
	if err != nil {
		return history.SavedCheckpoint{}, err
	}
	if back == "" {
		return history.SavedCheckpoint{}, usageError("pawl checkpoints", "no rollback was cut off: say where to go back to, with --to CHECKPOINT")
	}
	return t.find(ctx, string(back))
}

// rollbackReport is what `pawl rollback --json` prints.
type rollbackReport struct {
	Checkpoint pawl.CheckpointID `json:"checkpoint"`
	Run        pawl.RunID        `json:"run"`
	DryRun     bool              `json:"dry_run,omitempty"`
	Continued  bool              `json:"continued,omitempty"`
	Undos      []engine.Undo     `json:"undos"`
	Nothing    []engine.Undo     `json:"nothing_to_undo"`
	Left       []string          `json:"unfinished"` // begun and never finished: nothing is run for them
	Doubtful   []pawl.AttemptRef `json:"judged_first"`
	Reopened   []pawl.StepID     `json:"reopened"`
	Changes    []changeReport    `json:"changes"`
	Kept       []string          `json:"kept"`
	Stopped    string            `json:"stopped,omitempty"`
}

func reportRollback(r *engine.Rollback, dry bool) rollbackReport {
	report := rollbackReport{
		Checkpoint: r.Target.ID, Run: r.Run, DryRun: dry, Continued: r.Continued, Undos: r.Undos, Nothing: r.WithoutUndo, Left: r.Unfinished,
		Doubtful: r.InDoubt, Reopened: r.Reopened, Changes: reportChanges(r.Changes), Kept: r.Ignored, Stopped: r.Stopped,
	}
	report.Undos, report.Nothing = append([]engine.Undo{}, r.Undos...), append([]engine.Undo{}, r.WithoutUndo...)
	report.Left, report.Kept = append([]string{}, r.Unfinished...), append([]string{}, r.Ignored...)
	report.Reopened = append([]pawl.StepID{}, r.Reopened...)
	return report
}

func (a *app) rollback(ctx context.Context, t *traveller, target history.SavedCheckpoint, o rollbackOptions) (err error) {
	cfg := t.config
	if !a.json {
		cfg.Notify = a.showUndo
	}
	r, err := engine.PrepareRollback(ctx, cfg, t.store, target, o.otherHead || o.dryRun || o.stop)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !a.json {
		a.printRollback(reportRollback(r, o.dryRun))
	}
	if o.dryRun {
		return a.rolledBack(r, true)
	}
	if err := a.agreedToRollback(r, o); err != nil {
		return err
	}
	soft, _, release := interrupts(ctx, func() {})
	defer release()
	if o.stop {
		err = r.Stop(soft, "stopped by a person")
	} else {
		err = r.Do(soft)
	}
	a.sayNotes(r.Notes())
	if err != nil {
		return err
	}
	return a.rolledBack(r, false)
}

// agreedToRollback asks whether to go back. What was begun was agreed to.
func (a *app) agreedToRollback(r *engine.Rollback, o rollbackOptions) error {
	switch {
	case o.stop && !r.Continued:
		return usageError("pawl status", "no rollback of run %s was cut off", r.Run)
	case o.yes || r.Continued:
		return nil
	}
	return a.confirm(fmt.Sprintf("Run %d undo commands and change %d paths?", len(r.Undos), len(reportChanges(r.Changes))))
}

func (a *app) printRollback(r rollbackReport) {
	word := "Rolling"
	if r.Continued {
		word = "Going on rolling"
	}
	fmt.Fprintf(a.Out, "%s %s back to checkpoint %s\n", word, r.Run, r.Checkpoint)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(a.Out, "  %-16s %s\n", what, fmt.Sprintf(format, args...))
	}
	for _, ref := range r.Doubtful {
		line("judged first", "attempt %d of %s: nobody has seen its end", ref.Attempt, ref.Name())
	}
	for _, u := range r.Undos {
		command, _, _ := strings.Cut(strings.TrimSpace(u.Command), "\n")
		line("undo", "%-20s %s%s", undoName(u), command, standing(u.Status))
	}
	for _, u := range r.Nothing {
		line("nothing to undo", "%s", undoName(u))
	}
	for _, name := range r.Left {
		line("not undone", "%s: it was begun and never finished; see what it left", name)
	}
	if len(r.Reopened) > 0 {
		line("runs again", "%s", joined(r.Reopened))
	}
	line("files", "%d paths change", len(r.Changes))
}

func undoName(u engine.Undo) string {
	name := pawl.AttemptRef{Step: u.Step, Item: u.Item}.Name()
	if u.Items > 0 {
		name += fmt.Sprintf(" (%d items)", u.Items)
	}
	return name
}

// standing says how it stands with an undo, where that is worth a word.
func standing(stands string) string {
	if stands == "to do" {
		return ""
	}
	return "  (" + stands + ")"
}

func joined[T ~string](ids []T) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// showUndo prints what happens, a line each.
func (a *app) showUndo(event pawl.Event) {
	payload, err := event.Payload()
	if err != nil {
		return
	}
	line := func(ref pawl.UndoRef, format string, args ...any) {
		fmt.Fprintf(a.Out, "%-20s %s\n", ref.Name(), fmt.Sprintf(format, args...))
	}
	switch p := payload.(type) {
	case pawl.UndoStarted:
		line(p.UndoRef, "undo %d started", p.Attempt)
	case pawl.UndoDone:
		line(p.UndoRef, "undone")
	case pawl.UndoFailed:
		line(p.UndoRef, "undo %d %s: %s", p.Attempt, p.Outcome, p.Why)
	case pawl.UndoSkipped:
		line(p.UndoRef, "undo skipped")
	case pawl.FilesRestored:
		fmt.Fprintf(a.Out, "files restored; what was there is checkpoint %s\n", p.Before)
	}
}

// rolledBack says how it came out.
func (a *app) rolledBack(r *engine.Rollback, dry bool) error {
	switch {
	case a.json:
		return a.printJSON(reportRollback(r, dry))
	case dry:
	case r.Stopped != "":
		fmt.Fprintf(a.Out, "the rollback of run %s is given up; what is undone stays so\n", r.Run)
	default:
		fmt.Fprintf(a.Out, "run %s stands where it stood at checkpoint %s\n", r.Run, r.Target.ID)
		fmt.Fprintf(a.Err, "pawl: hint: pawl resume %s\n", r.Run)
	}
	return nil
}
