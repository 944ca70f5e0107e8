package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/durable"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

func open(t *testing.T, dir string) *durable.Engine {
	t.Helper()
	e, err := durable.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// stateOfRun returns the state of the newest run with a name.
func stateOfRun(t *testing.T, dir, name string) *pawl.State {
	t.Helper()
	states := fsck(t, dir)
	slices.Reverse(states)
	at := slices.IndexFunc(states, func(s *pawl.State) bool { return s.Name == name })
	if at < 0 {
		t.Fatalf("no run %q", name)
	}
	return states[at]
}

// A run has one result, whoever asks for it and how often.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	var calls atomic.Int64
	double := durable.Register(e, "double", func(ctx context.Context, n int) (int, error) {
		return durable.Step(ctx, "double", func(context.Context) (int, error) { calls.Add(1); return 2 * n, nil })
	})
	const many = 20
	var all sync.WaitGroup
	for i := range many {
		for range 3 {
			all.Go(func() {
				if got, err := double.Run(t.Context(), fmt.Sprint("run ", i), i); got != 2*i || err != nil {
					t.Errorf("run %d: %d %v", i, got, err)
				}
			})
		}
	}
	all.Wait()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir)
	again := durable.Register(e, "double", func(context.Context, int) (int, error) { return 0, errBroken })
	if got, err := again.Start(t.Context(), "run 7", 100).Wait(t.Context()); got != 14 || err != nil {
		t.Errorf("a finished run: %d %v", got, err)
	}
	if calls.Load() != many {
		t.Errorf("%d calls for %d runs", calls.Load(), many)
	}
	other := durable.Register(e, "other", func(context.Context, int) (int, error) { return 0, nil })
	if _, err := other.Run(t.Context(), "run 7", 7); pawl.KindOf(err) != pawl.KindUsage {
		t.Errorf("the run of another workflow: %v", err)
	}
	for _, s := range fsck(t, dir) {
		if s.Status != pawl.StatusCompleted {
			t.Errorf("run %s is %s", s.Name, s.Status)
		}
		p, err := project.Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		if why, err := runs.Elsewhere(p, s.Run); why != "" || err != nil {
			t.Errorf("run %s is unverified: %s %v", s.Name, why, err)
		}
	}
}

// A failed run resumes with the input that it had, and repeats no finished step. Its steps get all their attempts again.
func TestFailedRunResumes(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir())
	broken, first, tries := true, 0, 0
	w := durable.Register(e, "w", func(ctx context.Context, in string) (string, error) {
		if _, err := durable.Step(ctx, "first", give(1, &first)); err != nil {
			return "", err
		}
		return durable.Step(ctx, "second", func(context.Context) (string, error) {
			if tries++; broken {
				return "", errBroken
			}
			return in, nil
		}, durable.Retry{Attempts: 3, Pause: time.Millisecond})
	})
	for range 2 {
		tries = 0
		if _, err := w.Run(t.Context(), "a", "the input"); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "failed 3 times") || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
	}
	broken = false
	if got, err := w.Run(t.Context(), "a", "another"); got != "the input" || err != nil || first != 1 {
		t.Errorf("%q %v, %d calls of the first step", got, err, first)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		fn := func(ctx context.Context) error {
			_, err := durable.Step(ctx, "step", func(context.Context) (int, error) {
				at = append(at, time.Since(begin))
				return 0, errBroken
			}, durable.Retry{Attempts: 5, Pause: time.Second, Factor: 3, Max: 5 * time.Second})
			return err
		}
		err := durable.Run(t.Context(), dir, "test", fn)
		want := []time.Duration{0, time.Second, 4 * time.Second, 9 * time.Second, 14 * time.Second}
		if !errors.Is(err, errBroken) || !slices.Equal(at, want) {
			t.Errorf("%v, tried at %v, want %v", err, at, want)
		}
		at = nil
		only := durable.Retry{If: func(err error) bool { return !errors.Is(err, errBroken) }}
		_ = durable.Run(t.Context(), t.TempDir(), "test", func(ctx context.Context) error {
			_, err := durable.Step(ctx, "step", func(context.Context) (int, error) { at = append(at, 0); return 0, errBroken }, only)
			return err
		})
		if len(at) != 1 {
			t.Errorf("%d tries of an error that is not worth it", len(at))
		}
	})
}

// The pause of a retry and the time of a sleep survive an interruption, and the attempts are counted on.
func TestPausesSurvive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin, tries := time.Now(), 0
		fn := func(ctx context.Context) error {
			if err := durable.Sleep(ctx, "sleep", time.Hour); err != nil {
				return err
			}
			if slept := time.Since(begin); slept < time.Hour || tries == 0 && slept > time.Hour+2*time.Minute {
				t.Errorf("slept for %s", slept)
			}
			_, err := durable.Step(ctx, "step", func(context.Context) (int, error) {
				if tries++; tries < 3 {
					return 0, errBroken
				}
				return 0, errors.New("the last")
			}, durable.Retry{Attempts: 3, Pause: 24 * time.Hour, Max: 100 * time.Hour})
			return err
		}
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			if err := durable.Run(ctx, dir, "test", fn); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("interrupted: %v", err)
			}
			cancel()
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			if err := durable.Run(ctx, dir, "test", fn); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("interrupted: %v", err)
			}
			cancel()
		}
		err := durable.Run(t.Context(), dir, "test", fn)
		if err == nil || !strings.Contains(err.Error(), "failed 3 times: the last") || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
		if all := time.Since(begin); all < 73*time.Hour || all > 74*time.Hour {
			t.Errorf("all took %s, want an hour and three days", all)
		}
	})
}

func TestSignals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	got := make(chan string, 10)
	listen := durable.Register(e, "listen", func(ctx context.Context, n int) (all string, err error) {
		for range n {
			word, err := durable.Await[string](ctx, "word", 0)
			if err != nil {
				return "", err
			}
			all += word
			got <- word
		}
		return all, nil
	})
	if err := e.Signal(t.Context(), "nobody", "word", "x"); !errors.Is(err, pawl.ErrNoRun) {
		t.Errorf("to nobody: %v", err)
	}
	send := func(how func() error) {
		t.Helper()
		if err := how(); err != nil {
			t.Error(err)
		}
	}
	f := listen.Start(t.Context(), "a", 4)
	for range 2 {
		send(func() error { return e.Signal(t.Context(), "a", "word", "b", "the key") })
	}
	send(func() error { return durable.Signal(t.Context(), dir, "a", "word", "c") })
	if first, second := <-got, <-got; first+second != "bc" {
		t.Errorf("got %q, then %q", first, second)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Wait(t.Context()); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	send(func() error { return durable.Signal(t.Context(), dir, "a", "word", strings.Repeat("d", 100_000)) })
	send(func() error { return durable.Signal(t.Context(), dir, "a", "word", "e") })
	e = open(t, dir)
	var wrong error
	listen = durable.Register(e, "listen", func(ctx context.Context, n int) (all string, err error) {
		for range n {
			word, err := durable.Await[string](ctx, "word", 0)
			all += word
			wrong = errors.Join(wrong, err)
		}
		return all, nil
	})
	if all, err := listen.Run(t.Context(), "a", 0); all != "bc"+strings.Repeat("d", 100_000)+"e" || err != nil || wrong != nil {
		t.Errorf("%d bytes %v %v", len(all), err, wrong)
	}
	if err := e.Signal(t.Context(), "a", "word", "f"); !errors.Is(err, durable.ErrEnded) {
		t.Errorf("to a completed run: %v", err)
	}
	fsck(t, dir)
}

// A timeout stays one, and the signal that came too late is for the next call.
func TestSignalTooLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := errBroken
	fn := func(ctx context.Context) error {
		if _, err := durable.Await[int](ctx, "n", time.Nanosecond); !errors.Is(err, durable.ErrTimeout) {
			t.Errorf("the first: %v", err)
		}
		if broken != nil {
			return broken
		}
		n, err := durable.Await[int](ctx, "n", time.Hour)
		if n != 7 {
			t.Errorf("the second: %d", n)
		}
		return err
	}
	if err := durable.Run(t.Context(), dir, "test", fn); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if err := durable.Signal(t.Context(), dir, "test", "n", 7); err != nil {
		t.Fatal(err)
	}
	broken = nil
	if err := durable.Run(t.Context(), dir, "test", fn); err != nil {
		t.Error(err)
	}
	fsck(t, dir)
}

// A step that sends a signal and fails sends the same one again.
func TestSignalsOfARepeatedStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	add := durable.Register(e, "add", func(ctx context.Context, _ int) (sum int, err error) {
		for range 3 {
			n, err := durable.Await[int](ctx, "n", 0)
			if err != nil {
				return 0, err
			}
			sum = 10*sum + n
		}
		return sum, nil
	})
	tries := 0
	send := durable.Register(e, "send", func(ctx context.Context, _ int) (int, error) {
		return durable.Step(ctx, "send", func(ctx context.Context) (int, error) {
			for n := 1; n <= 3; n++ {
				if err := e.Signal(ctx, "to", "n", n); err != nil {
					return 0, err
				}
				if tries++; tries == 2 {
					return 0, errBroken
				}
			}
			return 0, nil
		}, durable.Retry{Pause: time.Millisecond})
	})
	sum := add.Start(t.Context(), "to", 0)
	if _, err := send.Run(t.Context(), "from", 0); err != nil {
		t.Fatal(err)
	}
	if got, err := sum.Wait(t.Context()); got != 123 || err != nil {
		t.Errorf("%d %v", got, err)
	}
	fsck(t, dir)
}

func TestChildRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	var calls atomic.Int64
	broken := true
	square := durable.Register(e, "square", func(ctx context.Context, n int) (int, error) {
		if n == 3 && broken {
			return 0, errBroken
		}
		return durable.Step(ctx, "multiply", func(context.Context) (int, error) { calls.Add(1); return n * n, nil })
	})
	sum := durable.Register(e, "sum", func(ctx context.Context, n int) (sum int, err error) {
		var all []*durable.Future[int]
		for i := range n {
			all = append(all, square.Start(ctx, fmt.Sprint("square ", i), i))
		}
		for _, f := range all {
			n, failed := f.Wait(ctx)
			sum, err = sum+n, errors.Join(err, failed)
		}
		return sum, err
	})
	if _, err := sum.Run(t.Context(), "a", 5); !errors.Is(err, errBroken) {
		t.Errorf("with a failed child: %v", err)
	}
	broken = false
	if got, err := sum.Run(t.Context(), "a", 5); got != 30 || err != nil || calls.Load() != 5 {
		t.Errorf("%d %v, %d calls", got, err, calls.Load())
	}
	if n := len(fsck(t, dir)); n != 6 {
		t.Errorf("%d runs, want 6", n)
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	begun, let := make(chan struct{}, 10), make(chan struct{})
	work := func(ctx context.Context, n int) (int, error) {
		return durable.Step(ctx, "step", func(ctx context.Context) (int, error) {
			begun <- struct{}{}
			select {
			case <-let:
				return n, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
	}
	w := durable.Register(e, "w", work)
	parent := durable.Register(e, "parent", func(ctx context.Context, n int) (int, error) { return w.Run(ctx, "child", n) })
	gone := durable.Register(e, "gone", work)
	fail := durable.Register(e, "fail", func(context.Context, int) (int, error) { return 0, errBroken })
	w.Start(t.Context(), "a", 1)
	parent.Start(t.Context(), "b", 2)
	gone.Start(t.Context(), "c", 3)
	for range 3 {
		<-begun
	}
	if _, err := fail.Run(t.Context(), "d", 4); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(t.Context(), "late", 1); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}

	e = open(t, dir)
	close(let)
	w = durable.Register(e, "w", work)
	parent = durable.Register(e, "parent", func(ctx context.Context, n int) (int, error) { return w.Run(ctx, "child", n) })
	found, err := e.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range found {
		names = append(names, fmt.Sprint(r.Name, " ", r.Workflow, " ", r.Err))
	}
	slices.Sort(names)
	want := []string{"a w <nil>", "b parent <nil>", `c gone workflow "gone" is not registered`}
	if !slices.Equal(names, want) {
		t.Errorf("recovered %q, want %q", names, want)
	}
	if got, err := parent.Run(t.Context(), "b", 0); got != 2 || err != nil {
		t.Errorf("%d %v", got, err)
	}
	e.Wait()
	if found, err = e.Recover(t.Context()); len(found) != 1 || err != nil {
		t.Errorf("afterwards: %+v %v", found, err)
	}
	if s := stateOfRun(t, dir, "d"); s.Status != pawl.StatusFailed || s.Why != "broken" {
		t.Errorf("the failed run is %s: %s", s.Status, s.Why)
	}
}

// A panic in the background fails the run, and not the program.
func TestPanicsInTheBackground(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	oh := func(context.Context) (int, error) { panic("oh") }
	w := durable.Register(e, "w", func(ctx context.Context, where string) (int, error) {
		if where == "step" {
			return durable.Go(ctx, "step", oh).Wait(ctx)
		}
		return oh(ctx)
	})
	for _, where := range []string{"step", "run"} {
		if _, err := w.Start(t.Context(), where, where).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: oh") {
			t.Errorf("%s: %v", where, err)
		}
		if s := stateOfRun(t, dir, where); s.Status != pawl.StatusFailed {
			t.Errorf("%s: the run is %s", where, s.Status)
		}
	}
}

// A function that was changed while its run was interrupted gets an error with both names.
func TestNondeterministic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := 0
	steps := func(names ...string) error {
		return durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
			for _, name := range names {
				if _, err := durable.Step(ctx, name, give(1, &calls)); err != nil {
					return err
				}
			}
			if len(names) < 3 {
				return nil
			}
			return errBroken
		})
	}
	if err := steps("one", "two", "three"); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	err := steps("one", "other", "three")
	if !errors.Is(err, durable.ErrNondeterministic) || !strings.Contains(err.Error(), `step "other": the journal has step "two" here`) {
		t.Errorf("a renamed step: %v", err)
	}
	err = steps("one", "two")
	if !errors.Is(err, durable.ErrNondeterministic) || !strings.Contains(err.Error(), `returned without step "three"`) {
		t.Errorf("a step less: %v", err)
	}
	if err := steps("one", "two", "three", "new"); !errors.Is(err, errBroken) || calls != 4 {
		t.Errorf("a step more at the end: %v, %d calls", err, calls)
	}
}

// An error after which the function went on is the same after an interruption.
func TestErrorThatTheFunctionSurvived(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tries, calls := 0, 0
	once := func(context.Context) (int, error) {
		if tries++; tries > 2 {
			return 1, nil
		}
		return 0, errBroken
	}
	for range 3 {
		err := durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
			if _, err := durable.Step(ctx, "first", once); err == nil || err.Error() != "broken" {
				t.Errorf("the first step: %v", err)
			}
			if _, err := durable.Go(ctx, "second", once).Wait(ctx); err == nil || err.Error() != "broken" {
				t.Errorf("the second step: %v", err)
			}
			if _, err := durable.Step(ctx, "instead", give(1, &calls)); err != nil {
				return err
			}
			return errBroken
		})
		if !errors.Is(err, errBroken) {
			t.Error(err)
		}
	}
	if tries != 2 || calls != 1 {
		t.Errorf("%d tries, %d calls", tries, calls)
	}
	if s := fsck(t, dir)[0]; !s.Steps["first"].Tolerated() || !s.Steps["second"].Tolerated() {
		t.Errorf("the failed steps are %s and %s", s.Steps["first"].StatusText(), s.Steps["second"].StatusText())
	}
}

func TestStepsAtTheSameTimeNeedGo(t *testing.T) {
	t.Parallel()
	must(t, t.TempDir(), func(ctx context.Context) error {
		calls := 0
		_, err := durable.Step(ctx, "outer", func(context.Context) (int, error) {
			_, err := durable.Step(ctx, "other", give(1, &calls)) // with the context of the run
			return 0, err
		})
		if err == nil || !strings.Contains(err.Error(), "with Go") {
			t.Errorf("%v", err)
		}
		if _, err := durable.Step(ctx, ".input", give(1, &calls)); err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("%v", err)
		}
		return nil
	})
}

func TestAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	fn := func(ctx context.Context, _ int) (string, error) {
		where, err := durable.Ask(ctx, "where", durable.Question{Text: "Deploy where?", Options: []string{"staging", "production"}})
		if err != nil {
			return "", err
		}
		late, err := durable.Ask(ctx, "late", durable.Question{Text: "Quick?", Options: []string{"yes", "no"}, Default: "no", Limit: 1})
		if err != nil {
			return "", err
		}
		if _, err := durable.Ask(ctx, "never", durable.Question{Text: "Quick?", Limit: 1}); !errors.Is(err, durable.ErrTimeout) {
			t.Errorf("without a default: %v", err)
		}
		_, err = durable.Ask(ctx, "really", durable.Question{Text: "Really?"})
		if errors.Is(err, durable.ErrClosed) {
			return "", err
		}
		if !errors.Is(err, durable.ErrRejected) || !strings.Contains(err.Error(), "not today") {
			t.Errorf("rejected: %v", err)
		}
		return where + " " + late, nil
	}
	w := durable.Register(e, "w", fn)
	f := w.Start(t.Context(), "a", 0)
	p, err := project.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	answer(t, p, "where", func(id pawl.GateID) runs.Act { return runs.Choose(id, "staging", "") })
	waitForGate(t, p, "really")
	if err := e.Close(); err != nil { // the question outlives the program
		t.Fatal(err)
	}
	if _, err := f.Wait(t.Context()); !errors.Is(err, durable.ErrClosed) {
		t.Error(err)
	}
	answer(t, p, "really", func(id pawl.GateID) runs.Act { return runs.Reject(id, "not today", false) })
	e = open(t, dir)
	w = durable.Register(e, "w", fn)
	if got, err := w.Run(t.Context(), "a", 0); got != "staging no" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	fsck(t, dir)
}

// waitForGate returns the open gate of a step in the only run.
func waitForGate(t *testing.T, p *project.Project, step pawl.StepID) (pawl.RunID, pawl.GateID) {
	t.Helper()
	for t.Context().Err() == nil {
		ids, err := journal.Runs(p.Runs())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			for _, g := range stateOf(t, p.Root, id).OpenGates() {
				if g.Step == step {
					return id, g.ID
				}
			}
		}
	}
	t.Fatal("no gate")
	return "", ""
}

// answer answers a gate as a person does, with another process' means.
func answer(t *testing.T, p *project.Project, step pawl.StepID, act func(pawl.GateID) runs.Act) {
	t.Helper()
	run, gate := waitForGate(t, p, step)
	r, err := runs.Perform(t.Context(), p, run, pawl.Author{Kind: pawl.ByPerson, Name: "test"}, act(gate))
	if err != nil {
		t.Fatal(err)
	}
	r.Log.Close()
}

// An answer that no pawl of this user has written does not count.
func TestForgedAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	w := durable.Register(e, "w", func(ctx context.Context, _ int) (string, error) {
		return durable.Ask(ctx, "really", durable.Question{Text: "Really?"})
	})
	f := w.Start(t.Context(), "a", 0)
	p, err := project.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	run, gate := waitForGate(t, p, "really")
	event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.GateAnswered{Gate: gate, Step: "really", Answer: pawl.Approved})
	if err == nil {
		err = journal.Add(t.Context(), p.Runs(), run, event)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Wait(t.Context()); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("%q %v", got, err)
	}
}

func TestSecondEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	if _, err := durable.Open(dir); pawl.KindOf(err) != pawl.KindHeld || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("a second engine: %v", err)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".pawl", "runs", journal.CommitsName)); err == nil {
		t.Error("the commit log is still there")
	}
	open(t, dir)
}
