// Package attachview prints what attaching or detaching an agent changes.
package attachview

import (
	"fmt"
	"io"
	"os"
	"strings"

	"pawl/internal/attach"
	"pawl/internal/cli/layout"
	"pawl/internal/redact"
	"pawl/internal/snapshot"
)

// Report is what `pawl attach --json` and `pawl detach --json` print.
type Report struct {
	Agent  string       `json:"agent"`
	Scope  attach.Scope `json:"scope"`
	DryRun bool         `json:"dry_run,omitempty"`
	Files  []File       `json:"files"` // changed files; empty: nothing to change
	Notes  []string     `json:"notes"`
	Next   []string     `json:"next"` // what the user has to do next

	detached bool   // there is nothing to detach
	applies  string // says which command makes the changes of a dry run
}

// File is a changed file.
type File struct {
	Path   string `json:"path"`
	Change string `json:"change"` // see attach.Change.Word
	Diff   string `json:"diff"`
	What   string `json:"what"` // what the change does, and what for
}

// Of returns the report of changes that are made, or only shown.
func Of(edits *attach.Edits, dryRun bool) Report {
	secrets := redact.New(os.Environ())
	r := Report{
		Agent: edits.Agent, Scope: edits.Scope, DryRun: dryRun, Files: []File{}, Notes: append([]string{}, edits.Notes...), Next: append([]string{}, edits.Next...),
		detached: !edits.Attaches() && len(edits.Changes) == 0,
	}
	command := "pawl attach "
	if !edits.Attaches() {
		command = "pawl detach "
	}
	r.applies = fmt.Sprintf("%s%s --scope %s changes %s as shown", command, edits.Agent, edits.Scope, layout.Count(len(edits.Changes), "file"))
	for _, c := range edits.Changes {
		diff := secrets.Text(snapshot.TextPatch(c.Path, c.Old, c.New))
		r.Files = append(r.Files, File{Path: c.Path, Change: c.Word(), Diff: diff, What: c.Summary()})
	}
	return r
}

// PrintDiffs prints the changes of each file.
func (r Report) PrintDiffs(w io.Writer) {
	for _, f := range r.Files {
		fmt.Fprintln(w, f.What)
		fmt.Fprint(w, f.Diff)
		if !strings.HasSuffix(f.Diff, "\n") {
			fmt.Fprintln(w)
		}
	}
}

// PrintApplied prints what was changed, or would be.
func (r Report) PrintApplied(w io.Writer) {
	switch {
	case r.detached:
		fmt.Fprintf(w, "%s is not attached (scope %s)\n", r.Agent, r.Scope)
	case len(r.Files) == 0:
		fmt.Fprintf(w, "%s, scope %s: already up to date, nothing to change\n", r.Agent, r.Scope)
		return
	case r.DryRun:
		fmt.Fprintf(w, "dry run: nothing was changed\nnext: %s\n", r.applies)
	}
	for _, f := range r.Files {
		if !r.DryRun {
			fmt.Fprintf(w, "%-8s %s\n", f.Change, f.Path)
		}
	}
	for _, next := range r.Next {
		fmt.Fprintf(w, "next: %s\n", next)
	}
}
