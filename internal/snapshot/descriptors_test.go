package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoDescriptorStaysOpen after snapshots, restores, and both of them gone wrong.
func TestNoDescriptorStaysOpen(t *testing.T) {
	w := newWorkspace(t)
	w.write("a/b", "1")
	w.write("lib", "1")
	then := w.take()
	before := descriptors(t)
	w.write("a/b", "2")
	w.write("a/c/d", "2")
	w.restore(then)
	w.must(os.Remove(w.path("lib")))
	w.must(unix.Mkfifo(w.path("lib"), 0o600))
	if _, err := w.store.Prepare(t.Context(), then, nil); err == nil {
		t.Error("a pipe is no obstacle")
	}
	w.must(os.Remove(w.path("lib")))
	w.export(then)
	if _, err := w.store.Export(t.Context(), then, nil, w.root); err == nil {
		t.Error("written into a folder that is not empty")
	}
	if after := descriptors(t); len(after) > len(before) {
		t.Errorf("open before: %q, after: %q", before, after)
	}
}

// descriptors lists what this process has open.
func descriptors(t *testing.T) []string {
	t.Helper()
	links, err := filepath.Glob("/dev/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			open = append(open, target)
		}
	}
	slices.Sort(open)
	return open
}
