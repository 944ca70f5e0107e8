package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/kernel"
)

// stubSaver is a saver whose newest checkpoint cannot be loaded. Verifying another one finds that a variable is lost.
type stubSaver struct {
	Saver
	calls []string
}

func (s *stubSaver) Supports(string) bool { return true }

func (s *stubSaver) Checkpoints() ([]Checkpoint, []string) {
	return []Checkpoint{{ID: "4", At: "d"}, {ID: "3", At: "c"}, {ID: "2", At: "b"}, {ID: "1", At: "a"}}, nil
}

func (s *stubSaver) Load(_ context.Context, _ Evaluator, id string, _ bool, accept func(Checkpoint) error) ([]string, error) {
	s.calls = append(s.calls, "load "+id)
	if id == "3" {
		return nil, errors.New("it is damaged")
	}
	return nil, accept(Checkpoint{ID: id, Lost: []string{"lost" + id}})
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

// TestPrepareLoads: a checkpoint is verified only to be loaded, the newest first. Verifying takes time, and a session of many short cells has
// many checkpoints that are not verified.
func TestPrepareLoads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, at, calls, notes string }{
		{"the live kernel has everything", "c", "", ""},
		{"the kernel is dead", "", "load 3, load 2, load 1", "checkpoint 3 was not loaded: it is damaged; checkpoint 2 was not loaded: it does not have the variable lost2; " +
			"cell 1, cell 2 run again: the variables are gone with the earlier kernel"},
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
			cells = append(cells, Link{Key: key, Code: []string{"", "", "print(lost2)"}[i]})
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

// driftedSaver is a saver whose checkpoints were saved in another environment.
type driftedSaver struct{ stubSaver }

func (s *driftedSaver) Load(_ context.Context, _ Evaluator, id string, strict bool, accept func(Checkpoint) error) ([]string, error) {
	s.calls = append(s.calls, "load "+id)
	if strict {
		return nil, fmt.Errorf("%w: Python was 3.1 and is 3.2", ErrDrift)
	}
	return []string{"Python was 3.1 and is 3.2"}, accept(Checkpoint{ID: id})
}

// TestStrict: with strict, variables from another environment are an error. pawl tries no other checkpoint and executes no cell again.
func TestStrict(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{true, false} {
		saver := &driftedSaver{}
		h := &host{cfg: Config{Dir: t.TempDir(), Driver: stubDriver{}, Saver: saver}, kernelLock: make(chan struct{}, 1), history: newHistory(), changed: make(chan struct{}),
			ends: map[kernel.CellID]*End{}, captured: map[kernel.CellID][]kernel.Message{}}
		log, err := openLog(filepath.Join(h.cfg.Dir, LogFile), h.history.add)
		if err != nil {
			t.Fatal(err)
		}
		h.log = log
		h.history.saved["4"], h.history.saved["2"] = true, true
		p, err := h.prepare(t.Context(), Request{Base: Root, Cells: []Link{{Key: "b"}, {Key: "d"}, {Key: "e"}}, Strict: strict})
		if got := strings.Join(saver.calls, ", "); got != "load 4" {
			t.Errorf("strict %v: %s", strict, got)
		}
		switch {
		case strict && (err == nil || !strings.Contains(err.Error(), `it was saved in another environment: Python was 3.1 and is 3.2; restore that environment, or remove "strict"`)):
			t.Errorf("strict: %v", err)
		case !strict && (err != nil || p.Next != 2 || len(p.Notes) != 1):
			t.Errorf("not strict: %+v, %v", p, err)
		}
	}
}

// TestStartingIsNotBusy: a request waits for a kernel that starts, however long that takes on a busy machine. It does not wait so long for
// a cell.
func TestStartingIsNotBusy(t *testing.T) {
	t.Parallel()
	for state, want := range map[State]pawl.Kind{Starting: "", Busy: pawl.KindHeld} {
		synctest.Test(t, func(t *testing.T) {
			h := &host{kernelLock: make(chan struct{}, 1), state: state}
			h.kernelLock <- struct{}{}
			time.AfterFunc(2*queueWait+time.Second, func() { h.releaseKernel() })
			err := h.lockKernel(t.Context(), queueWait)
			if got := pawl.KindOf(err); err != nil && got != want || (err != nil) != (want != "") {
				t.Errorf("%s: %v", state, err)
			}
			time.Sleep(2 * queueWait)
		})
	}
}

// dyingDriver starts kernels that die when something is loaded, apart from the last.
type dyingDriver struct{ kernels []*dyingKernel }

func (d *dyingDriver) Start(context.Context, kernel.Spec, func(kernel.Message)) (kernel.Kernel, error) {
	k := &dyingKernel{done: make(chan struct{})}
	d.kernels = append(d.kernels, k)
	return k, nil
}

// killingSaver is a saver whose kernel is killed while it loads, some times.
type killingSaver struct {
	stubSaver
	driver *dyingDriver
	kills  int
}

func (s *killingSaver) Load(_ context.Context, _ Evaluator, id string, _ bool, accept func(Checkpoint) error) ([]string, error) {
	s.calls = append(s.calls, "load "+id)
	if len(s.calls) <= s.kills {
		close(s.driver.kernels[len(s.driver.kernels)-1].done)
		return nil, errNoAnswer
	}
	return nil, accept(Checkpoint{ID: id})
}

// TestKilledWhileLoading: a checkpoint is loaded into another kernel if the first one dies. No cell runs again for that.
func TestKilledWhileLoading(t *testing.T) {
	t.Parallel()
	for kills, want := range []string{"load 4", "load 4, load 4", "load 4, load 4, load 4", "load 4, load 4, load 4, load 2"} {
		driver := &dyingDriver{}
		saver := &killingSaver{driver: driver, kills: kills}
		h := &host{cfg: Config{Dir: t.TempDir(), Driver: driver, Saver: saver}, kernelLock: make(chan struct{}, 1), history: newHistory(), changed: make(chan struct{}),
			ends: map[kernel.CellID]*End{}, captured: map[kernel.CellID][]kernel.Message{}}
		log, err := openLog(filepath.Join(h.cfg.Dir, LogFile), h.history.add)
		if err != nil {
			t.Fatal(err)
		}
		h.log = log
		h.history.saved["4"], h.history.saved["2"] = true, true
		if _, err = h.prepare(t.Context(), Request{Base: Root, Cells: []Link{{Key: "b"}, {Key: "d"}, {Key: "e"}}}); err != nil {
			t.Error(err)
		}
		if got := strings.Join(saver.calls, ", "); got != want {
			t.Errorf("after %d kills: %s, want %s", kills, got, want)
		}
	}
}
