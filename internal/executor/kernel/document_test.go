package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/notebook"
	"pawl/internal/sessionlock"
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

// TestNotebookLock: while a session of Gyoshu holds the lock of a research's notebook, results wait. They are in the notebook once the
// lock is free, and pawl held the lock when it wrote them.
func TestNotebookLock(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("GYOSHU_RUNTIME_DIR", runtime)
	path := filepath.Join(t.TempDir(), "notebooks", "tides.ipynb")
	lock := sessionlock.Notebook(runtime, "tides")
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		t.Fatal(err)
	}
	text := []byte(`{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [], "source": "1"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`)
	n, err := notebook.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDocument(&attempt{job: kernelJob, clean: func(s string) string { return s }}, path, text, n)
	if err != nil {
		t.Fatal(err)
	}
	release, err := sessionlock.Take([]string{lock})
	if err != nil {
		t.Fatal(err)
	}
	c := cell{id: "a", Link: runner.Link{Code: "1", Key: "k"}}
	d.begin(c, "c000001")
	if err := d.add(kernel.Message{Cell: "c000001", Kind: kernel.KindStream, Stream: kernel.Stdout, Text: "result"}); err != nil {
		t.Fatal(err)
	}
	if err := d.end(c, &runner.End{Cell: "c000001", Ending: kernel.Ending{Status: kernel.OK, Count: 1}}); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); strings.Contains(string(data), "result") {
		t.Errorf("written while a session held the lock: %s", data)
	}
	if err := errors.Join(release(), d.save()); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); !strings.Contains(string(data), "result") {
		t.Errorf("the result is missing: %s", data)
	}
	if found := sessionlock.Find([]string{lock}); len(found) != 0 {
		t.Errorf("the lock stays: %v", found)
	}
}

// kernelJob is the job of a kernel step with the defaults.
var kernelJob = pawl.Job{Kernel: &pawl.KernelJob{}}

const cellText = `{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [], "source": "1"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`

// openOneCell opens a notebook of one cell, in a folder named notebooks, and begins the cell.
func openOneCell(t *testing.T) (d *document, c cell) {
	t.Helper()
	n, err := notebook.Read([]byte(cellText))
	if err != nil {
		t.Fatal(err)
	}
	d, err = openDocument(&attempt{job: kernelJob, clean: func(s string) string { return s }}, filepath.Join(t.TempDir(), "notebooks", "tides.ipynb"), []byte(cellText), n)
	if err != nil {
		t.Fatal(err)
	}
	c = cell{id: "a", Link: runner.Link{Code: "1", Key: "k"}}
	d.begin(c, "c000001")
	return d, c
}

// print adds output of the cell.
func (d *document) print(t *testing.T, text string) {
	t.Helper()
	if err := d.add(kernel.Message{Cell: "c000001", Kind: kernel.KindStream, Stream: kernel.Stdout, Text: text}); err != nil {
		t.Fatal(err)
	}
}

// savedAfter returns how long it takes until the file has a text.
func (d *document) savedAfter(t *testing.T, text string) time.Duration {
	t.Helper()
	for began := time.Now(); ; time.Sleep(tick) {
		synctest.Wait()
		if data, err := os.ReadFile(d.path); err != nil {
			t.Fatal(err)
		} else if strings.Contains(string(data), text) {
			return time.Since(began)
		}
		if time.Since(began) > time.Hour {
			t.Fatalf("%s is not saved", text)
		}
	}
}

// tick is the precision of savedAfter.
const tick = 500 * time.Millisecond

// TestSavesWhileACellRuns: output is in the notebook a second after a cell began, and later within 30 seconds, also if no message follows
// it. If saving takes more than a quarter of the interval, the interval is doubled.
func TestSavesWhileACellRuns(t *testing.T) {
	t.Setenv("GYOSHU_RUNTIME_DIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		d, c := openOneCell(t)
		d.print(t, "first;")
		if after := d.savedAfter(t, "first;"); after != firstSave {
			t.Errorf("the first output is saved after %s", after)
		}
		time.Sleep(10 * time.Minute)
		d.print(t, "second;") // saved at once
		if after := d.savedAfter(t, "second;"); after != 0 {
			t.Errorf("the second output is saved after %s", after)
		}
		d.print(t, "third;")
		if after := d.savedAfter(t, "third;"); after != saveInterval {
			t.Errorf("the third output is saved after %s", after)
		}
		d.slowSave(t, 10*time.Second)
		d.print(t, "fourth;")
		if after := d.savedAfter(t, "fourth;"); after != 2*saveInterval {
			t.Errorf("after a save that took 10s, output is saved after %s", after)
		}
		d.slowSave(t, 20*time.Second)
		d.print(t, "last;")
		if err := d.end(c, &runner.End{Cell: "c000001", Ending: kernel.Ending{Status: kernel.OK, Count: 7}}); err != nil {
			t.Fatal(err)
		}
		if after := d.savedAfter(t, `"execution_count": 7`); after != 80*time.Second {
			t.Errorf("after a save that took 20s, the end of the cell is saved after %s", after)
		}
	})
}

// TestEndAfterIdle: a cell that has ended is saved as such, also if its last message was saved long before, while its variables were saved.
func TestEndAfterIdle(t *testing.T) {
	t.Setenv("GYOSHU_RUNTIME_DIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		d, c := openOneCell(t)
		for _, kind := range []kernel.Kind{kernel.KindBusy, kernel.KindIdle} {
			if err := d.add(kernel.Message{Cell: "c000001", Kind: kind, Time: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		d.savedAfter(t, `"status": "running"`)
		time.Sleep(time.Minute)
		if err := d.end(c, &runner.End{Cell: "c000001", Ending: kernel.Ending{Status: kernel.OK, Count: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := d.save(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(d.path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := notebook.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if status := string(n.Cells[0].Metadata("papermill", "status")); status != `"completed"` {
			t.Errorf("status %s", status)
		}
		if again, err := openDocument(d.attempt, d.path, data, n); err != nil || !again.has(c) {
			t.Errorf("the next attempt replays the cell, %v", err)
		}
	})
}

// slowSave saves while a session of Gyoshu writes the notebook for a while.
func (d *document) slowSave(t *testing.T, took time.Duration) {
	t.Helper()
	lock := sessionlock.Notebook(sessionlock.FolderHere(), "tides")
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := sessionlock.Take([]string{lock})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(took-sessionlock.RetryPause/2, func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	d.print(t, "slow;")
	if err := d.save(); err != nil {
		t.Fatal(err)
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
		d, err := openDocument(&attempt{job: kernelJob}, path, text, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.has(cell{id: "a", Link: runner.Link{Key: "k"}}); got != finished {
			t.Errorf("%s: has %v; want %v", status, got, finished)
		}
	}
}
