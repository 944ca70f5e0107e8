package snapshot

import (
	"fmt"
	"os"
	"testing"
)

// TestLargeFolder changes a folder whose names are compared by several goroutines, in the part of each.
func TestLargeFolder(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	const n = 2*minPart + 1
	name := func(i int) string { return fmt.Sprintf("many/%04d", i) }
	for i := range n {
		w.write(name(i), "1")
	}
	w.take()
	for i, change := range []struct {
		path   string
		remove bool
	}{
		{path: name(0)}, {path: name(n/2 - 1)}, {path: name(n / 2)}, {path: name(n - 1)}, {path: name(n)},
		{path: name(n), remove: true}, {path: name(n / 2), remove: true}, {path: name(0), remove: true},
	} {
		w.age()
		before := w.take()
		if again := w.take(); again.Tree != before.Tree {
			t.Errorf("change %d: the tree changes without a change of files", i)
		}
		if change.remove {
			w.must(os.Remove(w.path(change.path)))
		} else {
			w.write(change.path, "two")
		}
		after := w.take()
		if after.Tree == before.Tree {
			t.Errorf("change %d of %s is not seen", i, change.path)
		}
		if got := w.at(after, change.path); !change.remove && got != "file 0644 two" {
			t.Errorf("%s: %s", change.path, got)
		}
	}
}
