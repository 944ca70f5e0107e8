// Package checkpointview prints checkpoints: one, a list, and the graph of where they come from.
package checkpointview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/snapshot"
)

// Report is a checkpoint as commands print it as JSON.
type Report struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Run        pawl.RunID          `json:"run"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Step       pawl.StepID         `json:"step,omitempty"`
	Item       pawl.ItemID         `json:"item,omitempty"`
	Why        string              `json:"why,omitempty"`
	Seq        pawl.Seq            `json:"seq,omitempty"`
	Time       time.Time           `json:"time,omitzero"`
	Snapshot   string              `json:"snapshot"` // kept, pruned, missing or none
	None       string              `json:"none,omitempty"`
	Tree       string              `json:"tree,omitempty"`
	Files      int                 `json:"files"`
	Bytes      int64               `json:"bytes"`
	Added      int64               `json:"added_bytes"`
	LeftOut    int                 `json:"left_out"`
	Live       []pawl.AttemptRef   `json:"live,omitempty"`
	Head       *snapshot.Head      `json:"head,omitempty"`
	Paths      []string            `json:"paths,omitempty"` // it has only these

	Text string `json:"text,omitempty"` // what it is about, if an item of it has a name that is not its id

	Unverified bool `json:"unverified,omitempty"` // of a run that was made elsewhere

	named func(text string) string // replaces the ids of items by their values; nil: ids stay
}

// Named returns the report with the names of items, which In has by run.
func (r Report) Named(names Names) Report {
	about := r.About()
	r.named = names.in(r.Run)
	if text := r.About(); text != about {
		r.Text = text
	}
	return r
}

// Names replaces the ids of items in a text about a run by their values.
type Names func(run pawl.RunID, text string) string

func (n Names) in(run pawl.RunID) func(string) string {
	return func(text string) string { return n(run, text) }
}

// Of returns the report of a checkpoint.
func Of(c history.SavedCheckpoint) Report {
	r := Report{
		Checkpoint: c.ID, Run: c.Run, Kind: c.Kind, Step: c.Step, Item: c.Item, Why: c.Why, Seq: c.Seq, Time: c.Time,
		Live: c.Live, Snapshot: "none", None: c.Unsaved(),
	}
	if s := c.Snapshot; s != nil && s.Record != "" {
		r.Snapshot, r.Tree, r.Files, r.Bytes, r.Added, r.LeftOut = "missing", s.Tree, s.Files, s.Bytes, s.Added, s.LeftOut
	}
	if c.Pruned {
		r.Snapshot = "pruned"
	}
	if c.Record != nil {
		r.Snapshot, r.Head, r.Paths = "kept", c.Record.Head, c.Record.Paths
	}
	return r
}

// List prints checkpoints, one a line, perhaps with their runs.
func List(w io.Writer, reports []Report, withRun bool) {
	for _, r := range reports {
		fmt.Fprintf(w, "%s  %s  %-17s %-28s %s", r.Checkpoint, layout.UTC(r.Time), r.Kind, r.Content(), r.About())
		switch {
		case withRun && r.Unverified:
			fmt.Fprintf(w, "  (%s, unverified)", r.Run)
		case withRun:
			fmt.Fprintf(w, "  (%s)", r.Run)
		}
		fmt.Fprintln(w)
	}
	if len(reports) == 0 {
		fmt.Fprintln(w, "no checkpoints yet")
	}
}

// Print prints all facts of a checkpoint, and the paths that it excludes.
func (r Report) Print(w io.Writer, list []snapshot.LeftOut) {
	fact := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "checkpoint %s\n", r.Checkpoint)
	fact("run", "%s", r.Run)
	fact("kind", "%s", r.Kind)
	if about := r.About(); about != "" {
		fact("about", "%s", about)
	}
	fact("taken", "%s, event %d", layout.UTCWithZone(r.Time), r.Seq)
	fact("files", "%s", r.Content())
	if r.Snapshot == "kept" {
		fact("added", "%s to the store", layout.ByteSize(r.Added))
		fact("excluded", "%s", layout.Count(r.LeftOut, "path"))
	}
	if r.Head != nil {
		fact("git", "%s", r.Head)
	}
	for _, live := range r.Live {
		fact("running", "attempt %d of %s", live.Attempt, r.name(live.Name()))
	}
	for _, l := range list {
		fmt.Fprintf(w, "%s  (%s)\n", oneline.Path(l.Path), l.Why)
	}
}

// Content describes the snapshot of a checkpoint.
func (r Report) Content() string {
	switch {
	case len(r.Paths) > 0:
		return "only " + oneline.Few(r.Paths)
	case r.Snapshot == "kept":
		return layout.Count(r.Files, "file") + ", " + layout.ByteSize(r.Bytes)
	case r.None != "":
		return "no snapshot: " + r.None
	case r.Snapshot == "pruned", r.Snapshot == "missing":
		return r.Snapshot
	}
	return "no snapshot"
}

// About returns the step or item of a checkpoint, and the first line of its reason.
func (r Report) About() string {
	if r.Text != "" {
		return r.Text
	}
	name := pawl.AttemptRef{Step: r.Step, Item: r.Item}.Name()
	why, _, _ := strings.Cut(r.Why, "\n")
	return r.name(strings.TrimSpace(name + "  " + why))
}

// name returns a text with the names of items.
func (r Report) name(text string) string {
	if r.named == nil {
		return text
	}
	return r.named(text)
}

// Shown is what `pawl show --json` prints.
type Shown struct {
	Report
	List []snapshot.LeftOut `json:"left_out_paths,omitempty"`
}
