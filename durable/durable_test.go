package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/durable"
	"pawl/internal/journal"
)

var errBroken = errors.New("broken")

// give returns a step's function that gives value and counts its calls.
func give[T any](value T, calls *int) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { *calls++; return value, nil }
}

func fails(context.Context) (int, error) { return 0, errBroken }

// must runs fn in a durable run that it finishes.
func must(t *testing.T, dir string, fn func(context.Context) error) {
	t.Helper()
	if err := durable.Run(t.Context(), dir, "test", fn); err != nil {
		t.Fatal(err)
	}
	fsck(t, dir)
}

func TestRemembers(t *testing.T) {
	t.Parallel()
	type result struct {
		Words []string
		At    time.Time
		kept  bool // JSON leaves it out
	}
	want := result{Words: []string{"<a>", "ü"}, At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), kept: true}
	dir := t.TempDir()
	var calls, nothing int
	for _, end := range []error{errBroken, nil} {
		err := durable.Run(t.Context(), dir, "a/b", func(ctx context.Context) error {
			got, err := durable.Step(ctx, "schöner Schritt", give(want, &calls))
			if err != nil || !slices.Equal(got.Words, want.Words) || !got.At.Equal(want.At) || got.kept {
				t.Errorf("got %+v %v", got, err)
			}
			if got, err := durable.Step(ctx, "nothing", give[*int](nil, &nothing)); got != nil || err != nil {
				t.Errorf("nothing: %v %v", got, err)
			}
			return end
		})
		if err != end {
			t.Errorf("Run: %v, want %v", err, end)
		}
	}
	if calls != 1 || nothing != 1 {
		t.Errorf("the steps ran %d and %d times", calls, nothing)
	}
	states := fsck(t, dir)
	if len(states) != 1 || states[0].Status != pawl.StatusCompleted || states[0].Epoch != 2 || states[0].Name != "a/b" {
		t.Errorf("%+v", states)
	}
	if id := pawl.StepIDOf("schöner Schritt"); states[0].Steps[id] == nil || states[0].Steps[id].Summary != "schöner Schritt" {
		t.Errorf("step %s: %+v", id, states[0].Steps[id])
	}
}

// Runs of one second, and of names that make the same id, are told apart.
func TestNewestRunOfTheName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 6 {
		for _, end := range []error{errBroken, nil} {
			for _, name := range []string{"a b", "a-b"} {
				calls := 0
				err := durable.Run(t.Context(), dir, name, func(ctx context.Context) error {
					got, err := durable.Step(ctx, "step", give(fmt.Sprint(name, i), &calls))
					if got != fmt.Sprint(name, i) || err != nil {
						t.Errorf("run %d of %s gives %q %v", i, name, got, err)
					}
					return end
				})
				if err != end || calls == 1 != (end != nil) {
					t.Errorf("run %d of %s: %v, %d calls", i, name, err, calls)
				}
			}
		}
	}
	if n := len(fsck(t, dir)); n != 12 {
		t.Errorf("%d runs, want 12", n)
	}
}

func TestErrorsOfSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, dir, func(ctx context.Context) error {
		for range 2 {
			if _, err := durable.Step(ctx, "step", fails); err != errBroken {
				t.Errorf("error of a step: %v", err)
			}
		}
		calls := 0
		if got, err := durable.Step(ctx, "step", give(7, &calls)); got != 7 || err != nil {
			t.Errorf("tried again: %d %v", got, err)
		}
		if _, err := durable.Step(ctx, "channel", give(make(chan int), &calls)); err == nil {
			t.Error("a channel was remembered")
		}
		if _, err := durable.Step(ctx, "interface", give(error(errBroken), &calls)); err == nil {
			t.Error("what cannot be read back was remembered")
		}
		_, twice := durable.Step(ctx, "step", give(8, &calls))
		_, empty := durable.Step(ctx, "", give(8, &calls))
		_, outside := durable.Step(t.Context(), "outside", give(8, &calls))
		_, inside := durable.Step(ctx, "outer", func(ctx context.Context) (int, error) {
			return durable.Step(ctx, "inner", give(8, &calls))
		})
		wrong := map[string]error{"duplicate name": twice, "missing name": empty, "context": outside, "nested": inside}
		for want, err := range wrong {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
		return nil
	})
	st := fsck(t, dir)[0].Steps["step"]
	if st.Status != pawl.Done || st.Attempts != 3 {
		t.Errorf("%+v, want done in 3 attempts", st)
	}
}

func TestAnotherTypeIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := 0
	_ = durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
		_, err := durable.Step(ctx, "step", give("seven", &calls))
		return errors.Join(err, errBroken)
	})
	err := durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
		_, err := durable.Step(ctx, "step", give(7, &calls))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), `step "step": the recorded value has another type than int`) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestBigResult(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := strings.Repeat("<ü>", 100_000)
	calls := 0
	for _, end := range []error{errBroken, nil} {
		_ = durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
			if got, err := durable.Step(ctx, "big", give(big, &calls)); got != big || err != nil {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			return end
		})
	}
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	blobs, _ := filepath.Glob(filepath.Join(dir, ".pawl", "runs", "*", "blobs", "*"))
	if len(blobs) != 1 {
		t.Fatalf("blobs: %v", blobs)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := 0
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
			_, err := durable.Step(ctx, "step", func(context.Context) (int, error) { panic("oh") })
			return err
		})
	}()
	must(t, dir, func(ctx context.Context) error {
		_, err := durable.Step(ctx, "step", give(1, &calls))
		return err
	})
	if states := fsck(t, dir); calls != 1 || len(states) != 1 {
		t.Errorf("%d calls in %d runs", calls, len(states))
	}
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 100
	var calls [n]int
	for _, end := range []error{errBroken, nil} {
		_ = durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
			var all []*durable.Future[int]
			for i := range n {
				all = append(all, durable.Go(ctx, fmt.Sprint(i), give(i, &calls[i])))
			}
			for i, f := range all {
				if got, err := f.Wait(ctx); got != i || err != nil {
					t.Errorf("step %d: %d %v", i, got, err)
				}
			}
			return end
		})
	}
	for i, c := range calls {
		if c != 1 {
			t.Errorf("step %d ran %d times", i, c)
		}
	}
	fsck(t, dir)
}

func TestReturnedBeforeItsSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begun, over := make(chan struct{}), false
		var late context.Context
		err := durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
			late = context.WithoutCancel(ctx)
			go func() {
				_, _ = durable.Step(ctx, "step", func(ctx context.Context) (int, error) {
					close(begun)
					<-ctx.Done()
					<-time.After(time.Hour)
					over = true
					return 0, ctx.Err()
				})
			}()
			<-begun
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "returned while 1 of its steps were running") {
			t.Errorf("%v", err)
		}
		if !over {
			t.Error("the run did not wait for its step")
		}
		if _, err := durable.Step(late, "later", fails); err == nil || errors.Is(err, errBroken) {
			t.Errorf("a step began after its run: %v", err)
		}
	})
	s := fsck(t, dir)[0]
	if s.Status != pawl.StatusFailed || s.Engine != nil || s.Steps["step"].Retries.Last.Outcome != pawl.Aborted {
		t.Errorf("run is %s, engine %v, step %+v", s.Status, s.Engine, s.Steps["step"])
	}
}

// What was done when the context ended is remembered; nothing begins after that.
func TestCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	err := durable.Run(ctx, dir, "test", func(ctx context.Context) error {
		_, err := durable.Step(ctx, "step", func(context.Context) (int, error) { cancel(); return 1, nil })
		if err != nil {
			t.Errorf("the step: %v", err)
		}
		_, err = durable.Step(ctx, "next", give(1, &calls))
		return err
	})
	if !errors.Is(err, context.Canceled) || calls != 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
	must(t, dir, func(ctx context.Context) error {
		_, err := durable.Step(ctx, "step", give(1, &calls))
		return err
	})
	if calls != 0 {
		t.Error("the step ran again")
	}
}

// A run that was taken over believes nothing of the one before, and begins nothing more there.
func TestFenced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := 0
	err := durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
		_, err := durable.Step(ctx, "step", func(context.Context) (int, error) { takeOver(t, dir); return 1, nil })
		if !errors.Is(err, pawl.ErrFenced) {
			t.Errorf("the step: %v", err)
		}
		if !errors.Is(context.Cause(ctx), pawl.ErrFenced) {
			t.Errorf("the context: %v", context.Cause(ctx))
		}
		_, err = durable.Step(ctx, "next", give(1, &calls))
		return err
	})
	if !errors.Is(err, pawl.ErrFenced) || calls != 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if s := fsck(t, dir)[0]; s.Steps["step"] != nil || s.Ended() {
		t.Errorf("state %+v", s)
	}
}

// takeOver starts another engine behind the back of the one that holds the project's only run.
func takeOver(t *testing.T, dir string) {
	t.Helper()
	folder := filepath.Join(dir, ".pawl", "runs")
	runs, err := journal.Runs(folder)
	if err != nil {
		t.Fatal(err)
	}
	log, err := journal.Open(folder, runs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, pawl.EngineStarted{Epoch: 2, PID: os.Getpid(), Why: "resume"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), 2, event); err != nil {
		t.Fatal(err)
	}
}

// A long step is seen while it runs; one that died there is seen to be lost.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		seen := func() *pawl.StepState { return fsck(t, dir)[0].Steps["long"] }
		long := func(end func()) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := durable.Step(ctx, "long", func(context.Context) (int, error) {
					<-time.After(time.Second - 1)
					if st := seen(); st != nil && st.Status == pawl.Running {
						t.Error("announced too soon")
					}
					<-time.After(time.Second)
					if st := seen(); st == nil || st.Status != pawl.Running {
						t.Errorf("after a second: %+v, want running", st)
					}
					end()
					return 1, nil
				})
				return err
			}
		}
		func() {
			defer func() { _ = recover() }()
			_ = durable.Run(t.Context(), dir, "test", long(func() { panic("die") }))
		}()
		must(t, dir, long(func() {}))
		if st := seen(); st.Status != pawl.Done || st.Attempts != 2 || len(st.Live()) > 0 {
			t.Errorf("%+v, want done in 2 attempts", st)
		}
	})
}

func TestNeedsAName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := durable.Run(t.Context(), dir, "", nil); pawl.KindOf(err) != pawl.KindUsage {
		t.Errorf("without a name: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".pawl")); err == nil {
		t.Error("a project was made")
	}
}
