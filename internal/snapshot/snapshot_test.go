package snapshot

import (
	"errors"
	"os"
	"testing"

	"pawl"
)

func TestTakeAndExport(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a.txt", "a")
	w.write("sub/deep/b.txt", "b")
	w.must(os.Mkdir(w.path("empty"), 0o750))
	w.must(os.Symlink("../a.txt", w.path("sub/link")))
	w.must(os.Chmod(w.path("sub/deep/b.txt"), 0o755))
	first := w.take()
	if first.Files != 3 || first.Bytes != 2 || first.LeftOut != 0 {
		t.Errorf("%+v", first)
	}
	same(t, contents(t, w.root), contents(t, w.export(first)))
	if again := w.take(); again.Tree != first.Tree || again.Added != 0 {
		t.Errorf("nothing changed: %+v", again)
	}
	w.write("sub/deep/c.txt", "c")
	second := w.take()
	if second.Tree == first.Tree || second.Files != 4 {
		t.Errorf("%+v", second)
	}
	before := contents(t, w.root)
	kept := w.restore(first)
	same(t, contents(t, w.export(first)), contents(t, w.root))
	w.restore(kept)
	same(t, before, contents(t, w.root))
	_ = pawl.CheckpointStep
}

// A snapshot that nobody waits for is taken only if something has changed.
func TestTakeSpare(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a.txt", "one")
	first, err := w.store.TakeSpare(t.Context(), Stamp{Checkpoint: "1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.TakeSpare(t.Context(), Stamp{Checkpoint: "2"}, first.Tree.String()); !errors.Is(err, ErrUnchanged) {
		t.Errorf("nothing changed: %v", err)
	}
	w.write("a.txt", "two")
	second, err := w.store.TakeSpare(t.Context(), Stamp{Checkpoint: "3"}, first.Tree.String())
	if err != nil || second.Tree == first.Tree {
		t.Errorf("changed: %+v %v", second, err)
	}
	if all, err := w.store.Records(); err != nil || len(all) != 2 {
		t.Errorf("%d snapshots, %v", len(all), err)
	}
}
