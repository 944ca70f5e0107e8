package snapshot

import (
	"context"
	"fmt"
	"time"

	"pawl/internal/snapshot/pack"
)

// Pruning says which snapshots go.
type Pruning struct {
	Keep  int               // of each run, beside those that always stay; with Quota it does not count
	Quota bool              // none goes while the store is within its quota; else the least deserving, until two thirds of it are free of them
	Named func(Record) bool // does a journal name it? Defaults to yes.
	Now   time.Time
}

// Pruned is what a pruning did.
type Pruned struct {
	Gone  []Record `json:"gone"`
	Kept  int      `json:"kept"`
	Freed int64    `json:"freed_bytes"`
}

// Prune lets go of snapshots and gives back the space that only they took. It needs no more free space than the largest
// pack takes. Cut off anywhere, what is kept is whole.
func (s *Store) Prune(ctx context.Context, p Pruning) (Pruned, error) {
	if p.Named == nil {
		p.Named = func(Record) bool { return true }
	}
	before, err := s.packs.Size()
	if err != nil || p.Quota && before <= s.cfg.Quota {
		return Pruned{}, err
	}
	var out Pruned
	_, err = s.packs.Prune(ctx, func(commits []pack.Commit) (keep, objects map[pack.ID]bool, err error) {
		records := make([]Record, len(commits))
		for i, c := range commits {
			if records[i], err = readRecord(c); err != nil {
				return nil, nil, err
			}
		}
		m := marker{store: s, live: map[pack.ID]bool{}}
		kept, err := m.choose(rank(records, p.Named, p.Now), p)
		if err != nil {
			return nil, nil, fmt.Errorf("find what the snapshots need: %w", err)
		}
		for _, r := range records {
			if !kept[r.ID] {
				out.Gone = append(out.Gone, r)
			}
		}
		out.Kept = len(kept)
		return kept, m.live, nil
	})
	if err != nil {
		return Pruned{}, fmt.Errorf("prune the snapshots: %w", err)
	}
	after, err := s.packs.Size()
	out.Freed = before - after
	return out, err
}

// choose says which snapshots stay, and marks what they need.
func (m *marker) choose(r ranked, p Pruning) (map[pack.ID]bool, error) {
	kept := map[pack.ID]bool{}
	for _, rec := range r.always {
		kept[rec.ID] = true
		if err := m.mark(rec); err != nil {
			return nil, err
		}
	}
	then := r.then
	if !p.Quota {
		then = last(then, p.Keep)
	}
	for _, rec := range then {
		if p.Quota && m.bytes > m.store.cfg.Quota*2/3 {
			break
		}
		kept[rec.ID] = true
		if err := m.mark(rec); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
