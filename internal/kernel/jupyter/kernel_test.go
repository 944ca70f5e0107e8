package jupyter_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/jupyter"
)

// python is the interpreter with ipykernel that tests use.
func python() string { return cmp.Or(os.Getenv("PAWL_TEST_PYTHON"), "/usr/bin/python3") }

// tested is a kernel in a test, with all its messages.
type tested struct {
	kernel.Kernel
	t *testing.T

	mu   sync.Mutex
	all  []kernel.Message
	more chan struct{} // closed and replaced with every message
}

// patience is how long tests wait for what must happen.
const patience = 60 * time.Second

// specOf completes a Spec for a test.
func specOf(t *testing.T, spec kernel.Spec) kernel.Spec {
	t.Helper()
	folder, err := os.MkdirTemp("", "pawl") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil { // also for another user
		t.Fatal(err)
	}
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	spec.Runtime, spec.Log = filepath.Join(folder, "r"), filepath.Join(folder, "log")
	if spec.Python.Path == "" {
		spec.Python = kernel.Interpreter{Path: python(), Why: "the test's"}
	}
	if spec.Environ == nil {
		spec.Environ = environ(t)
	}
	return spec
}

// environ is an environment whose home is empty.
func environ(t *testing.T, more ...string) []string {
	return append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "LANG=C.UTF-8"}, more...)
}

// begin starts a kernel.
func begin(t *testing.T, spec kernel.Spec) (*tested, error) {
	t.Helper()
	k := &tested{t: t, more: make(chan struct{})}
	var err error
	k.Kernel, err = jupyter.Driver{}.Start(t.Context(), specOf(t, spec), k.emit)
	if err == nil {
		t.Cleanup(func() {
			if err := k.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	return k, err
}

func start(t *testing.T, spec kernel.Spec) *tested {
	t.Helper()
	k, err := begin(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *tested) emit(m kernel.Message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, m)
	close(k.more)
	k.more = make(chan struct{})
}

func (k *tested) messages() []kernel.Message {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// run executes a cell, and checks how it ends.
func (k *tested) run(id, code string, want kernel.Status) kernel.Ending {
	k.t.Helper()
	e, err := k.Execute(k.t.Context(), kernel.Cell{ID: kernel.CellID(id), Code: code})
	if err != nil {
		k.t.Fatal(err)
	}
	if e.Status != want {
		k.t.Fatalf("cell %s ended as %+v, want %s; output: %q", id, e, want, k.output(id))
	}
	return e
}

// begun executes a cell in the background.
func (k *tested) begun(id, code string) <-chan kernel.Ending {
	c := make(chan kernel.Ending, 1)
	go func() {
		e, err := k.Execute(k.t.Context(), kernel.Cell{ID: kernel.CellID(id), Code: code})
		if err != nil {
			k.t.Error(err)
		}
		c <- e
	}()
	return c
}

// output returns the text that a cell printed.
func (k *tested) output(id string) string {
	var s strings.Builder
	for _, m := range k.messages() {
		if m.Kind == kernel.KindStream && m.Cell == kernel.CellID(id) {
			s.WriteString(m.Text)
		}
	}
	return s.String()
}

// await waits for a message. It shows each message to is once.
func (k *tested) await(what string, is func(kernel.Message) bool) {
	k.t.Helper()
	limit, seen := time.After(patience), 0
	for {
		k.mu.Lock()
		next, more := k.all[seen:], k.more
		found := slices.ContainsFunc(next, is)
		seen = len(k.all)
		k.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-limit:
			k.t.Fatalf("no %s; messages: %+v", what, k.messages())
		}
	}
}

// awaitOutput waits until a cell has printed a text.
func (k *tested) awaitOutput(id, text string) {
	k.t.Helper()
	var seen strings.Builder
	k.await("output "+text, func(m kernel.Message) bool {
		if m.Kind == kernel.KindStream && m.Cell == kernel.CellID(id) {
			seen.WriteString(m.Text)
		}
		return strings.Contains(seen.String(), text)
	})
}

// awaitEnd waits for the end of a cell.
func (k *tested) awaitEnd(c <-chan kernel.Ending) kernel.Ending {
	k.t.Helper()
	select {
	case e := <-c:
		return e
	case <-time.After(patience):
		k.t.Fatalf("the cell does not end; messages: %+v", k.messages())
		return kernel.Ending{}
	}
}

// retry calls is until it returns true.
func (k *tested) retry(is func() bool) {
	k.t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			k.t.Fatal("it never happened")
		}
	}
}

func command(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}
