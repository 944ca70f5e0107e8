package kerneltest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/supervise/process"
)

// running waits until a cell prints that it runs.
func (s *session) running(p pending) {
	s.t.Helper()
	s.Await("running", func(m kernel.Message) bool { return m.Cell == p.id && strings.Contains(m.Text, "running") })
}

func testInterrupt(s *session, code string) {
	t, c := s.t, s.config
	s.ok(c.Language.Set(c.Language.Numbered, 7))
	for range 2 {
		p := s.begin(code)
		s.running(p)
		if err := s.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ending := s.End(p.ended); ending.Status != kernel.Interrupted {
			t.Fatalf("ending %+v, error %+v", ending, ending.Error)
		}
		if got := s.value(c.Language.Numbered); !strings.HasSuffix(got, "7") {
			t.Errorf("the variable is %q", got)
		}
	}
}

// testIdle: an interrupt while no cell runs has no effect.
func testIdle(s *session) {
	t, c := s.t, s.config
	s.ok(c.Language.Set(c.Language.Numbered, 7))
	for range 5 {
		if err := s.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.value(c.Language.Numbered); !strings.HasSuffix(got, "7") {
			t.Errorf("the variable is %q", got)
		}
	}
}

// testContext: a cell outlives the context of its caller, and no second cell starts meanwhile.
func testContext(s *session) {
	t, c := s.t, s.config
	path := filepath.Join(t.TempDir(), "signal")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := s.Execute(ctx, kernel.Cell{ID: "long", Code: c.Language.WaitFor(path)})
		failed <- err
	}()
	s.Await("the cell runs", func(m kernel.Message) bool { return m.Cell == "long" })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Execute(t.Context(), kernel.Cell{ID: "second", Code: c.Language.Pass}); !errors.Is(err, kernel.ErrBusy) {
		t.Errorf("a second cell: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Await("the end of the cell", func(m kernel.Message) bool { return m.Cell == "long" && m.Kind == kernel.KindIdle })
	if got := text(s.Of("long"), kernel.Stdout); got != "found\n" {
		t.Errorf("the cell printed %q", got)
	}
	deadline := time.Now().Add(Patience)
	for _, err := s.Execute(t.Context(), kernel.Cell{ID: "third", Code: c.Language.Pass}); err != nil; {
		if !errors.Is(err, kernel.ErrBusy) || time.Now().After(deadline) {
			t.Fatal(err)
		}
		_, err = s.Execute(t.Context(), kernel.Cell{ID: "third", Code: c.Language.Pass})
	}
}

// dead checks the end of a cell and of its kernel, and that nothing is executed afterwards.
func (s *session) dead(ending kernel.Ending) kernel.Death {
	s.t.Helper()
	select {
	case <-s.Done():
	case <-time.After(Patience):
		s.t.Fatal("the death is not noticed")
	}
	death := s.Death()
	if ending.Status != kernel.Lost || ending.Death == nil || ending.Why == "" || death.Why == "" {
		s.t.Fatalf("ending %+v, death %+v", ending, death)
	}
	before := len(s.Messages())
	if _, err := s.Execute(s.t.Context(), kernel.Cell{ID: "after", Code: s.config.Language.Pass}); !errors.Is(err, kernel.ErrDead) {
		s.t.Errorf("a cell after death: %v", err)
	}
	if err := s.Interrupt(s.t.Context()); err != nil {
		s.t.Errorf("an interrupt after death: %v", err)
	}
	if after := s.Messages()[before:]; len(after) > 0 {
		s.t.Errorf("messages after death: %s", describe(after))
	}
	if s.config.Can.Local && runtime.GOOS == "linux" && death.Peak < 1<<20 {
		s.t.Errorf("peak of memory %d", death.Peak)
	}
	return death
}

func testKilled(t *testing.T, c Config) {
	s := start(t, c)
	ending, messages := s.execute(c.Language.Kill)
	death := s.dead(ending)
	if c.Can.Local && (death.Signal != "SIGKILL" || death.Exit != nil) {
		t.Errorf("death %+v", death)
	}
	if got := text(messages, kernel.Stdout); c.Can.Durable && got != "last words\n" {
		t.Errorf("before its death the cell printed %q", got)
	}
}

func testExited(t *testing.T, c Config) {
	s := start(t, c)
	ending, _ := s.execute(c.Language.Exit)
	if death := s.dead(ending); death.Exit == nil || *death.Exit != 3 || death.Signal != "" {
		t.Errorf("death %+v", death)
	}
}

func testCrashed(t *testing.T, c Config) {
	s := start(t, c)
	ending, messages := s.execute(c.Language.Crash)
	if death := s.dead(ending); death.Signal != "SIGSEGV" {
		t.Errorf("death %+v", death)
	}
	if got := text(messages, kernel.Stderr); c.Can.Stacks && !strings.Contains(got, c.Language.Crashed) {
		t.Errorf("before its death the cell printed %q", got)
	}
}

// testExhausted: a kernel without memory fails or dies, and either is reported.
func testExhausted(t *testing.T, c Config) {
	s := start(t, c)
	ending, messages := s.execute(c.Language.Exhaust)
	switch ending.Status {
	case kernel.Failed:
		if ending.Error == nil {
			t.Errorf("ending %+v", ending)
		}
	case kernel.Lost:
		s.dead(ending)
	default:
		t.Errorf("ending %+v; messages %s", ending, describe(messages))
	}
}

// testOutside: somebody kills an idle kernel. The death is noticed within 50 ms of the exit; on a busy machine, in the time of a few cells.
func testOutside(t *testing.T, c Config) {
	const enough, cells, tries = 50 * time.Millisecond, 5, 10
	var took []time.Duration
	for range tries {
		s := start(t, c)
		s.ok(c.Language.Pass)
		begun := time.Now()
		s.ok(c.Language.Pass)
		cell := time.Since(begun)
		pid := s.Info().PID
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for !Gone(pid) {
			runtime.Gosched()
		}
		exited := time.Now()
		<-s.Done()
		took = append(took, time.Since(exited))
		if s.Death().Signal != "SIGKILL" {
			t.Errorf("death %+v", s.Death())
		}
		if _, err := s.Execute(t.Context(), kernel.Cell{ID: "after", Code: c.Language.Pass}); !errors.Is(err, kernel.ErrDead) {
			t.Errorf("a cell after death: %v", err)
		}
		if took[len(took)-1] <= max(enough, cells*cell) {
			return
		}
	}
	t.Errorf("noticed after %s", took)
}

// testClose: no process of the kernel is left, neither after Close nor when it was killed before.
func testClose(t *testing.T, c Config) {
	for _, killed := range []bool{false, true} {
		s := start(t, c)
		pids := []int{s.Info().PID}
		for word := range strings.FieldsSeq(text(s.ok(c.Language.Leave), kernel.Stdout)) {
			pid, err := strconv.Atoi(word)
			if err != nil || Gone(pid) {
				t.Fatalf("process %q: %v", word, err)
			}
			pids = append(pids, pid)
		}
		if len(pids) != 3 {
			t.Fatalf("processes %v", pids)
		}
		if killed {
			if err := s.Signal(kernel.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-s.Done()
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if !Gone(pid) {
				t.Errorf("process %d of %v is left, killed: %v", pid, pids, killed)
			}
		}
	}
}

// testCloseBusy: Close ends a kernel whose cell would run for ever, and the cell cleans up.
func testCloseBusy(t *testing.T, c Config) {
	s := start(t, c)
	path := filepath.Join(t.TempDir(), "clean")
	p := s.begin(c.Language.Clean(path))
	s.running(p)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the cell has not cleaned up: %v", err)
	}
	if ending := s.End(p.ended); ending.Status != kernel.Lost && ending.Status != kernel.Interrupted {
		t.Errorf("ending %+v", ending)
	}
	select {
	case <-s.Done():
	default:
		t.Error("not done after Close")
	}
	if _, err := s.Execute(t.Context(), kernel.Cell{ID: "after", Code: c.Language.Pass}); !errors.Is(err, kernel.ErrDead) {
		t.Errorf("a cell after Close: %v", err)
	}
}

// testTwo: two kernels at the same time have their own variables and output.
func testTwo(t *testing.T, c Config) {
	var sessions [2]*session
	for i := range sessions {
		sessions[i] = start(t, c)
	}
	var both sync.WaitGroup
	for i, s := range sessions {
		both.Go(func() {
			for n := range 10 {
				value := strconv.Itoa(100*(i+1) + n)
				ending, err := s.Execute(t.Context(), kernel.Cell{ID: "set" + kernel.CellID(value), Code: c.Language.Set(c.Language.Numbered, 100*(i+1)+n)})
				if err != nil || ending.Status != kernel.OK {
					t.Errorf("%+v, %v", ending, err)
				}
				id := "get" + kernel.CellID(value)
				if _, err := s.Execute(t.Context(), kernel.Cell{ID: id, Code: c.Language.Value(c.Language.Numbered)}); err != nil {
					t.Error(err)
				}
				results := slices.DeleteFunc(s.Of(id), func(m kernel.Message) bool { return m.Kind != kernel.KindResult })
				if len(results) != 1 || !strings.HasSuffix(plain(t, results[0]), value) {
					t.Errorf("kernel %d: %s", i, describe(results))
				}
			}
		})
	}
	both.Wait()
}

// testEnvironment: a kernel has the environment and the folder that it was given, and none of this process's variables.
func testEnvironment(s *session) {
	t, c := s.t, s.config
	got := text(s.ok(c.Language.Environ), kernel.Stdout)
	variables := strings.Split(got, "\n")
	if c.Can.Local && !slices.Contains(variables, "PWD="+s.dir) {
		t.Errorf("no working folder %s in\n%s", s.dir, got)
	}
	if c.Can.Local && !slices.Contains(variables, "PAWL_TEST_NAME=ä = ' \" b") {
		t.Errorf("no PAWL_TEST_NAME in\n%s", got)
	}
	if strings.Contains(got, secret) {
		t.Errorf("a secret of this process is in\n%s", got)
	}
	if c.Can.Local && runtime.GOOS == "linux" {
		for _, variable := range process.Environ(s.Info().PID) {
			if strings.Contains(variable, secret) {
				t.Errorf("the kernel has %s", variable)
			}
		}
	}
}

// testStacksOfThreads: the stacks of all threads are known while a cell waits. A kernel survives that it is asked for stacks while threads
// start and end.
func testStacksOfThreads(s *session) {
	t, l := s.t, s.config.Language
	p := s.begin(l.Thread + "\n" + l.Join)
	s.running(p)
	stacks, err := s.Stacks(t.Context())
	if err != nil || !strings.Contains(stacks, l.Waiting) || !strings.Contains(stacks, string(p.id)) {
		t.Errorf("stacks %q, error %v", stacks, err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ending := s.End(p.ended); ending.Status != kernel.Interrupted {
		t.Fatalf("ending %+v", ending)
	}
	s.ok(l.Release)
	if ending, _ := s.execute(l.Asked); ending.Status != kernel.OK {
		t.Errorf("ending %+v", ending)
	}
}

func testStacks(s *session) {
	t, c := s.t, s.config
	for range 2 {
		p := s.begin(c.Language.Call)
		s.running(p)
		stacks, err := s.Stacks(t.Context())
		if err != nil || !strings.Contains(stacks, string(p.id)) {
			t.Errorf("stacks %q, error %v", stacks, err)
		}
		if ending := s.End(p.ended); ending.Status != kernel.OK {
			t.Errorf("ending %+v: the stacks disturb the cell", ending)
		}
	}
}
