package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/kernel"
)

// stubSaver is a saver whose newest checkpoint cannot be loaded.
type stubSaver struct {
	Saver
	calls []string
}

func (s *stubSaver) Supports(string) bool { return true }

func (s *stubSaver) Checkpoints() ([]Checkpoint, []string) {
	return []Checkpoint{{ID: "3", At: "c"}, {ID: "2", At: "b"}, {ID: "1", At: "a"}}, nil
}

func (s *stubSaver) Verify(_ context.Context, id, _ string) (Checkpoint, error) {
	s.calls = append(s.calls, "verify "+id)
	if id == "3" {
		return Checkpoint{}, errors.New("it is damaged")
	}
	return Checkpoint{ID: id, At: Key(id)}, nil
}

func (s *stubSaver) Load(_ context.Context, _ Evaluator, id string) ([]string, error) {
	s.calls = append(s.calls, "load "+id)
	return nil, nil
}

// stubKernel is a kernel that does nothing.
type stubKernel struct{ kernel.Kernel }

func (stubKernel) Info() kernel.Info     { return kernel.Info{PID: 1} }
func (stubKernel) Done() <-chan struct{} { return nil }

func (stubKernel) Close(context.Context) error { return nil }

type stubDriver struct{}

func (stubDriver) Start(context.Context, kernel.Spec, func(kernel.Message)) (kernel.Kernel, error) {
	return stubKernel{}, nil
}

// TestPrepareVerifies: a checkpoint is verified only before it is loaded. Verifying takes as long as loading, and a session of many short
// cells has many that are not verified.
func TestPrepareVerifies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, at, calls, notes string }{
		{"the live kernel has everything", "c", "", ""},
		{"the kernel is dead", "", "verify 3, verify 2, load 2", "checkpoint 3 cannot be loaded: it is damaged; cell 2 run again: the variables that they made are gone with the earlier kernel"},
	} {
		saver := &stubSaver{}
		h := &host{cfg: Config{Dir: t.TempDir(), Driver: stubDriver{}, Saver: saver}, kernelLock: make(chan struct{}, 1), history: newHistory(), changed: make(chan struct{}),
			ends: map[kernel.CellID]*End{}, captured: map[kernel.CellID][]kernel.Message{}, at: Key(c.at)}
		log, err := openLog(filepath.Join(h.cfg.Dir, LogFile), h.history.add)
		if err != nil {
			t.Fatal(err)
		}
		h.log = log
		var cells []Link
		for i, key := range []Key{"a", "b", "c"} {
			b := &Begin{Cell: kernel.CellID(fmt.Sprint(i)), Key: key}
			h.history.add(0, Record{Begin: b})
			h.history.add(0, Record{End: &End{Cell: b.Cell, Key: key, Ending: kernel.Ending{Status: kernel.OK}, Saved: fmt.Sprint(i + 1)}})
			cells = append(cells, Link{Key: key})
		}
		p, err := h.prepare(t.Context(), Request{Base: Root, Cells: cells})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := strings.Join(saver.calls, ", "); got != c.calls {
			t.Errorf("%s: %s, want %s", c.name, got, c.calls)
		}
		if got := strings.Join(p.Notes, "; "); got != c.notes {
			t.Errorf("%s: notes %q, want %q", c.name, got, c.notes)
		}
	}
}
