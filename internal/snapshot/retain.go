package snapshot

import (
	"cmp"
	"slices"
	"time"

	"pawl"
	"pawl/internal/snapshot/pack"
)

// Rest is how long a snapshot that no journal names is kept: whoever took it may be about to name it.
const Rest = time.Hour

// DefaultKeep is how many checkpoints of each run `pawl prune` keeps beside those that always stay.
const DefaultKeep = 5

// lastOfKind is how many item, heartbeat and tool checkpoints of a run outlive the others when the quota is full.
const lastOfKind = 5

// ranked are snapshots in the order in which they deserve to stay.
type ranked struct {
	always []Record // whatever the quota says
	then   []Record // the most deserving first
}

// rank orders snapshots, given oldest first, by how much they deserve to stay. Always stay gates and what people asked
// for, the last good one of each run, and what is not named yet and younger than Rest; older than that, it goes. Then come
// the others, the newest first, but after them all the item, heartbeat and tool checkpoints beyond the last five of their run.
func rank(records []Record, named func(Record) bool, now time.Time) ranked {
	var r ranked
	var minor []Record
	good := map[pawl.RunID]bool{}
	minors := map[pawl.RunID]int{}
	for _, rec := range slices.Backward(records) {
		if !named(rec) {
			if now.Sub(rec.Ended) < Rest {
				r.always = append(r.always, rec)
			}
			continue
		}
		lastGood := !good[rec.Run] && rec.Kind != pawl.CheckpointEmergency
		good[rec.Run] = good[rec.Run] || lastGood
		switch {
		case lastGood, rec.Kind == pawl.CheckpointGate, rec.Kind == pawl.CheckpointManual:
			r.always = append(r.always, rec)
			continue
		case isMinor(rec.Kind):
			if minors[rec.Run]++; minors[rec.Run] > lastOfKind {
				minor = append(minor, rec)
				continue
			}
		}
		r.then = append(r.then, rec)
	}
	r.then = append(r.then, minor...)
	return r
}

func isMinor(kind pawl.CheckpointKind) bool {
	return kind == pawl.CheckpointItem || kind == pawl.CheckpointHeartbeat || kind == pawl.CheckpointTool
}

// last keeps of the records, most deserving first, the newest n of each run.
func last(records []Record, n int) []Record {
	byAge := slices.Clone(records)
	slices.SortStableFunc(byAge, func(a, b Record) int { return cmp.Compare(b.Ended.UnixNano(), a.Ended.UnixNano()) })
	count := map[pawl.RunID]int{}
	return slices.DeleteFunc(byAge, func(r Record) bool {
		count[r.Run]++
		return count[r.Run] > n
	})
}

// marker finds the objects that snapshots need, and what they take.
type marker struct {
	store *Store
	live  map[pack.ID]bool
	bytes int64 // stored
	sizes map[pack.ID]int64
	order []pack.ID // as they were added
}

// forget takes back what was added after the first n objects.
func (m *marker) forget(n int) {
	for _, id := range m.order[n:] {
		m.bytes -= m.sizes[id]
		delete(m.live, id)
	}
	m.order = m.order[:n]
}

// mark adds a snapshot.
func (m *marker) mark(r Record) error {
	if r.Missing != nil {
		if err := m.add(*r.Missing); err != nil {
			return err
		}
	}
	return m.entry(Entry{Kind: Folder, ID: r.Tree})
}

func (m *marker) add(id pack.ID) error {
	if m.live[id] {
		return nil
	}
	size, err := m.store.packs.Stored(id)
	if err != nil {
		return err
	}
	m.live[id], m.sizes[id] = true, size
	m.order = append(m.order, id)
	m.bytes += size
	return nil
}

func (m *marker) entry(e Entry) error {
	if e.Kind == Link || m.live[e.ID] {
		return nil
	}
	if err := m.add(e.ID); err != nil {
		return err
	}
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
			if err := m.add(id); err != nil {
				return err
			}
		}
	}
	return nil
}
