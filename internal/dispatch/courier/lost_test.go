//go:build linux

package courier_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/worker"
	"pawl/internal/supervise"
)

// endless writes a file when it begins, and one when it is asked to end.
const endless = `trap 'touch "$HERE/asked"; exit 1' INT TERM; touch "$HERE/begun"; while :; do sleep 0.02; done`

func (a *attempt) here() string {
	dir := a.TempDir()
	a.job.Env = append(a.job.Env, "HERE="+dir)
	return dir
}

func (a *attempt) exists(dir, name string) func() bool {
	return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
}

// attemptOn returns the folder of the attempt on a worker.
func (a *attempt) attemptOn(w *worker.Worker) string {
	return filepath.Join(w.Folder, "tasks", string(a.job.Token), "work", ".pawl", "runs", string(run), "steps", "train", "1")
}

// TestSupervisorOnWorkerDies: what the step did is unknown, and nothing of it comes back.
func TestSupervisorOnWorkerDies(t *testing.T) {
	s := newSite(t)
	w := s.worker("w1")
	s.serve(w)
	a := s.attempt(1, "echo half > half.txt; "+endless)
	here := a.here()
	over := make(chan error, 1)
	go func() { over <- a.courier().Run(t.Context()) }()
	a.eventually("it runs", a.exists(here, "begun"))
	status, err := supervise.Probe(a.attemptOn(w))
	s.check(err)
	s.check(syscall.Kill(status.Begun.Supervisor.PID, syscall.SIGKILL))
	s.check(<-over)
	if exit := a.delivered(); exit.Reason != pawl.ReasonLost || exit.Exit != nil || !strings.Contains(exit.Why, "its supervisor on worker w1 died") {
		t.Errorf("exit %+v", exit)
	}
	if !strings.HasPrefix(s.read("half.txt"), "<") {
		t.Errorf("half of it came back: %q", s.read("half.txt"))
	}
}

// TestPartition: a worker that cannot reach the queue ends its step before the lease ends, and its task is lost.
func TestPartition(t *testing.T) {
	s := newSite(t)
	s.queue.Lease = 20 * time.Second
	w := s.worker("w1")
	w.GiveUp = 2 * time.Second // longer than it takes to start the script
	held, err := os.Open(w.Lock)
	s.check(err)
	defer held.Close()
	s.check(syscall.Flock(int(held.Fd()), syscall.LOCK_EX)) // the supervisor sees that the worker is there
	reachable := make(chan struct{})
	perform := func(task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		return w.Perform(t.Context(), task, func(ctx context.Context) error {
			select {
			case <-reachable:
				return alive(ctx)
			default:
				return dispatch.ErrUnreachable
			}
		})
	}
	s.serveWith("w1", perform)
	a := s.attempt(1, endless)
	here := a.here()
	over := make(chan error, 1)
	go func() { over <- a.courier().Run(t.Context()) }()
	a.eventually("it is asked to end", a.exists(here, "asked"))
	s.check(<-over)
	close(reachable)
	if exit := a.delivered(); exit.Reason != pawl.ReasonLost || !strings.Contains(exit.Why, "could not reach the queue") {
		t.Errorf("exit %+v", exit)
	}
}

// TestLostTask: a worker whose task is not its own any more ends the step, reports nothing and keeps nothing.
func TestLostTask(t *testing.T) {
	s := newSite(t)
	w := s.worker("w1")
	lost := make(chan struct{})
	result := make(chan error, 1)
	s.serveWith("w1", func(task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		report, err := w.Perform(t.Context(), task, func(ctx context.Context) error {
			select {
			case <-lost:
				return dispatch.ErrLost
			default:
				return alive(ctx)
			}
		})
		result <- err
		return report, err
	})
	a := s.attempt(1, endless)
	here := a.here()
	over := make(chan error, 1)
	go func() { over <- a.courier().Run(t.Context()) }()
	a.eventually("it runs", a.exists(here, "begun"))
	close(lost)
	if err := <-result; !errors.Is(err, dispatch.ErrLost) || !a.exists(here, "asked")() {
		t.Errorf("%v, asked to end: %v", err, a.exists(here, "asked")())
	}
	s.check(<-over) // when the lease ends
	if exit := a.delivered(); exit.Reason != pawl.ReasonLost || !strings.Contains(exit.Why, "no longer answers") {
		t.Errorf("exit %+v", exit)
	}
	s.check(w.Forget(a.job.Token))
	if left, err := w.Left(); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestWorkerStartedAgain: the next process of a worker joins the step that the last one left, and its result counts.
func TestWorkerStartedAgain(t *testing.T) {
	s := newSite(t)
	s.queue.Lease = 20 * time.Second
	w := s.worker("w1")
	dying, die := cancelable(t)
	s.serveWith("w1", func(task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		return w.Perform(dying, task, alive)
	})
	a := s.attempt(1, `echo once >> "$HERE/count"; touch "$HERE/begun"; until test -e "$HERE/go"; do sleep 0.02; done; echo x > made.txt`)
	here := a.here()
	over := make(chan error, 1)
	go func() { over <- a.courier().Run(t.Context()) }()
	a.eventually("it runs", a.exists(here, "begun"))
	die()
	again := s.nextProcess(w)
	var left []dispatch.Task
	a.eventually("it is left", func() bool {
		var err error
		left, err = again.Left()
		return err == nil && len(left) == 1
	})
	s.check(os.WriteFile(filepath.Join(here, "go"), nil, 0o600))
	s.check(s.queue.Resume(t.Context(), left[0], again.Perform))
	s.check(<-over)
	count, err := os.ReadFile(filepath.Join(here, "count"))
	if exit := a.delivered(); err != nil || string(count) != "once\n" || exit.Exit == nil || *exit.Exit != 0 || s.read("made.txt") != "x\n" {
		t.Errorf("ran %q, exit %+v", count, exit)
	}
}
