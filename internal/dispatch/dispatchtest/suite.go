package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/dispatch"
)

// Queue is a carrier with the part of its workers.
type Queue interface {
	dispatch.Carrier
	// Serve performs tasks of a queue until ctx ends, and then waits for those that it performs.
	Serve(ctx context.Context, queue, worker string, parallel int, perform dispatch.Perform) error
}

// Bench is what the suite tests. Its methods may be called concurrently.
type Bench struct {
	Queue  Queue
	Lease  time.Duration // of a worker that says nothing
	Fences bool          // Submit tells of newer engines
}

// patience is how long the suite waits for what must come.
const patience = time.Minute

var numbers struct {
	sync.Mutex
	n int
}

// NewTask returns a task that no other test has.
func NewTask(queue string) dispatch.Task {
	numbers.Lock()
	defer numbers.Unlock()
	numbers.n++
	return dispatch.Task{
		Queue: queue, Project: "p", Run: pawl.RunID(fmt.Sprintf("demo-20260101-000000-%04x", numbers.n)), Step: "s", Attempt: 1, Token: pawl.Token(fmt.Sprintf("%016x", time.Now().UnixNano())),
		Epoch: 1, Remote: strings.Repeat("0a", 16), Order: strings.Repeat("0b", 32),
	}
}

// suite runs one test.
type suite struct {
	*testing.T
	Bench
	queue string
}

// Suite tests a carrier.
func Suite(t *testing.T, open func(t *testing.T) Bench) {
	for name, test := range map[string]func(suite){
		"join": join, "absent": absent, "cancel waiting": cancelWaiting, "cancel running": cancelRunning, "queues": queues, "refuse": refuse,
		"each once": eachOnce, "silent worker": silentWorker, "fence": fence, "drain": drain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(suite{t, open(t), "q" + fmt.Sprint(time.Now().UnixNano())})
		})
	}
}

func (s suite) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// serve starts a worker; it ends with the test.
func (s suite) serve(name string, parallel int, perform dispatch.Perform) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	over := make(chan error, 1)
	go func() { over <- s.Queue.Serve(ctx, s.queue, name, parallel, perform) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			s.Errorf("serve: %v", err)
		}
	})
	s.Cleanup(stop)
	return stop
}

// until waits until a task is in a state.
func (s suite) until(id string, state dispatch.State) dispatch.Status {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	seen, err := s.Queue.Status(ctx, id)
	for err == nil && seen.State != state {
		seen, err = s.Queue.Await(ctx, id, seen)
	}
	if err != nil {
		s.Fatalf("task %s never was %s: %+v, %v", id, state, seen, err)
	}
	return seen
}

func finished(sum string) dispatch.Report {
	return dispatch.Report{Outcome: dispatch.Finished, Result: strings.Repeat(sum, 32), Worker: "w"}
}

func join(s suite) {
	task := NewTask(s.queue)
	performed, release := make(chan dispatch.Task, 9), make(chan struct{})
	s.check(s.Queue.Submit(s.Context(), task))
	if got, err := s.Queue.Status(s.Context(), task.ID()); err != nil || got.State != dispatch.Waiting {
		s.Errorf("submitted: %+v, %v", got, err)
	}
	s.check(s.Queue.Submit(s.Context(), task))
	s.serve("w", 3, func(_ context.Context, t dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		performed <- t
		<-release
		return finished("0c"), alive(context.Background())
	})
	if got := s.until(task.ID(), dispatch.Running); got.Worker != "w" {
		s.Errorf("running: %+v", got)
	}
	s.check(s.Queue.Submit(s.Context(), task))
	close(release)
	got := s.until(task.ID(), dispatch.Ended)
	if got.Report == nil || *got.Report != finished("0c") {
		s.Errorf("ended: %+v", got.Report)
	}
	s.check(s.Queue.Submit(s.Context(), task))
	s.check(s.Queue.Cancel(s.Context(), task.ID(), "late"))
	if again := s.until(task.ID(), dispatch.Ended); again.Report == nil || *again.Report != finished("0c") {
		s.Errorf("after its end: %+v", again)
	}
	other := NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), other))
	s.until(other.ID(), dispatch.Ended)
	if first := <-performed; first.ID() != task.ID() || first.Order != task.Order || first.Epoch != task.Epoch {
		s.Errorf("performed %+v", first)
	}
	if second := <-performed; second.ID() != other.ID() || len(performed) > 0 {
		s.Errorf("performed again: %s", second.ID())
	}
}

func absent(s suite) {
	task := NewTask(s.queue)
	if got, err := s.Queue.Status(s.Context(), task.ID()); err != nil || got.State != dispatch.Absent {
		s.Errorf("%+v, %v", got, err)
	}
	s.check(s.Queue.Cancel(s.Context(), task.ID(), "x"))
	if got, err := s.Queue.Status(s.Context(), task.ID()); err != nil || got.State != dispatch.Absent {
		s.Errorf("canceled: %+v, %v", got, err)
	}
}

func cancelWaiting(s suite) {
	task := NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), task))
	s.check(s.Queue.Cancel(s.Context(), task.ID(), "enough"))
	if got := s.until(task.ID(), dispatch.Ended); got.Report == nil || got.Report.Outcome != dispatch.Canceled {
		s.Errorf("%+v", got)
	}
	s.check(s.Queue.Submit(s.Context(), task))
	other := NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), other))
	s.serve("w", 1, func(_ context.Context, t dispatch.Task, _ dispatch.Alive) (dispatch.Report, error) {
		if t.ID() == task.ID() {
			s.Error("a canceled task was performed")
		}
		return finished("0c"), nil
	})
	s.until(other.ID(), dispatch.Ended)
}

func cancelRunning(s suite) {
	task := NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), task))
	s.serve("w", 1, func(ctx context.Context, _ dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		for {
			err := alive(ctx)
			if errors.Is(err, dispatch.ErrCanceled) {
				return finished("0d"), nil
			}
			if err != nil {
				return dispatch.Report{}, err
			}
		}
	})
	s.until(task.ID(), dispatch.Running)
	s.check(s.Queue.Cancel(s.Context(), task.ID(), "enough"))
	if got := s.until(task.ID(), dispatch.Ended); got.Report == nil || *got.Report != finished("0d") {
		s.Errorf("%+v", got)
	}
}

func queues(s suite) {
	other := NewTask(s.queue + "-other")
	task := NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), other))
	s.check(s.Queue.Submit(s.Context(), task))
	s.serve("w", 2, func(context.Context, dispatch.Task, dispatch.Alive) (dispatch.Report, error) {
		return finished("0c"), nil
	})
	s.until(task.ID(), dispatch.Ended)
	if got, err := s.Queue.Status(s.Context(), other.ID()); err != nil || got.State != dispatch.Waiting {
		s.Errorf("the task of another queue: %+v, %v", got, err)
	}
}

func refuse(s suite) {
	task := NewTask(s.queue)
	want := dispatch.Report{Outcome: dispatch.Refused, Worker: "w", Why: "no variable X"}
	s.check(s.Queue.Submit(s.Context(), task))
	s.serve("w", 1, func(context.Context, dispatch.Task, dispatch.Alive) (dispatch.Report, error) { return want, nil })
	if got := s.until(task.ID(), dispatch.Ended); got.Report == nil || *got.Report != want {
		s.Errorf("%+v", got)
	}
}

func eachOnce(s suite) {
	const all = 40
	var mu sync.Mutex
	count := map[string]int{}
	for _, name := range []string{"a", "b", "c"} {
		s.serve(name, 4, func(ctx context.Context, t dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
			mu.Lock()
			defer mu.Unlock()
			count[t.ID()]++
			return finished("0c"), alive(ctx)
		})
	}
	var tasks []dispatch.Task
	for range all {
		tasks = append(tasks, NewTask(s.queue))
	}
	var submitted sync.WaitGroup
	for range 2 { // two couriers for each task
		submitted.Go(func() {
			for _, task := range tasks {
				if err := s.Queue.Submit(s.Context(), task); err != nil {
					s.Error(err)
				}
			}
		})
	}
	submitted.Wait()
	for _, task := range tasks {
		s.until(task.ID(), dispatch.Ended)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, task := range tasks {
		if count[task.ID()] != 1 {
			s.Errorf("task %s was performed %d times", task.ID(), count[task.ID()])
		}
	}
}

// silentWorker: the task of a worker that says nothing is lost, no other worker gets it, and what the worker reports later does not count.
func silentWorker(s suite) {
	task := NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), task))
	began, speak, spoke := make(chan struct{}, 9), make(chan struct{}), make(chan error, 1)
	s.serve("silent", 1, func(ctx context.Context, _ dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		began <- struct{}{}
		<-speak
		spoke <- alive(ctx)
		return finished("0e"), nil
	})
	<-began
	s.serve("other", 1, func(context.Context, dispatch.Task, dispatch.Alive) (dispatch.Report, error) {
		began <- struct{}{}
		return finished("0f"), nil
	})
	got := s.until(task.ID(), dispatch.Ended)
	if got.Report == nil || got.Report.Outcome != dispatch.Lost || got.Report.Worker != "silent" {
		s.Errorf("%+v", got.Report)
	}
	close(speak)
	if err := <-spoke; !errors.Is(err, dispatch.ErrLost) {
		s.Errorf("the silent worker was told: %v", err)
	}
	last := NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), last))
	s.until(last.ID(), dispatch.Ended)
	if again := s.until(task.ID(), dispatch.Ended); again.Report == nil || again.Report.Outcome != dispatch.Lost {
		s.Errorf("later: %+v", again.Report)
	}
}

func fence(s suite) {
	if !s.Fences {
		return
	}
	old, now := NewTask(s.queue), NewTask(s.queue)
	now.Run, now.Epoch, now.Step = old.Run, 2, "t"
	s.check(s.Queue.Submit(s.Context(), now))
	if err := s.Queue.Submit(s.Context(), old); !errors.Is(err, dispatch.ErrFenced) {
		s.Errorf("an older engine submitted: %v", err)
	}
	if got, err := s.Queue.Status(s.Context(), old.ID()); err != nil || got.State != dispatch.Absent {
		s.Errorf("%+v, %v", got, err)
	}
	again := now
	again.Epoch = 1
	s.check(s.Queue.Submit(s.Context(), again)) // it is there
}

// drain: a worker that is asked to end finishes what it performs, and takes nothing new.
func drain(s suite) {
	first, second := NewTask(s.queue), NewTask(s.queue)
	s.check(s.Queue.Submit(s.Context(), first))
	began, release := make(chan struct{}, 9), make(chan struct{})
	stop := s.serve("w", 1, func(ctx context.Context, _ dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
		began <- struct{}{}
		<-release
		return finished("0c"), alive(ctx)
	})
	<-began
	time.AfterFunc(100*time.Millisecond, func() { close(release) }) // by then it has been asked to end
	stop()
	s.check(s.Queue.Submit(s.Context(), second))
	if got, err := s.Queue.Status(s.Context(), first.ID()); err != nil || got.Report == nil || got.Report.Outcome != dispatch.Finished {
		s.Errorf("%+v, %v", got, err)
	}
	if got, err := s.Queue.Status(s.Context(), second.ID()); err != nil || got.State != dispatch.Waiting {
		s.Errorf("the second: %+v, %v", got, err)
	}
}
