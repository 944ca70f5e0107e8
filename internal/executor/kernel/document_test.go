package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/notebook"
)

// TestSpill: output that has no room in the notebook is in one file for each cell, and the notebook names them.
func TestSpill(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := &document{attempt: &attempt{dir: filepath.Join(root, "attempt")}, path: filepath.Join(root, "nb", "x.ipynb")}
	r := notebook.NewRecorder(notebook.Limits{Text: notebook.MinText}, d.spill)
	for _, cell := range []kernel.CellID{"c000001", "c000002", "c000001"} {
		m := kernel.Message{Cell: cell, Kind: kernel.KindStream, Stream: kernel.Stdout, Text: strings.Repeat(string(cell), 5_000)}
		if err := r.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	for cell, size := range map[kernel.CellID]int{"c000001": 70_000, "c000002": 35_000} {
		kept, mark, found := strings.Cut(r.Outputs(cell)[0].Text, "\n[pawl: ")
		rest, err := os.ReadFile(filepath.Join(root, "attempt", "outputs", string(cell), "stdout.txt"))
		if err != nil || !found || kept+string(rest) != strings.Repeat(string(cell), size/len(cell)) {
			t.Errorf("%s: %d bytes in the notebook, %d in the file, %v", cell, len(kept), len(rest), err)
		}
		if want := "../attempt/outputs/" + string(cell) + "/stdout.txt]\n"; !strings.HasSuffix(mark, want) {
			t.Errorf("mark %q", mark)
		}
	}
}
