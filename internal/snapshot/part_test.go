package snapshot

import (
	"strings"
	"testing"
)

// TestRestoreOfPaths: a restore of paths reads no other folder, and the snapshot that it saves is good for these paths only.
func TestRestoreOfPaths(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for _, path := range []string{"a/x", "a/y", "b/deep/z", "top"} {
		w.write(path, "old")
	}
	then := w.take()
	for _, path := range []string{"a/x", "a/y", "b/deep/z", "top"} {
		w.write(path, "new")
	}
	r, err := w.store.Prepare(t.Context(), then, []string{"a/x"})
	w.must(err)
	if len(r.scan.blocks) != 2 {
		t.Errorf("it read %d folders, want the root and a", len(r.scan.blocks))
	}
	w.must(r.Close())

	before := w.restore(then, "a/x")
	for path, want := range map[string]string{"a/x": "old", "a/y": "new", "b/deep/z": "new", "top": "new"} {
		w.is(path, "file 0644 "+want)
	}
	if got := w.at(before, "a/x"); got != "file 0644 new" {
		t.Errorf("it saved %q", got)
	}
	for what, try := range map[string]func() error{
		"restore": func() error { _, err := w.store.Prepare(t.Context(), before, nil); return err },
		"export":  func() error { _, err := w.store.ExportChanges(before, []string{"a/x", "b"}); return err },
		"compare": func() error { _, err := w.store.Compare(t.Context(), then, &before, []string{"a"}); return err },
		"read":    func() error { _, err := w.store.At(before, "a/y"); return err },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "only a/x") {
			t.Errorf("%s: %v", what, err)
		}
	}
	paths, err := before.Within(nil)
	w.must(err)
	w.restore(before, paths...)
	w.is("a/x", "file 0644 new")
}
