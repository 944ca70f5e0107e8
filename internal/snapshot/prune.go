package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl/internal/snapshot/pack"
)

// PruneOptions selects the snapshots to remove.
type PruneOptions struct {
	Keep         int                  // snapshots to keep per run, besides those that are always kept; ignored with Quota
	Policy       func(Record) bool    // set: it alone reports whether a snapshot that a journal names stays. Defaults to none.
	Needed       func(Record) bool    // reports whether a snapshot must stay whatever else applies. Defaults to none.
	DryRun       bool                 // only report what would be removed, with sizes
	Quota        bool                 // prune only if the store exceeds its quota, down to two thirds of it, the least valuable first
	Named        func(Record) bool    // reports whether a journal names the snapshot. Defaults to true.
	RunGone      func(Record) bool    // reports whether the run no longer exists; its snapshots are removed at once. Defaults to false.
	BeforeRemove func([]Record) error // called with the snapshots about to be removed; an error cancels the prune. Defaults to nothing.
	Now          time.Time
}

// Pruned is the result of Prune.
type Pruned struct {
	Removed []Record `json:"gone"`
	Kept    int      `json:"kept"`
	Freed   int64    `json:"freed_bytes"`
	Sizes   []int64  `json:"-"` // of Removed, by DryRun: stored bytes that neither a kept snapshot nor one before it in the list uses
}

// Prune removes snapshots and frees the space that only they used. It needs at most as much free space as the largest
// pack takes. A crash at any point leaves the remaining snapshots intact.
//
// Prune refuses with an error of KindDamaged while the store has damage that Repair has not quarantined. In a read-only store
// it only reports what it would remove.
func (s *Store) Prune(ctx context.Context, p PruneOptions) (Pruned, error) {
	if p.Named == nil {
		p.Named = func(Record) bool { return true }
	}
	if p.Needed == nil {
		p.Needed = func(Record) bool { return false }
	}
	before, err := s.packs.Size()
	if err != nil || p.Quota && before <= s.cfg.Quota {
		return Pruned{}, err
	}
	if s.cfg.ReadOnly || p.DryRun {
		return s.previewPrune(ctx, p, before)
	}
	var out Pruned
	_, err = s.packs.Prune(ctx, func(commits []pack.Commit) (keep, objects map[pack.ID]bool, err error) {
		m := s.newMarker()
		kept, gone, err := m.partition(commits, p)
		if err != nil {
			return nil, nil, fmt.Errorf("find the objects in use: %w", err)
		}
		out.Removed, out.Kept = gone, len(kept)
		if p.BeforeRemove != nil && len(gone) > 0 {
			err = p.BeforeRemove(gone)
		}
		return kept, m.live, err
	})
	if err != nil {
		return Pruned{}, fmt.Errorf("prune the snapshots: %w", err)
	}
	after, err := s.packs.Size()
	out.Freed = before - after
	return out, err
}

// previewPrune returns what Prune would remove. size is that of the store.
func (s *Store) previewPrune(ctx context.Context, p PruneOptions, size int64) (out Pruned, err error) {
	release, err := s.packs.Hold(ctx)
	if err != nil {
		return Pruned{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	commits, err := s.packs.Commits()
	if err != nil {
		return Pruned{}, err
	}
	m := s.newMarker()
	kept, gone, err := m.partition(commits, p)
	if err != nil {
		return Pruned{}, fmt.Errorf("find the objects in use: %w", err)
	}
	freed := max(0, size-m.bytes)
	return Pruned{Removed: gone, Kept: len(kept), Freed: freed, Sizes: m.shares(gone)}, nil
}

// Shares returns for each snapshot the stored bytes that none before it in the list uses. The sum is what all of them use.
func (s *Store) Shares(ctx context.Context, records []Record) (shares []int64, err error) {
	release, err := s.packs.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	m := s.newMarker()
	return m.shares(records), nil
}

// shares marks the objects of the snapshots, and returns how many bytes each adds. Of a damaged snapshot it counts what it
// can read.
func (m *marker) shares(records []Record) []int64 {
	shares := make([]int64, len(records))
	for i, r := range records {
		before := m.bytes
		_ = m.mark(r) // damage is reported by the prune, or by pawl verify
		shares[i] = m.bytes - before
	}
	return shares
}

// partition divides the snapshots into kept and removed ones, and marks the objects of the kept ones.
func (m *marker) partition(commits []pack.Commit, p PruneOptions) (kept map[pack.ID]bool, gone []Record, err error) {
	records := make([]Record, len(commits))
	for i, c := range commits {
		if records[i], err = readRecord(c); err != nil {
			return nil, nil, err
		}
	}
	theirs := records
	if p.RunGone != nil {
		theirs = slices.DeleteFunc(slices.Clone(records), p.RunGone)
	}
	if kept, err = m.choose(rank(theirs, p), p); err != nil {
		return nil, nil, err
	}
	for _, r := range records {
		if !kept[r.ID] {
			gone = append(gone, r)
		}
	}
	return kept, gone, nil
}

// choose returns the snapshots to keep, and marks their objects.
func (m *marker) choose(r ranked, p PruneOptions) (map[pack.ID]bool, error) {
	kept := map[pack.ID]bool{}
	for _, rec := range r.always {
		kept[rec.ID] = true
		if err := m.mark(rec); err != nil {
			return nil, err
		}
	}
	then := r.rest
	if !p.Quota && p.Policy == nil {
		then = newestPerRun(then, p.Keep)
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
