package snapshot

import (
	"context"
	"errors"
	"testing"

	"pawl"
	"pawl/internal/snapshot/pack"
)

// A walk ahead finds the files as they were during the walk, and is no snapshot before it is taken.
func TestAhead(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "one")
	ahead := w.store.Ahead(t.Context())
	<-ahead.done
	w.write("a", "two")
	if records, err := w.store.Records(); err != nil || len(records) > 0 {
		t.Errorf("records before it is taken: %v %v", records, err)
	}
	r, err := ahead.Take(t.Context(), w.stamp(pawl.CheckpointStep))
	w.must(err)
	if got := w.at(r, "a"); got != "file 0644 one" {
		t.Errorf("a: %q in the snapshot", got)
	}
	if got := w.at(w.take(), "a"); got != "file 0644 two" {
		t.Errorf("a: %q in the next one", got)
	}
}

// What a discarded walk has found is not in the store, and nobody waits for it any more.
func TestAheadDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "one")
	ahead := w.store.Ahead(t.Context())
	w.must(ahead.Discard())
	if has, err := w.store.packs.Has(pack.IDOf([]byte("one"))); err != nil || has {
		t.Errorf("the store has the file: %v %v", has, err)
	}
	if _, err := w.store.Prune(t.Context(), PruneOptions{}); err != nil {
		t.Error(err)
	}
	if got := w.at(w.take(), "a"); got != "file 0644 one" {
		t.Errorf("a: %q in the next snapshot", got)
	}
}

// A walk that fails is an error of Take, and leaves nothing.
func TestAheadFails(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "one")
	ended, end := context.WithCancel(t.Context())
	end()
	ahead := w.store.Ahead(ended)
	if _, err := ahead.Take(t.Context(), w.stamp(pawl.CheckpointStep)); !errors.Is(err, context.Canceled) {
		t.Errorf("take: %v", err)
	}
	w.must(w.store.Ahead(ended).Discard())
}
