package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/snapshot/pack"
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

// Until all files are written, the folder of an export is marked.
func TestExportMarksIncompleteFolder(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a.txt", "a")
	first := w.take()
	whole := w.export(first)
	if _, err := os.Lstat(filepath.Join(whole, Unfinished)); err == nil {
		t.Error("a complete folder is marked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	partial := filepath.Join(t.TempDir(), "out")
	if _, err := w.store.Export(ctx, first, nil, partial); err == nil {
		t.Fatal("it was not interrupted")
	}
	if _, err := os.Lstat(filepath.Join(partial, Unfinished)); err != nil {
		t.Error(err)
	}
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

// TestDiffOfPaths: the folders of other paths are not read.
func TestDiffOfPaths(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for _, path := range []string{"a/deep/1", "a/deep/2", "a/other/3", "b/4"} {
		w.write(path, path)
	}
	r := w.take()
	var read, found []string
	changes, err := diff(func(id pack.ID) ([]Entry, error) {
		entries, err := w.store.tree(id)
		for _, e := range entries {
			read = append(read, e.Name)
		}
		return entries, err
	}, pack.ID{}, r.Tree, []string{"a/deep/1"})
	w.must(err)
	for _, c := range changes {
		found = append(found, c.Path)
	}
	if diff := cmp.Diff([]string{"a", "a/deep", "a/deep/1"}, found); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "deep", "other", "1", "2"}, read); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
