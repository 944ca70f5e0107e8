//go:build linux

package courier_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/dispatch/worker"
	"pawl/internal/remote"
)

// counted notes that it runs, and waits for the signal to continue.
const counted = `echo once >> "$HERE/count"; touch "$HERE/begun"; until test -e "$HERE/go"; do sleep 0.02; done; date +%N > when.txt`

// given is what a worker gets of a carrier.
type given struct {
	task  dispatch.Task
	alive dispatch.Alive
}

// replayed performs a task by the first function, as a carrier's worker, and gives it to the test as well.
func (a *attempt) replayed(perform func(given) (dispatch.Report, error)) (task given, here string, over chan error) {
	a.Helper()
	tasks := make(chan given, 1)
	a.serveWith("w1", func(task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		tasks <- given{task, alive}
		return perform(given{task, alive})
	})
	here, over = a.here(), make(chan error, 1)
	go func() { over <- a.courier().Run(a.Context()) }()
	return <-tasks, here, over
}

// ranOnce checks that the script ran once, and that its result counts.
func (a *attempt) ranOnce(here string, over chan error) {
	a.Helper()
	a.check(<-over)
	count, err := os.ReadFile(filepath.Join(here, "count"))
	if exit := a.delivered(); err != nil || string(count) != "once\n" || exit.Exit == nil || *exit.Exit != 0 || strings.HasPrefix(a.read("when.txt"), "<") {
		a.Errorf("ran %q, %v; exit %+v", count, err, exit)
	}
}

// TestGivenToAnother: a worker that gets a task that another one performs does nothing and reports nothing; one that gets it later reports
// the result that is there.
func TestGivenToAnother(t *testing.T) {
	s := newSite(t)
	first, second := s.worker("w1"), s.worker("w2")
	a := s.attempt(1, counted)
	reports := make(chan dispatch.Report, 1)
	task, here, over := a.replayed(func(g given) (dispatch.Report, error) {
		report, err := first.Perform(t.Context(), g.task, g.alive)
		reports <- report
		return report, err
	})
	a.eventually("it runs", a.exists(here, "begun"))
	if report, err := second.Perform(t.Context(), task.task, task.alive); !errors.Is(err, dispatch.ErrLost) {
		t.Errorf("while the first performs it: %+v, %v", report, err)
	}
	s.check(os.WriteFile(filepath.Join(here, "go"), nil, 0o600))
	a.ranOnce(here, over)
	alive := func(context.Context) error { return nil } // of a carrier that was restored from a backup
	report, err := second.Perform(t.Context(), task.task, alive)
	if want := <-reports; err != nil || report.Outcome != dispatch.Finished || report.Result != want.Result {
		t.Errorf("afterwards: %+v, %v; the first: %+v", report, err, want)
	}
}

// TestGivenAgain: a worker that gets a task again joins it; also when it has forgotten it.
func TestGivenAgain(t *testing.T) {
	s := newSite(t)
	w := s.worker("w1")
	a := s.attempt(1, counted)
	perform := func(g given) (dispatch.Report, error) { return w.Perform(t.Context(), g.task, g.alive) }
	task, here, over := a.replayed(perform)
	a.eventually("it runs", a.exists(here, "begun"))
	reports := make(chan dispatch.Report, 1)
	go func() {
		report, err := perform(task)
		reports <- report
		if err != nil {
			t.Error(err)
		}
	}()
	other := task.task
	other.Order = order.SumOf(nil)
	if report, err := w.Perform(t.Context(), other, task.alive); err != nil || report.Outcome != dispatch.Refused {
		t.Errorf("another order for the token: %+v, %v", report, err)
	}
	s.check(os.WriteFile(filepath.Join(here, "go"), nil, 0o600))
	a.ranOnce(here, over)
	joined := <-reports
	s.check(w.Forget(a.job.Token))
	task.alive = func(context.Context) error { return nil }
	report, err := perform(task)
	if err != nil || report.Outcome != dispatch.Finished || report.Result != joined.Result {
		t.Errorf("%+v, %v; at first: %+v", report, err, joined)
	}
}

// claiming is a remote whose worker dies when a claim is there.
type claiming struct {
	remote.Store
	die func()
}

func (c claiming) Create(ctx context.Context, key string, content []byte) (bool, error) {
	created, err := c.Store.Create(ctx, key, content)
	if strings.HasSuffix(key, ".worker.json") {
		c.die()
		return false, context.Canceled
	}
	return created, err
}

// TestDiesWithClaim: a worker that died when it had claimed a task starts the script when it is back. Another one does not.
func TestDiesWithClaim(t *testing.T) {
	s := newSite(t)
	w, other := s.worker("w1"), s.worker("w2")
	ctx, die := cancelable(t)
	w.Remotes = []worker.Remote{{ID: s.id, Store: claiming{s.store, die}}}
	a := s.attempt(1, counted)
	died := make(chan error, 1)
	task, here, over := a.replayed(func(g given) (dispatch.Report, error) {
		_, err := w.Perform(ctx, g.task, g.alive)
		died <- err
		report, err := other.Perform(t.Context(), g.task, g.alive)
		if !errors.Is(err, dispatch.ErrLost) {
			t.Errorf("another worker: %+v, %v", report, err)
		}
		next := s.nextProcess(w)
		next.Remotes = other.Remotes
		return next.Perform(t.Context(), g.task, g.alive)
	})
	if err := <-died; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := s.store.Get(t.Context(), order.ClaimKey(run, task.task.Token), 1<<10); err != nil {
		t.Errorf("the claim: %v", err)
	}
	s.check(os.WriteFile(filepath.Join(here, "go"), nil, 0o600))
	a.ranOnce(here, over)
}
