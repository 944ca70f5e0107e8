// Package rollbackview prints what a rollback undoes.
package rollbackview

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/liveview"
	"pawl/internal/cli/restoreview"
	"pawl/internal/engine"
)

// Report is what `pawl rollback --json` prints.
type Report struct {
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
	Plan       string               `json:"plan,omitempty"` // of a dry run: hash of what it would do, for --plan
}

func Of(r *engine.Rollback, dry bool) Report {
	report := Report{
		Checkpoint: r.Target.ID, Run: r.Run, DryRun: dry, Continued: r.Continued, Undos: r.Undos, Nothing: r.WithoutUndo, Left: r.Unfinished,
		Doubtful: r.InDoubt, Reopened: r.Reopened, Changes: restoreview.Changes(r.Changes), Kept: r.Ignored, Stopped: r.Stopped,
	}
	report = report.WithLists()
	if dry {
		report.Plan = report.hash()
	}
	return report
}

// WithLists returns the report with empty lists where it has none.
func (r Report) WithLists() Report {
	r.Undos, r.Nothing = append([]engine.Undo{}, r.Undos...), append([]engine.Undo{}, r.Nothing...)
	r.Left, r.Kept, r.Reopened = append([]string{}, r.Left...), append([]string{}, r.Kept...), append([]pawl.StepID{}, r.Reopened...)
	r.Doubtful, r.Changes = append([]pawl.AttemptRef{}, r.Doubtful...), append([]restoreview.Change{}, r.Changes...)
	return r
}

// hash returns a hash of what a rollback would do.
func (r Report) hash() string {
	r.DryRun, r.Plan = false, ""
	data, err := json.Marshal(r)
	if err != nil {
		panic("a report holds only strings, numbers and times: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Confirm asks for a rollback, unless it is one that the user has confirmed: by yes, or by the hash of exactly this plan.
func (r Report) Confirm(yes bool, plan string, ask func(effect, question string) error) error {
	if plan != "" && plan != r.hash() {
		return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("the rollback is not the one of the dry run: look at it again"), Hint: "pawl rollback --to " + string(r.Checkpoint) + " --dry-run"}
	}
	if yes || plan != "" || r.Continued {
		return nil
	}
	effect, question := Effects(len(r.Undos), len(r.Changes))
	return ask("rolling back "+effect, question)
}

// PrintDone prints the outcome of a rollback.
func (r Report) PrintDone(out, errOut io.Writer) {
	if r.Stopped != "" {
		fmt.Fprintf(out, "rollback of run %s abandoned; undone steps stay undone\n", r.Run)
		return
	}
	fmt.Fprintf(out, "run %s rolled back to checkpoint %s\n", r.Run, r.Checkpoint)
	fmt.Fprintf(errOut, "pawl: hint: pawl resume %s\n", r.Run)
}

// Effects says what a rollback does, and asks for it.
func Effects(undos, paths int) (effect, question string) {
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

// Print prints what a rollback does. names replaces the ids of items by their values.
func (r Report) Print(w io.Writer, names func(text string) string) {
	word := "Rollback"
	if r.Continued {
		word = "Interrupted rollback"
	}
	fmt.Fprintf(w, "%s of run %s to checkpoint %s:\n", word, r.Run, r.Checkpoint)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "  %-16s %s\n", what, names(fmt.Sprintf(format, args...)))
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

// PrintEvent prints an event of a rollback in one line. names replaces the ids of items by their values.
func PrintEvent(w io.Writer, event pawl.Event, names func(text string) string) {
	payload, err := event.Payload()
	if err != nil {
		return
	}
	line := func(ref pawl.UndoRef, format string, args ...any) {
		fmt.Fprintf(w, "%-20s %s\n", names(ref.Name()), fmt.Sprintf(format, args...))
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
		fmt.Fprintf(w, "files restored; previous state saved as checkpoint %s\n", p.Before)
	}
}
