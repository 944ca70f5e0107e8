package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
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

// TestFinished: only the results of a finished execution keep those in the session's log out of the notebook. Those of an execution that
// was running when the step was killed, or that failed, may be incomplete.
func TestFinished(t *testing.T) {
	t.Parallel()
	for status, finished := range map[notebook.PapermillStatus]bool{notebook.Completed: true, notebook.Running: false, notebook.Broken: false, notebook.Pending: false} {
		path := filepath.Join(t.TempDir(), "x.ipynb")
		text := fmt.Appendf(nil, `{"cells": [{"cell_type": "code", "id": "a", "metadata": {"papermill": {"status": %q}, "pawl": {"cellKey": "k"}}, "execution_count": 1, "outputs": [], "source": "x"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`, status)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := notebook.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		d, err := openDocument(&attempt{}, path, text, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.has(cell{id: "a", Link: runner.Link{Key: "k"}}); got != finished {
			t.Errorf("%s: has %v; want %v", status, got, finished)
		}
	}
}
