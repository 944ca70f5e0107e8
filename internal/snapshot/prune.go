package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl/internal/snapshot/pack"
)

// Pruning says which snapshots go.
type Pruning struct {
	Keep  int                  // of each run, beside those that always stay; with Quota it does not count
	Quota bool                 // none goes while the store is within its quota; else the least deserving, until two thirds of it are free of them
	Named func(Record) bool    // does a journal name it? Defaults to yes.
	Gone  func(Record) bool    // is its run gone, so that nobody can name it any more? Then it goes at once. Defaults to no.
	Tell  func([]Record) error // is told which are about to go; with an error none does. Defaults to nobody.
	Now   time.Time
	Dry   bool // only say what would go
}

// Pruned is what a pruning did.
type Pruned struct {
	Gone  []Record `json:"gone"`
	Kept  int      `json:"kept"`
	Freed int64    `json:"freed_bytes"`
}

// errDry ends a pruning that is only thought through.
var errDry = errors.New("nothing is to go")

// Prune lets go of snapshots and gives back the space that only they took. It needs no more free space than the largest
// pack takes. Cut off anywhere, what is kept is whole. A snapshot of which something is lost goes before all others.
// While there is damage that was not set aside by Repair, which may be healed, nothing goes: an error of KindDamaged.
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
		m := marker{store: s, live: map[pack.ID]bool{}, sizes: map[pack.ID]int64{}}
		kept, gone, err := m.sort(commits, p)
		if err != nil {
			return nil, nil, fmt.Errorf("find what the snapshots need: %w", err)
		}
		out.Gone, out.Kept = gone, len(kept)
		if p.Dry {
			out.Freed = max(0, before-m.bytes)
			return nil, nil, errDry
		}
		if p.Tell != nil && len(gone) > 0 {
			err = p.Tell(gone)
		}
		return kept, m.live, err
	})
	if errors.Is(err, errDry) {
		return out, nil
	}
	if err != nil {
		return Pruned{}, fmt.Errorf("prune the snapshots: %w", err)
	}
	after, err := s.packs.Size()
	out.Freed = before - after
	return out, err
}

// sort tells the snapshots that stay from those that go, and marks what the former need.
func (m *marker) sort(commits []pack.Commit, p Pruning) (kept map[pack.ID]bool, gone []Record, err error) {
	records := make([]Record, len(commits))
	for i, c := range commits {
		if records[i], err = readRecord(c); err != nil {
			return nil, nil, err
		}
	}
	theirs := records
	if p.Gone != nil {
		theirs = slices.DeleteFunc(slices.Clone(records), p.Gone)
	}
	if kept, err = m.choose(rank(theirs, p.Named, p.Now), p); err != nil {
		return nil, nil, err
	}
	for _, r := range records {
		if !kept[r.ID] {
			gone = append(gone, r)
		}
	}
	return kept, gone, nil
}

// choose says which snapshots stay, and marks what they need.
func (m *marker) choose(r ranked, p Pruning) (map[pack.ID]bool, error) {
	kept := map[pack.ID]bool{}
	for _, rec := range r.always {
		if err := m.keep(kept, rec); err != nil {
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
		if err := m.keep(kept, rec); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// keep keeps a snapshot, unless something of it is lost.
func (m *marker) keep(kept map[pack.ID]bool, rec Record) error {
	before := len(m.order)
	err := m.mark(rec)
	if _, lost := errors.AsType[*pack.MissingError](err); lost {
		m.forget(before)
		return nil
	}
	kept[rec.ID] = err == nil
	return err
}
