package snapshot

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"pawl"
	"pawl/internal/snapshot/pack"
)

// UnnamedGrace is how long Prune keeps a snapshot that no journal names: its creator may be about to journal it.
const UnnamedGrace = time.Hour

// DefaultKeep is the number of checkpoints per run that `pawl prune` keeps, besides those that are always kept.
const DefaultKeep = 5

// lastOfKind is the number of item, heartbeat and tool checkpoints per run that rank like the others.
const lastOfKind = 5

// ranked lists snapshots by how valuable they are.
type ranked struct {
	always []Record // kept regardless of the quota
	rest   []Record // most valuable first
}

// rank orders snapshots, given oldest first. Always kept are those of gates, manual ones, of each run the last good one and
// the last one before a restore, and those younger than UnnamedGrace that no journal names yet; older unnamed ones are
// removed. The rest is ordered newest first, with item, heartbeat and tool checkpoints beyond the last five of their run at
// the end.
//
// With a Policy, the named ones that it keeps are always kept, and the others are removed. Needed ones always stay.
func rank(records []Record, p PruneOptions) ranked {
	var r ranked
	var minor []Record
	good, before := map[pawl.RunID]bool{}, map[pawl.RunID]bool{}
	minors := map[pawl.RunID]int{}
	for _, rec := range slices.Backward(records) {
		if !p.Named(rec) {
			if p.Now.Sub(rec.Ended) < UnnamedGrace {
				r.always = append(r.always, rec)
			}
			continue
		}
		if p.Policy != nil {
			if p.Needed(rec) || p.Policy(rec) {
				r.always = append(r.always, rec)
			}
			continue
		}
		seen := good
		if rec.Kind == pawl.CheckpointBeforeRestore {
			seen = before // it is no result, but `pawl restore --undo` needs the last one
		}
		newest := !seen[rec.Run] && !rec.Kind.Interim()
		seen[rec.Run] = seen[rec.Run] || newest
		switch {
		case newest, p.Needed(rec), rec.Kind == pawl.CheckpointGate, rec.Kind == pawl.CheckpointManual:
			r.always = append(r.always, rec)
			continue
		case isMinor(rec.Kind):
			if minors[rec.Run]++; minors[rec.Run] > lastOfKind {
				minor = append(minor, rec)
				continue
			}
		}
		r.rest = append(r.rest, rec)
	}
	r.rest = append(r.rest, minor...)
	return r
}

func isMinor(kind pawl.CheckpointKind) bool {
	return kind == pawl.CheckpointItem || kind == pawl.CheckpointHeartbeat || kind == pawl.CheckpointTool
}

// newestPerRun returns the newest n records of each run.
func newestPerRun(records []Record, n int) []Record {
	byAge := slices.Clone(records)
	slices.SortStableFunc(byAge, func(a, b Record) int { return cmp.Compare(b.Ended.UnixNano(), a.Ended.UnixNano()) })
	count := map[pawl.RunID]int{}
	return slices.DeleteFunc(byAge, func(r Record) bool {
		count[r.Run]++
		return count[r.Run] > n
	})
}

// marker collects the objects that snapshots need, and their size.
type marker struct {
	store *Store
	live  map[pack.ID]bool
	below map[Object]bool // folders and large files of which live has everything below
	bytes int64           // on disk
}

func (s *Store) newMarker() marker {
	return marker{store: s, live: map[pack.ID]bool{}, below: map[Object]bool{}}
}

// mark adds a snapshot's objects. For a damaged snapshot it adds those that are left.
func (m *marker) mark(r Record) error {
	if r.LeftOutList != nil {
		if _, err := m.add(*r.LeftOutList); err != nil {
			return err
		}
	}
	return m.entry(Entry{Kind: Folder, ID: r.Tree})
}

// add adds an object. It returns false if the object is missing.
func (m *marker) add(id pack.ID) (bool, error) {
	if m.live[id] {
		return true, nil
	}
	size, err := m.store.packs.Stored(id)
	if _, lost := errors.AsType[*pack.MissingError](err); lost {
		return false, nil
	}
	m.live[id] = true
	m.bytes += size
	return true, err
}

func (m *marker) entry(e Entry) error {
	this := Object{e.ID, e.Kind}
	if e.Kind == Link || m.below[this] {
		return nil
	}
	if there, err := m.add(e.ID); !there || err != nil || e.Kind == File {
		return err
	}
	m.below[this] = true
	switch e.Kind {
	case Folder:
		entries, err := m.store.tree(e.ID)
		if err != nil {
			return err
		}
		for _, below := range entries {
			if err := m.entry(below); err != nil {
				return err
			}
		}
	case Blocks:
		ids, err := m.store.blocks(e.ID)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := m.add(id); err != nil {
				return err
			}
		}
	}
	return nil
}
