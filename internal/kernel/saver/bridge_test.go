package saver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/kernel/bridge"
	"pawl/internal/kernel/runner"
	"pawl/internal/kernel/variablestest"
)

// bridged is a kernel of the bridge, and what it reported.
type bridged struct {
	t testing.TB
	k kernel.Kernel

	mu       sync.Mutex // guards messages
	messages []kernel.Message
	cells    int
}

func startBridge(t testing.TB) *bridged {
	t.Helper()
	b := &bridged{t: t}
	spec := kernel.Spec{Python: kernel.Interpreter{Path: variablestest.Python(), Why: "test"}, Dir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}}
	k, err := bridge.Driver{}.Start(t.Context(), spec, func(m kernel.Message) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.messages = append(b.messages, m)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.k = k
	t.Cleanup(func() { _ = k.Close(context.Background()) }) // it may have been killed
	return b
}

// run executes a cell and returns its displays and what it printed.
func (b *bridged) run(ctx context.Context, code string, silent bool) (shown []kernel.Message, printed string, err error) {
	b.cells++
	id := kernel.CellID(fmt.Sprint("c", b.cells))
	ending, err := b.k.Execute(ctx, kernel.Cell{ID: id, Code: code, Silent: silent})
	if err == nil && ending.Error != nil {
		err = fmt.Errorf("%s: %s", ending.Error.Name, ending.Error.Value)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if m.Cell == id {
			shown = append(shown, m)
			if m.Kind == kernel.KindStream {
				printed += m.Text
			}
		}
	}
	return shown, strings.TrimSpace(printed), err
}

func (b *bridged) must(code string) string {
	b.t.Helper()
	_, printed, err := b.run(b.t.Context(), code, false)
	if err != nil {
		b.t.Fatalf("%s: %v", code, err)
	}
	return printed
}

func (b *bridged) evaluator() runner.Evaluator {
	return runner.Evaluator{Info: b.k.Info(), Run: func(ctx context.Context, code string) ([]kernel.Message, error) {
		shown, _, err := b.run(ctx, code, true)
		return shown, err
	}}
}

// Variables of a kernel of the bridge that was killed are those of the next one.
func TestBridge(t *testing.T) {
	t.Parallel()
	s, first := open(t, filepath.Join(t.TempDir(), ".pawl", "variables")), startBridge(t)
	first.must("import math\nclass P:\n    def __init__(self, v): self.v = v\ndef area(r): return math.pi * r * r")
	first.must("square = lambda v: v * v\nx = [P(2), P(3)]\nx[0].v")
	id, note, err := s.Save(t.Context(), first.evaluator(), "two")
	if err != nil || note != "" {
		t.Fatalf("save: %q, %v", note, err)
	}
	if err := first.k.Signal(kernel.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.k.Done()
	second := startBridge(t)
	warnings, err := s.Load(t.Context(), second.evaluator(), id, false, func(c runner.Checkpoint) error {
		if c.ID != id || len(c.Lost) > 0 {
			t.Errorf("%+v", c)
		}
		return nil
	})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("load: %q, %v", warnings, err)
	}
	if got := second.must("print(x[1].v, type(x[0]) is P, square(4), round(area(1), 3), sorted(n for n in vars() if not n.startswith('_')))"); got != "3 True 16 3.142 ['P', 'area', 'math', 'square', 'x']" {
		t.Errorf("after loading: %s", got)
	}
}
