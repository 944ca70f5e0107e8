package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// Node is a point in the history of a project's runs: a checkpoint, a restore, or the start of a forked run.
type Node struct {
	ID       string // the checkpoint's ID, or a unique name for other nodes
	Parent   string // the previous node of the run, or the node it was forked from; "" for a root
	Run      pawl.RunID
	Time     time.Time
	Seq      pawl.Seq
	Saved    *SavedCheckpoint    // set for a checkpoint
	Restored *pawl.FilesRestored // set for a restore
	Forked   *pawl.Fork          // set for the start of a forked run
}

// Lineage returns the history of runs, newest first, each node before its parent. Without runs it covers all.
func Lineage(ctx context.Context, p *project.Project, store *snapshot.Store, runs ...pawl.RunID) ([]Node, error) {
	all, err := AllRuns(p)
	if err != nil {
		return nil, err
	}
	b := checkpointIndex{project: p}
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	if len(runs) > 0 {
		all = b.relatives(runs)
	}
	saved, err := Checkpoints(ctx, p, store, all...)
	if err != nil {
		return nil, err
	}
	byID := map[pawl.CheckpointID]*SavedCheckpoint{}
	for i := range saved {
		byID[saved[i].ID] = &saved[i]
	}
	var nodes []Node
	for _, said := range b.logs {
		if slices.Contains(all, said.run) {
			nodes = append(nodes, said.nodes(byID)...)
		}
	}
	return newestFirst(nodes), nil
}

// relatives returns the runs related to the given ones by forks, directly or indirectly.
func (b *checkpointIndex) relatives(runs []pawl.RunID) []pawl.RunID {
	in := map[pawl.RunID]bool{}
	for _, run := range runs {
		in[run] = true
	}
	for grown := true; grown; {
		grown = false
		for _, said := range b.logs {
			if said.forked != nil && in[said.run] != in[said.forked.Run] {
				in[said.run], in[said.forked.Run], grown = true, true, true
			}
		}
	}
	var family []pawl.RunID
	for _, said := range b.logs {
		if in[said.run] {
			family = append(family, said.run)
		}
	}
	return family
}

// nodes returns a run's own part of the history, oldest first. Each node is the parent of the next.
func (s *checkpointLog) nodes(byID map[pawl.CheckpointID]*SavedCheckpoint) []Node {
	var nodes []Node
	for _, c := range s.saved {
		nodes = append(nodes, Node{ID: string(c.ID), Run: s.run, Time: c.Time, Seq: c.Seq, Saved: byID[c.ID]})
	}
	for _, r := range s.restored {
		id := "restored " + string(s.run) + " " + string(r.Before)
		nodes = append(nodes, Node{ID: id, Run: s.run, Time: r.event.Time, Seq: r.event.Seq, Restored: &r.FilesRestored})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Seq, b.Seq) })
	if s.forked != nil {
		begin := Node{ID: "forked " + string(s.run), Parent: string(s.forked.Checkpoint), Run: s.run, Time: s.created, Forked: s.forked}
		nodes = slices.Insert(nodes, 0, begin)
	}
	for i := 1; i < len(nodes); i++ {
		nodes[i].Parent = nodes[i-1].ID
	}
	return nodes
}

// newestFirst orders nodes by time, but each node before its parent, whatever the clock said.
func newestFirst(nodes []Node) []Node {
	byID, children := map[string]*Node{}, map[string]int{}
	for i := range nodes {
		byID[nodes[i].ID] = &nodes[i]
		children[nodes[i].Parent]++
	}
	var ready []*Node
	for i := range nodes {
		if children[nodes[i].ID] == 0 {
			ready = append(ready, &nodes[i])
		}
	}
	ordered := make([]Node, 0, len(nodes))
	for len(ready) > 0 {
		at := 0
		for i := range ready {
			if ready[i].Time.After(ready[at].Time) {
				at = i
			}
		}
		n := ready[at]
		ready = slices.Delete(ready, at, at+1)
		ordered = append(ordered, *n)
		if children[n.Parent]--; children[n.Parent] == 0 && byID[n.Parent] != nil {
			ready = append(ready, byID[n.Parent])
		}
	}
	return ordered
}
