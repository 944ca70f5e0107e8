// Package pruneview prints what a prune deletes, and what holds the space.
package pruneview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/snapshot"
)

// Report is what `pawl prune --json` prints.
type Report struct {
	DryRun  bool    `json:"dry_run,omitempty"`
	Gone    []Entry `json:"gone"`
	Kept    int     `json:"kept"`
	Removed int64   `json:"removed_bytes"` // that the deleted snapshots used alone: the sum of frees_bytes
	Freed   int64   `json:"freed_bytes"`   // on disk; less while deleted content shares a pack file with other content
	Size    int64   `json:"size_bytes"`    // of the snapshots that stay
	Quota   int64   `json:"quota_bytes"`
}

// Entry is a deleted snapshot.
type Entry struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Run        pawl.RunID          `json:"run"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Step       pawl.StepID         `json:"step,omitempty"`
	Added      int64               `json:"added_bytes"` // size that it added to the store when it was taken
	Frees      int64               `json:"frees_bytes"` // that neither a kept snapshot nor one above it uses
}

// Of returns the report of a previewed prune.
func Of(p snapshot.Pruned, dry bool) Report {
	report := Report{DryRun: dry, Gone: []Entry{}, Kept: p.Kept, Freed: p.Freed}
	for i, r := range p.Removed {
		report.Gone = append(report.Gone, Entry{Checkpoint: r.Checkpoint, Run: r.Run, Kind: r.Kind, Step: r.Step, Added: r.Added, Frees: p.Sizes[i]})
		report.Removed += p.Sizes[i]
	}
	return report
}

// PrintGone prints the deleted snapshots.
func (r Report) PrintGone(w io.Writer) error {
	if len(r.Gone) == 0 {
		return nil
	}
	rows := make([][]string, len(r.Gone))
	for i, g := range r.Gone {
		rows[i] = []string{string(g.Checkpoint), string(g.Kind), layout.ByteSize(g.Frees), cmp.Or(string(g.Step), "-"), string(g.Run)}
	}
	return layout.Table(w, []string{"CHECKPOINT", "KIND", "FREES", "STEP", "RUN"}, rows)
}

// Print prints the summary.
func (r Report) Print(w io.Writer) {
	what := layout.Count(len(r.Gone), "snapshot")
	if len(r.Gone) > 0 {
		what += " of " + layout.ByteSize(r.Removed)
	}
	switch {
	case r.DryRun:
		fmt.Fprintf(w, "would remove %s, keep %d; the snapshots use %s on disk\n", what, r.Kept, layout.ByteSize(r.Size))
	case len(r.Gone) > 0 && r.Freed < r.Removed:
		fmt.Fprintf(w, "removed %s, kept %d; freed %s, the rest when more than a quarter of a pack file is unused\n", what, r.Kept, layout.ByteSize(max(0, r.Freed)))
	default:
		fmt.Fprintf(w, "removed %s, kept %d; freed %s, the snapshots use %s on disk\n", what, r.Kept, layout.ByteSize(max(0, r.Freed)), layout.ByteSize(r.Size))
	}
}

// NearlyFull reports whether the quota is nearly used up after the prune.
func (r Report) NearlyFull() bool { return r.left() > r.Quota/10*9 }

func (r Report) left() int64 {
	if r.DryRun {
		return r.Size - r.Freed
	}
	return r.Size
}

// Staying returns those of the snapshots, read before or after the prune, that stay.
func (r Report) Staying(records []snapshot.Record) []snapshot.Record {
	return slices.DeleteFunc(slices.Clone(records), func(rec snapshot.Record) bool {
		return slices.ContainsFunc(r.Gone, func(g Entry) bool { return g.Checkpoint == rec.Checkpoint })
	})
}

// PrintUsage prints what holds the space: the snapshots that stay, by kind, with what each uses beyond those before it.
func (r Report) PrintUsage(w io.Writer, records []snapshot.Record, shares []int64) error {
	count, bytes, rest := map[pawl.CheckpointKind]int{}, map[pawl.CheckpointKind]int64{}, r.left()
	for i, rec := range records {
		count[rec.Kind]++
		bytes[rec.Kind] += shares[i]
		rest -= shares[i]
	}
	use := "use"
	if r.DryRun {
		use = "would use at least"
	}
	fmt.Fprintf(w, "snapshots %s %s of the quota of %s:\n", use, layout.ByteSize(r.left()), layout.ByteSize(r.Quota))
	var rows [][]string
	for _, kind := range slices.SortedFunc(maps.Keys(count), func(x, y pawl.CheckpointKind) int {
		return cmp.Or(cmp.Compare(bytes[y], bytes[x]), cmp.Compare(x, y))
	}) {
		rows = append(rows, []string{string(kind), layout.ByteSize(bytes[kind]), strconv.Itoa(count[kind])})
	}
	rows = append(rows, []string{"index, unused", layout.ByteSize(max(0, rest)), ""}, []string{"total", layout.ByteSize(r.left()), strconv.Itoa(len(records))})
	return layout.Table(w, []string{"KIND", "SIZE", "SNAPSHOTS"}, rows)
}
