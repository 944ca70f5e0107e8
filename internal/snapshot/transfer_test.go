package snapshot

import (
	"testing"
	"time"

	"pawl/internal/snapshot/pack"
)

// TestFileLikeAFolder: a file with the content of a folder's object hides nothing of what is below the folder.
func TestFileLikeAFolder(t *testing.T) {
	t.Parallel()
	other := newWorkspace(t)
	other.write("sub/below", "below")
	data, err := other.store.packs.Get(other.take().Tree)
	other.must(err)
	entries, err := decodeTree(data)
	other.must(err)
	var folder []byte
	for _, e := range entries {
		if e.Name == "sub" {
			folder, err = other.store.packs.Get(e.ID)
			other.must(err)
		}
	}

	w := newWorkspace(t)
	w.write("a", string(folder)) // is visited first
	w.write("sub/below", "below")
	r := w.take()
	if has, err := w.store.HasTree(Record{Tree: pack.IDOf(folder)}); has || err != nil {
		t.Errorf("the store has the files of the folder: %t, %v", has, err)
	}
	if has, err := w.store.HasTree(r); !has || err != nil {
		t.Errorf("the store has the files of a snapshot: %t, %v", has, err)
	}
	below := pack.IDOf([]byte("below"))
	visited := map[pack.ID]bool{}
	w.must(w.store.Objects(t.Context(), r, nil, func(id pack.ID) error { visited[id] = true; return nil }))
	if !visited[pack.IDOf(folder)] || !visited[below] {
		t.Error("an object is not pushed")
	}
	checked := map[pack.ID]bool{}
	w.must(CheckObjects(t.Context(), r, map[Object]bool{}, func(id pack.ID, decode bool) ([]byte, error) {
		if checked[id] = true; decode {
			return w.store.packs.Get(id)
		}
		return nil, nil
	}))
	if !checked[below] {
		t.Error("an object is not verified")
	}

	w.write("b", "another")
	w.take()
	_, err = w.store.Prune(t.Context(), PruneOptions{Keep: 1, Now: time.Now()})
	w.must(err)
	if has, err := w.store.packs.Has(below); !has {
		t.Errorf("what is below the folder was pruned: %v", err)
	}
	faults, err := w.store.Verify(t.Context())
	if len(faults) > 0 || err != nil {
		t.Errorf("%+v, %v", faults, err)
	}
}
