package snapshot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/snapshot/pack"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// recordsOf makes records, one an hour, of words like "a/step": run and kind.
func recordsOf(words ...string) []Record {
	records := make([]Record, len(words))
	for i, word := range words {
		var run, kind string
		fmt.Sscanf(word, "%1s/%s", &run, &kind)
		records[i] = Record{
			Stamp: Stamp{Checkpoint: pawl.CheckpointID(fmt.Sprint(i)), Run: pawl.RunID(run), Kind: pawl.CheckpointKind(kind)},
			Ended: noon.Add(time.Duration(i-len(words)) * time.Hour), ID: pack.IDOf([]byte{byte(i)}),
		}
	}
	return records
}

func ids(records []Record) []string {
	names := []string{}
	for _, r := range records {
		names = append(names, string(r.Checkpoint))
	}
	return names
}

func everyNamed(Record) bool { return true }

func noneNeeded(Record) bool { return false }

func TestRank(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		records      []Record
		always, then []string
	}{
		"the last good one, gates and what people asked for": {
			recordsOf("a/manual", "a/gate", "a/step", "a/step", "a/heartbeat", "a/emergency"),
			[]string{"3", "1", "0"}, []string{"5", "4", "2"},
		},
		"each run has a last good one": {
			recordsOf("a/step", "b/step", "a/step", "b/emergency", "b/emergency"),
			[]string{"2", "1"}, []string{"4", "3", "0"},
		},
		"minor ones beyond the last five come last": {
			recordsOf("a/step", "a/item", "a/item", "a/tool", "a/heartbeat", "a/item", "a/item", "a/item", "a/step"),
			[]string{"8"}, []string{"7", "6", "5", "4", "3", "0", "2", "1"},
		},
		"before a restore is no good one, but the last one stays": {
			recordsOf("a/before_restore", "a/step", "a/before_restore"), []string{"2", "1"}, []string{"0"},
		},
	} {
		r := rank(c.records, PruneOptions{Named: everyNamed, Needed: noneNeeded, Now: noon})
		if diff := cmp.Diff(c.always, ids(r.always)); diff != "" {
			t.Errorf("%s: always, -want +got\n%s", name, diff)
		}
		if diff := cmp.Diff(c.then, ids(r.rest)); diff != "" {
			t.Errorf("%s: then, -want +got\n%s", name, diff)
		}
	}
}

// TestPolicy: it alone decides, also about manual ones and gates; what is needed stays nevertheless.
func TestPolicy(t *testing.T) {
	t.Parallel()
	r := rank(recordsOf("a/manual", "a/gate", "a/step", "a/manual", "a/step"), PruneOptions{
		Named: everyNamed, Now: noon,
		Policy: func(r Record) bool { return r.Checkpoint == "3" },
		Needed: func(r Record) bool { return r.Checkpoint == "1" },
	})
	if diff := cmp.Diff([]string{"3", "1"}, ids(r.always)); diff != "" || len(r.rest) > 0 {
		t.Errorf("always, -want +got\n%s; then %v", diff, r.rest)
	}
}

// TestUnnamed: who took a snapshot may be about to name it; after an hour nobody is, and it goes.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	records := recordsOf("a/step", "a/step")
	records[1].Ended = noon.Add(-UnnamedGrace + time.Second)
	r := rank(records, PruneOptions{Named: func(r Record) bool { return r.Checkpoint == "x" }, Needed: noneNeeded, Now: noon})
	if diff := cmp.Diff([]string{"1"}, ids(r.always)); diff != "" {
		t.Errorf("always, -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{}, ids(r.rest)); diff != "" {
		t.Errorf("then, -want +got\n%s", diff)
	}
}

// noise is content that cannot be compressed.
func noise(rng *rand.Rand, size int) string {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return string(data)
}

// TestKeep: pruning keeps the last few of a run beside those that always stay; what is kept is whole, what went is gone.
func TestKeep(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := []pawl.CheckpointKind{pawl.CheckpointGate, pawl.CheckpointStep, pawl.CheckpointStep, pawl.CheckpointManual, pawl.CheckpointStep, pawl.CheckpointStep}
	want := map[pawl.CheckpointID]map[string]string{}
	var records []Record
	for i, kind := range kinds {
		w.write("shared", "the same")
		w.write("own", noise(rng, 50<<10))
		r, err := w.store.Take(context.Background(), w.stamp(kind))
		w.must(err)
		records = append(records, r)
		if i != 1 && i != 2 { // the oldest steps go
			want[r.Checkpoint] = contents(t, w.root)
		}
	}
	pruned, err := w.store.Prune(context.Background(), PruneOptions{Keep: 1, Now: time.Now()})
	w.must(err)
	if diff := cmp.Diff([]string{"00000002", "00000003"}, ids(pruned.Removed)); diff != "" || pruned.Kept != 4 || pruned.Freed < 60<<10 {
		t.Errorf("%+v\n%s", pruned, diff)
	}
	for _, r := range records {
		if files := want[r.Checkpoint]; files != nil {
			same(t, files, contents(t, w.export(r)))
		} else if _, err := w.store.Diff(pack.ID{}, r.Tree); err == nil {
			t.Errorf("checkpoint %s is still there", r.Checkpoint)
		}
	}
}

// TestQuota: below the quota nothing goes; above it the oldest do, and the store never takes more than the quota and
// one snapshot. What was pruned is taken anew when it comes back, although the stat cache knows it.
func TestQuota(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	const quota, each = 1 << 20, 100 << 10
	w.store.cfg.Quota = quota
	rng := rand.New(rand.NewPCG(3, 4))
	w.write("always", noise(rng, each))
	first := w.take()
	for range 40 {
		w.write("changing", noise(rng, each))
		last := w.take()
		size, err := w.store.packs.Size()
		w.must(err)
		if size > quota+2*each {
			t.Fatalf("%d bytes", size)
		}
		pruned, err := w.store.Prune(context.Background(), PruneOptions{Quota: true, Now: time.Now()})
		w.must(err)
		if size <= quota && len(pruned.Removed) > 0 {
			t.Fatalf("pruned at %d bytes: %v", size, ids(pruned.Removed))
		}
		if after, err := w.store.packs.Size(); err != nil || after > quota {
			t.Fatalf("%d bytes after pruning, %v", after, err)
		}
		same(t, contents(t, w.root), contents(t, w.export(last)))
	}
	records, err := w.store.Records()
	w.must(err)
	if slices.Contains(ids(records), string(first.Checkpoint)) {
		t.Error("the oldest is still there")
	}
}

// TestQuotaFullOfWhatMustStay: no snapshot is taken, and that is said.
func TestQuotaFullOfWhatMustStay(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.store.cfg.Quota = 200 << 10
	rng := rand.New(rand.NewPCG(5, 6))
	for i := 0; ; i++ {
		w.write(fmt.Sprint("file", i), noise(rng, 60<<10))
		if _, err := w.store.Take(context.Background(), w.stamp(pawl.CheckpointManual)); err != nil {
			if err != ErrQuota || i < 2 {
				t.Errorf("snapshot %d: %v", i, err)
			}
			break
		}
		_, err := w.store.Prune(context.Background(), PruneOptions{Quota: true, Now: time.Now()})
		w.must(err)
	}
	w.write("huge", noise(rng, 300<<10))
	w.store.cfg.Quota = 250 << 10
	if _, err := w.store.Take(context.Background(), w.stamp(pawl.CheckpointStep)); err == nil {
		t.Error("a snapshot larger than the quota was taken")
	}
}

// TestPrunedComesBack: the stat cache remembers files whose content was pruned.
func TestPrunedComesBack(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a/b/file", "content")
	w.write("a/b/other", "other")
	w.take()
	w.write("a/b/file", "changed")
	w.take()
	w.write("late", "x")
	w.must(removeAll(w.store))
	last := w.take()
	same(t, contents(t, w.root), contents(t, w.export(last)))
}

// removeAll prunes every snapshot.
func removeAll(s *Store) error {
	_, err := s.packs.Prune(context.Background(), func([]pack.Commit) (keep, objects map[pack.ID]bool, err error) {
		return nil, nil, nil
	})
	return err
}
