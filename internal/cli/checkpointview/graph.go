package checkpointview

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
)

// Node is one node of `pawl log --graph --json`.
type Node struct {
	Checkpoint pawl.CheckpointID `json:"checkpoint,omitempty"` // empty for a restore and for the start of a fork
	Run        pawl.RunID        `json:"run"`
	Parent     string            `json:"parent,omitempty"` // previous checkpoint, in its run or in the run that it was forked from
	Kind       string            `json:"kind"`             // a checkpoint's kind, "restored" or "forked"
	Of         pawl.CheckpointID `json:"of,omitempty"`     // the restored or forked checkpoint
	Step       pawl.StepID       `json:"step,omitempty"`
	Item       pawl.ItemID       `json:"item,omitempty"`
	Why        string            `json:"why,omitempty"`
	Snapshot   string            `json:"snapshot,omitempty"` // kept, pruned, missing or none
	Time       time.Time         `json:"time"`
}

// NodesOf returns the reports of nodes.
func NodesOf(nodes []history.Node) []Node {
	byID := map[string]history.Node{}
	for _, n := range nodes {
		byID[n.ID] = n
	}
	reports := []Node{}
	for _, n := range nodes {
		r := Node{Run: n.Run, Time: n.Time, Parent: n.Parent}
		for up, ok := byID[r.Parent]; ok && up.Saved == nil; up, ok = byID[r.Parent] { // skip restores and starts of forks
			r.Parent = up.Parent
		}
		switch {
		case n.Restored != nil:
			r.Kind, r.Of = "restored", n.Restored.Checkpoint
		case n.Forked != nil:
			r.Kind, r.Of = "forked", n.Forked.Checkpoint
		case n.Saved != nil:
			c := Of(*n.Saved)
			r.Checkpoint, r.Kind, r.Step, r.Item, r.Why, r.Snapshot = c.Checkpoint, string(c.Kind), c.Step, c.Item, c.Why, c.Snapshot
		}
		reports = append(reports, r)
	}
	return reports
}

// Graph draws nodes as a graph.
func Graph(w io.Writer, nodes []history.Node, names Names) error {
	out := bufio.NewWriter(w)
	var l layout.Lanes
	named := map[pawl.RunID]bool{}
	for _, n := range nodes {
		row, join := l.Place(n.ID, n.Parent)
		if join != "" {
			fmt.Fprintln(out, join)
		}
		text := names(n.Run, nodeText(n))
		if !named[n.Run] {
			text += "  (" + string(n.Run) + ")"
			named[n.Run] = true
		}
		fmt.Fprintf(out, "%s  %s\n", row, text)
	}
	if len(nodes) == 0 {
		fmt.Fprintln(out, "no checkpoints yet")
	}
	return out.Flush()
}

// nodeText describes a node in one line.
func nodeText(n history.Node) string {
	when := layout.UTC(n.Time)
	switch {
	case n.Restored != nil:
		return fmt.Sprintf("%-8s  %s  restored to %s, %s changed", "-", when, n.Restored.Checkpoint, layout.Count(n.Restored.Changed, "path"))
	case n.Forked != nil:
		return fmt.Sprintf("%-8s  %s  forked from %s", "-", when, n.Forked.Checkpoint)
	case n.Saved == nil:
		return fmt.Sprintf("%-8s  %s", n.ID, when)
	}
	c := Of(*n.Saved)
	return strings.TrimRight(fmt.Sprintf("%s  %s  %s  %s  [%s]", c.Checkpoint, when, c.Kind, c.About(), c.Content()), " ")
}
