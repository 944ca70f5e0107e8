package watch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTable follows folders that are moved, replaced and deleted.
func TestTable(t *testing.T) {
	t.Parallel()
	var ended []int32
	table := newTable(func(watch int32) { ended = append(ended, watch) })
	for watch, path := range map[int32]string{1: "", 2: "a", 3: "a/b", 4: "ab"} {
		table.add(watch, path)
	}
	table.note(event{watch: 3, name: "file"})
	table.note(event{watch: 9, name: "of a watch that ended"})
	table.note(event{watch: 1, name: "a", folder: true, leaves: true})
	table.note(event{watch: 3, name: "file"}) // of a folder that is elsewhere now
	table.note(event{watch: 1, name: "c", folder: true, appears: true})
	want := Changes{Folders: map[string]bool{"": true, "a/b": true}, Trees: map[string]bool{"c": true}}
	if diff := cmp.Diff(want, table.take()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if slices.Sort(ended); !slices.Equal(ended, []int32{2, 3}) {
		t.Errorf("ended: %v", ended)
	}
	table.add(5, "c")
	table.add(6, "c") // another folder took its place
	table.add(4, "d") // it was moved
	table.note(event{watch: 4, name: "x"})
	table.note(event{watch: 6, ended: true})
	want = Changes{Folders: map[string]bool{"d": true, "c": true}, Trees: map[string]bool{}}
	if diff := cmp.Diff(want, table.take()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int32{"": 1, "d": 4}, table.watches); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[int32]string{1: "", 4: "d"}, table.paths); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	table.note(event{watch: -1, lost: true})
	if !table.take().All {
		t.Error("lost events do not mean everything")
	}
}
