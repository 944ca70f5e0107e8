package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// damage flips a byte of the object that a file's content is, in whatever pack it stands.
func (w *workspace) damage(content string) {
	w.t.Helper()
	packs, err := filepath.Glob(w.path(".pawl/snapshots/pack-*"))
	w.must(err)
	for _, pack := range packs {
		data, err := os.ReadFile(pack)
		w.must(err)
		if at := strings.Index(string(data), content); at >= 0 {
			data[at] ^= 1
			w.must(os.WriteFile(pack, data, 0o600))
			return
		}
	}
	w.t.Fatalf("%q is in no pack", content)
}

// TestRepair: damage is found, names the checkpoints that it concerns, and is set aside; what the workspace still has
// comes back with the next snapshot.
func TestRepair(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, err := Open(context.Background(), Config{Root: root, Dir: filepath.Join(root, ".pawl", "snapshots")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := &workspace{t: t, root: root, store: store}
	w.write("a/only in the first", "0123456789 first")
	first := w.take()
	w.must(os.Remove(w.path("a/only in the first")))
	w.write("b/in both", "0123456789 both")
	second := w.take()
	w.write("c", "c")
	third := w.take()
	w.damage("0123456789 first")
	w.damage("0123456789 both")

	faults, err := store.Verify(context.Background())
	w.must(err)
	var concerned [][]pawl.CheckpointID
	for _, f := range faults {
		concerned = append(concerned, f.Checkpoints)
	}
	slices.SortFunc(concerned, slices.Compare)
	want := [][]pawl.CheckpointID{{first.Checkpoint}, {second.Checkpoint, third.Checkpoint}}
	if diff := cmp.Diff(want, concerned); diff != "" {
		t.Errorf("%+v\n%s", faults, diff)
	}
	repaired, err := store.Repair(context.Background())
	w.must(err)
	if repaired.Lost != 2 || len(repaired.Quarantined) == 0 || len(repaired.Checkpoints) != 3 {
		t.Errorf("%+v", repaired)
	}
	fourth := w.take()
	same(t, contents(t, root), contents(t, w.export(fourth)))
	same(t, contents(t, w.export(fourth)), contents(t, w.export(third)))
	faults, err = store.Verify(context.Background())
	w.must(err)
	if len(faults) != 1 || !slices.Equal(faults[0].Checkpoints, []pawl.CheckpointID{first.Checkpoint}) {
		t.Errorf("afterwards: %+v", faults)
	}
}
