package snapshot

import (
	"context"
	"errors"
	"testing"
	"time"

	"pawl"
)

// A walk that began ahead gives the snapshot of the files as they were, and the next one has what has changed since.
func TestWalkAhead(t *testing.T) {
	w := newWorkspace(t)
	w.write("a.txt", "one")
	w.age()
	a := w.store.WalkAhead(t.Context())
	<-a.done
	before := w.take()
	w.write("a.txt", "two, longer")
	got, err := a.Take(t.Context(), w.stamp(pawl.CheckpointStep))
	w.must(err)
	if got.Tree != before.Tree || got.Files != 1 {
		t.Errorf("the snapshot has tree %s and %d files, not %s and 1", got.Tree, got.Files, before.Tree)
	}
	if got.Started.After(before.Started) {
		t.Errorf("the walk started at %s", got.Started)
	}
	if next := w.take(); next.Tree == before.Tree {
		t.Error("the next snapshot lacks the change")
	}
	w.must(a.Drop())
}

// A walk that is dropped leaves no snapshot, and nothing waits for it.
func TestDroppedWalk(t *testing.T) {
	w := newWorkspace(t)
	w.write("a.txt", "one")
	a := w.store.WalkAhead(t.Context())
	<-a.done
	w.must(a.Drop())
	w.must(a.Drop())
	if records, err := w.store.Records(); err != nil || len(records) > 0 {
		t.Errorf("records %v, %v", records, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := w.store.Prune(ctx, PruneOptions{}); err != nil {
		t.Error(err)
	}
	var none *Ahead
	w.must(none.Drop())
}

// A walk ends with its caller.
func TestCanceledWalk(t *testing.T) {
	w := newWorkspace(t)
	w.write("a.txt", "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := w.store.WalkAhead(ctx)
	if _, err := a.Take(t.Context(), w.stamp(pawl.CheckpointStep)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
