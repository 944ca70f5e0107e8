// Package restoreview prints what a restore does, and the changes between two trees.
package restoreview

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/shellwords"
	"pawl/internal/snapshot"
)

// Report is what `pawl restore --json` prints.
type Report struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Before     pawl.CheckpointID   `json:"before,omitempty"`       // checkpoint of the files before the restore
	Edited     pawl.CheckpointID   `json:"edited,omitempty"`       // checkpoint of the edits since the restore was interrupted
	EditedIn   []string            `json:"edited_paths,omitempty"` // files with these edits, which the restore replaced or removed
	DryRun     bool                `json:"dry_run,omitempty"`
	Changes    []Change            `json:"changes"`
	Kept       []string            `json:"kept"`              // ignored paths, which are not removed
	NotIn      []snapshot.StaysOut `json:"not_in_checkpoint"` // left out of the checkpoint; they stay as they are, or missing
	To         string              `json:"to,omitempty"`
}

// Of returns the report of a planned restore.
func Of(r *history.Restore, dry bool) (Report, error) {
	notIn, err := r.StaysOut()
	return Report{
		Checkpoint: r.Target.ID, DryRun: dry, Changes: Changes(r.Changes), Kept: append([]string{}, r.Kept...),
		NotIn: append([]snapshot.StaysOut{}, notIn...),
	}, err
}

// UndoText says what the undo restores.
func UndoText(r *history.Restore) string {
	what := "the restore of " + layout.UTCWithZone(r.Target.Time)
	switch u := r.Unfinished; {
	case u != nil && !u.Undo:
		what = fmt.Sprintf("the unfinished restore of checkpoint %s (%s)", u.Checkpoint, pathsText(u.Paths))
	case u == nil && !r.Undone.Time.IsZero():
		what = fmt.Sprintf("the restore of checkpoint %s (%s) at %s", r.Undone.Checkpoint, pathsText(r.Undone.Paths), layout.UTCWithZone(r.Undone.Time))
	}
	return fmt.Sprintf("undoing %s: checkpoint %s has the files before it (%s); this changes %s", what, r.Target.ID, layout.OneLine(r.Target.Why),
		layout.Count(len(Changes(r.Changes)), "path"))
}

// Question asks for the confirmation of a restore.
func (r Report) Question(undo bool) string {
	if undo {
		return Summary(r.Changes, true) + ". Undo that restore?"
	}
	return fmt.Sprintf("%s. Restore checkpoint %s?", Summary(r.Changes, true), r.Checkpoint)
}

// pathsText names the paths of a restore.
func pathsText(paths []string) string {
	if len(paths) == 0 {
		return "all files"
	}
	return firstPaths(paths)
}

func firstPaths(paths []string) string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = oneline.Path(path)
	}
	return strings.Join(firstNotIn(names), ", ")
}

// Print prints the summary of a restore, each path if wanted, and what is not in the checkpoint.
func (r Report) Print(w io.Writer, paths bool) {
	out := bufio.NewWriter(w)
	defer out.Flush()
	switch {
	case len(r.Changes) == 0:
		fmt.Fprintln(out, "nothing to restore")
	case r.Before == "":
		fmt.Fprintln(out, Summary(r.Changes, true))
	default:
		fmt.Fprintln(out, Summary(r.Changes, false))
	}
	if paths {
		PrintPaths(out, r.Changes)
	}
	r.printNotIn(out, paths)
	if r.Edited != "" {
		r.printEdited(out)
	}
	if r.Before != "" && r.Before != r.Checkpoint { // else it undid an unfinished restore
		fmt.Fprintf(out, "previous state saved as checkpoint %s; pawl restore --undo returns to it\n", r.Before)
	}
}

// printEdited says which files, made or edited since the restore was interrupted, it replaced or removed.
func (r Report) printEdited(out io.Writer) {
	if len(r.EditedIn) == 0 {
		fmt.Fprintf(out, "files edited since the restore was interrupted are saved as checkpoint %s\n", r.Edited)
		return
	}
	fmt.Fprintf(out, "%s made or edited since the restore was interrupted, now replaced or removed: %s\n", layout.Count(len(r.EditedIn), "file"), firstPaths(r.EditedIn))
	fmt.Fprintf(out, "they are saved as checkpoint %s; to restore one: pawl restore %s %s\n", r.Edited, r.Edited, argument(r.EditedIn[0]))
}

// argument returns a path as a shell takes it; of one with odd characters, only what stands for it.
func argument(path string) string {
	if oneline.Path(path) != path {
		return "PATH"
	}
	return shellwords.Join([]string{path})
}

// PrintPaths prints each change in one line.
func PrintPaths(out io.Writer, changes []Change) {
	for _, c := range changes {
		fmt.Fprintf(out, "%-8s %s\n", restoreVerbs[c.Change], oneline.Path(c.Path))
	}
}

// Summary counts the changes of a restore, such as "2 files restored, 1 created".
func Summary(changes []Change, planned bool) string {
	counts := map[string]int{}
	for _, c := range changes {
		switch c.Change {
		case "added", "removed":
			counts[c.Change]++
		default:
			counts["changed"]++
		}
	}
	var parts []string
	for _, x := range []struct{ change, done, todo string }{
		{"changed", "restored", "to restore"}, {"added", "created", "to create"}, {"removed", "removed", "to remove"},
	} {
		n, word := counts[x.change], x.done
		if planned {
			word = x.todo
		}
		switch {
		case n > 0 && parts == nil:
			parts = append(parts, layout.Count(n, "file")+" "+word)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(parts, ", ")
}

// shownNotIn is how many paths that are not in the checkpoint are printed without -v.
const shownNotIn = 5

// printNotIn prints what the restore leaves alone because it is not in the checkpoint.
func (r Report) printNotIn(out io.Writer, all bool) {
	for _, missing := range []bool{false, true} {
		var names []string
		for _, n := range r.NotIn {
			if n.Missing == missing {
				names = append(names, fmt.Sprintf("%s (%s)", oneline.Path(n.Path), n.Why))
			}
		}
		if len(names) == 0 {
			continue
		}
		if !all {
			names = firstNotIn(names)
		}
		stays := "stays as it is"
		if missing {
			stays = "stays missing"
		}
		fmt.Fprintf(out, "not in the checkpoint, %s: %s\n", stays, strings.Join(names, ", "))
	}
}

// firstNotIn returns the first names, and how many more there are.
func firstNotIn(names []string) []string {
	if hidden := len(names) - shownNotIn; hidden > 0 {
		return append(names[:shownNotIn], fmt.Sprintf("and %d more", hidden))
	}
	return names
}

// OfExport returns the report of a restore to another folder.
func OfExport(id pawl.CheckpointID, changes []snapshot.Change, leftOut []snapshot.LeftOut, to string, dry bool) Report {
	r := Report{Checkpoint: id, DryRun: dry, Changes: Changes(changes), Kept: []string{}, NotIn: []snapshot.StaysOut{}, To: to}
	for _, l := range leftOut {
		r.NotIn = append(r.NotIn, snapshot.StaysOut{LeftOut: l, Missing: true})
	}
	return r
}

// PrintExport prints what a restore wrote, or would write, to another folder, each path if wanted, and what is missing there.
func (r Report) PrintExport(out io.Writer, paths bool) {
	files := 0
	for _, c := range r.Changes {
		if c.Kind != snapshot.Folder.String() {
			files++
		}
	}
	verb := "wrote"
	if r.DryRun {
		verb = "would write"
	}
	fmt.Fprintf(out, "%s %s to %s\n", verb, layout.Count(files, "file"), r.To)
	if paths {
		PrintPaths(out, r.Changes)
	}
	leftOut := make([]snapshot.LeftOut, len(r.NotIn))
	for i, n := range r.NotIn {
		leftOut[i] = n.LeftOut
	}
	PrintNotWritten(out, leftOut)
}

// PrintNotWritten prints what is missing in a folder to which a checkpoint was written.
func PrintNotWritten(out io.Writer, list []snapshot.LeftOut) {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = fmt.Sprintf("%s (%s)", oneline.Path(l.Path), l.Why)
	}
	if len(names) > 0 {
		fmt.Fprintf(out, "not in the checkpoint, not written: %s\n", strings.Join(firstNotIn(names), ", "))
	}
}

// restoreVerbs say what a restore does to a path, by the kind of change.
var restoreVerbs = map[string]string{"added": "create", "removed": "remove", "changed": "change", "mode": "mode", "type": "replace"}
