package carrier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/dispatchtest"
	"pawl/temporal/internal/carrier"
	"pawl/temporal/internal/servertest"
	"pawl/temporal/internal/taker"
)

// Times of these tests. The server looks for missing heartbeats about once a second.
const (
	lease = 4 * time.Second
	beat  = 300 * time.Millisecond
)

// workerFolder is set in a process that is a worker: the folder of its files.
const workerFolder = "PAWL_TEST_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerFolder); dir != "" {
		if err := work(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// work is a worker whose steps are files: a step begins with a line in FOLDER/begun, runs until FOLDER/<step>.end exists or it is
// canceled, and has then a line in FOLDER/ended. That it runs on without its worker, as under a supervisor, needs nothing: joining it
// writes a line in FOLDER/joined.
func work(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	settings := config.Temporal{Address: os.Getenv("PAWL_TEST_ADDRESS")}
	c, err := carrier.Connect(settings, filepath.Base(dir))
	if err != nil {
		return err
	}
	defer c.Close()
	left, err := leftIn(dir)
	if err != nil {
		return err
	}
	t := &taker.Taker{
		Client: c, Settings: settings, Queue: "gpu", Parallel: 4, Left: left,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Perform: func(ctx context.Context, task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
			return perform(ctx, dir, task, alive)
		},
		Forget: func(task dispatch.Task) error { return os.Remove(filepath.Join(dir, string(task.Token)+".task")) },
	}
	return t.Run(ctx)
}

// leftIn returns the tasks that a killed worker has left.
func leftIn(dir string) (left []dispatch.Task, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.task"))
	for _, path := range paths {
		data, readErr := os.ReadFile(path)
		task, parseErr := dispatch.ParseTask(data)
		left, err = append(left, task), errors.Join(err, readErr, parseErr)
	}
	return left, err
}

func perform(ctx context.Context, dir string, task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
	report := dispatch.Report{Outcome: dispatch.Finished, Result: strings.Repeat("ab", 32)}
	data, err := task.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, string(task.Token)+".task"), data, 0o600)
	}
	if err != nil {
		return report, err
	}
	begun := "begun"
	if told, _ := os.ReadFile(filepath.Join(dir, "begun")); bytes.Contains(told, []byte(task.Token)) {
		begun = "joined"
	}
	if err := note(dir, begun, task); err != nil {
		return report, err
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(dir, string(task.Step)+".end")); err == nil || task.Step == "noop" {
			return report, note(dir, "ended", task)
		}
		select {
		case <-ctx.Done():
			return report, ctx.Err()
		case <-tick.C:
		}
		if err := alive(ctx); errors.Is(err, dispatch.ErrCanceled) {
			return report, note(dir, "canceled", task)
		} else if errors.Is(err, dispatch.ErrLost) {
			return report, errors.Join(err, note(dir, "lost", task))
		}
	}
}

func note(dir, name string, task dispatch.Task) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s\n", task.Token)
	return err
}

// worker is a worker process.
type worker struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

func startWorker(t *testing.T, s *servertest.Server) *worker {
	t.Helper()
	w := &worker{t: t, dir: t.TempDir()}
	t.Cleanup(w.kill)
	w.start(s)
	return w
}

func (w *worker) start(s *servertest.Server) {
	w.t.Helper()
	w.cmd = exec.Command(os.Args[0])
	w.cmd.Env = append(os.Environ(), workerFolder+"="+w.dir, "PAWL_TEST_ADDRESS="+s.Settings.Address)
	said, err := w.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { _, _ = io.Copy(os.Stderr, said) }()
}

func (w *worker) kill() {
	_ = w.cmd.Process.Signal(syscall.SIGKILL)
	_ = w.cmd.Wait()
}

// count returns how often a token is in one of the worker's files.
func (w *worker) count(name string, task dispatch.Task) int {
	data, _ := os.ReadFile(filepath.Join(w.dir, name))
	return strings.Count(string(data), string(task.Token)+"\n")
}

// end lets a step end.
func (w *worker) end(task dispatch.Task) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, string(task.Step)+".end"), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *worker) wait(name string, task dispatch.Task) {
	w.t.Helper()
	eventually(w.t, func() bool { return w.count(name, task) > 0 })
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatal("timeout")
		case <-tick.C:
		}
	}
}

var tokens = 0

func newTask(step pawl.StepID) dispatch.Task {
	tokens++
	return dispatch.Task{
		Queue: "gpu", Project: "p", Run: "demo-20260101-000000-abcd", Step: step, Attempt: 1, Token: pawl.Token(fmt.Sprintf("%016x", tokens)),
		Epoch: 1, Remote: strings.Repeat("0a", 16), Order: strings.Repeat("0b", 32),
	}
}

func submit(t *testing.T, c dispatch.Carrier, task dispatch.Task) {
	t.Helper()
	eventually(t, func() bool {
		err := c.Submit(t.Context(), task)
		if err != nil && !errors.Is(err, dispatch.ErrUnreachable) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// await waits for a state, and returns the status.
func await(t *testing.T, c dispatch.Carrier, task dispatch.Task, state dispatch.State) dispatch.Status {
	t.Helper()
	var s dispatch.Status
	for deadline := time.Now().Add(time.Minute); s.State != state; {
		if time.Now().After(deadline) {
			t.Fatalf("timeout: %+v", s)
		}
		next, err := c.Await(t.Context(), task.ID(), s)
		if err != nil && !errors.Is(err, dispatch.ErrUnreachable) {
			t.Fatal(err)
		}
		if err == nil {
			s = next
		}
	}
	return s
}

// awaitReport waits for the end of a task, with an outcome.
func awaitReport(t *testing.T, c dispatch.Carrier, task dispatch.Task, want dispatch.Outcome) dispatch.Report {
	t.Helper()
	s := await(t, c, task, dispatch.Ended)
	if s.Report == nil || s.Report.Outcome != want {
		t.Fatalf("%+v; want %s", s.Report, want)
	}
	return *s.Report
}

// TestCarrier runs everything that needs no restart of the server against one server.
func TestCarrier(t *testing.T) {
	s := servertest.Start(t)
	c := carrier.New(s.Client(), s.Settings, lease)

	t.Run("waits for a worker", func(t *testing.T) {
		task := newTask("wait")
		if got, err := c.Status(t.Context(), task.ID()); err != nil || got.State != dispatch.Absent {
			t.Fatalf("%+v, %v", got, err)
		}
		submit(t, c, task)
		submit(t, c, task)
		await(t, c, task, dispatch.Waiting)
		if err := c.Cancel(t.Context(), task.ID(), "stop"); err != nil {
			t.Fatal(err)
		}
		awaitReport(t, c, task, dispatch.Canceled)
		submit(t, c, task) // changes nothing
		awaitReport(t, c, task, dispatch.Canceled)
	})

	t.Run("no step", func(t *testing.T) {
		w := startWorker(t, s)
		task := newTask("noop")
		submit(t, c, task)
		if r := awaitReport(t, c, task, dispatch.Finished); r.Worker != filepath.Base(w.dir) || r.Result != strings.Repeat("ab", 32) {
			t.Errorf("%+v", r)
		}
		submit(t, c, task)
		other := carrier.New(s.Client(), s.Settings, lease) // another engine, which knows the ID alone
		awaitReport(t, other, task, dispatch.Finished)
		if n := w.count("begun", task); n != 1 {
			t.Errorf("performed %d times", n)
		}
	})

	t.Run("cancel", func(t *testing.T) {
		w := startWorker(t, s)
		task := newTask("cancel")
		submit(t, c, task)
		w.wait("begun", task)
		if err := errors.Join(c.Cancel(t.Context(), task.ID(), "stop"), c.Cancel(t.Context(), task.ID(), "stop")); err != nil {
			t.Fatal(err)
		}
		awaitReport(t, c, task, dispatch.Finished)
		if w.count("canceled", task) != 1 {
			t.Error("the step was not canceled")
		}
		if err := c.Cancel(t.Context(), task.ID(), "stop"); err != nil {
			t.Errorf("cancel of an ended task: %v", err)
		}
	})

	t.Run("a killed worker", func(t *testing.T) {
		w := startWorker(t, s)
		task := newTask("lost")
		submit(t, c, task)
		w.wait("begun", task)
		begun := time.Now()
		w.kill()
		other := startWorker(t, s)
		r := awaitReport(t, c, task, dispatch.Lost)
		if took := time.Since(begun); took < lease-2*beat || !strings.Contains(r.Why, "no heartbeat") {
			t.Errorf("lost after %s: %s", took, r.Why)
		}
		if other.count("begun", task) != 0 {
			t.Error("another worker got the task")
		}
		w.start(s) // joins the step, and learns that the task is lost
		w.wait("lost", task)
		eventually(t, func() bool {
			left, err := leftIn(w.dir)
			return err == nil && len(left) == 0
		})
	})

	t.Run("a restarted worker", func(t *testing.T) {
		w := startWorker(t, s)
		task := newTask("joined")
		submit(t, c, task)
		w.wait("begun", task)
		w.kill()
		w.start(s)
		w.wait("joined", task)
		w.end(task)
		awaitReport(t, c, task, dispatch.Finished)
		if w.count("begun", task) != 1 || w.count("ended", task) != 1 {
			t.Error("performed again")
		}
	})

	t.Run("forgotten", func(t *testing.T) {
		w := startWorker(t, s)
		task := newTask("noop")
		task.Time = time.Now().Add(-time.Hour)
		submit(t, c, task)
		if r := awaitReport(t, c, task, dispatch.Lost); !strings.Contains(r.Why, "does not know") {
			t.Errorf("%+v", r)
		}
		known := newTask("noop")
		submit(t, c, known)
		awaitReport(t, c, known, dispatch.Finished)
		known.Time = task.Time
		other := carrier.New(s.Client(), s.Settings, lease)
		submit(t, other, known)
		awaitReport(t, other, known, dispatch.Finished)
		if w.count("begun", task) != 0 || w.count("begun", known) != 1 {
			t.Error("performed again")
		}
	})

	t.Run("two workers", func(t *testing.T) {
		workers := []*worker{startWorker(t, s), startWorker(t, s)}
		var tasks []dispatch.Task
		for range 12 {
			task := newTask("noop")
			tasks = append(tasks, task)
			submit(t, c, task)
		}
		for _, task := range tasks {
			awaitReport(t, c, task, dispatch.Finished)
			if n := workers[0].count("begun", task) + workers[1].count("begun", task); n != 1 {
				t.Errorf("performed %d times", n)
			}
		}
	})

	t.Run("terminated", func(t *testing.T) {
		w := startWorker(t, s)
		task := newTask("terminated")
		submit(t, c, task)
		w.wait("begun", task)
		begun := time.Now()
		handle := s.Client().GetActivityHandle(client.GetActivityHandleOptions{ActivityID: task.ID()})
		if err := handle.Terminate(t.Context(), client.TerminateActivityOptions{Reason: "by hand"}); err != nil {
			t.Fatal(err)
		}
		r := awaitReport(t, c, task, dispatch.Lost)
		if took := time.Since(begun); took < lease || !strings.Contains(r.Why, "by hand") {
			t.Errorf("lost after %s: %s", took, r.Why)
		}
		if w.count("lost", task) != 1 {
			t.Error("the worker was not told")
		}
	})
}

// queue is a carrier with workers in this process, for the suite.
type queue struct {
	*carrier.Carrier
	settings config.Temporal
}

// Serve implements dispatchtest.Queue.
func (q queue) Serve(ctx context.Context, name, worker string, parallel int, perform dispatch.Perform) error {
	c, err := carrier.Connect(q.settings, worker)
	if err != nil {
		return err
	}
	defer c.Close()
	t := taker.Taker{
		Client: c, Settings: q.settings, Queue: name, Parallel: parallel, Perform: perform,
		Log: func(string, ...any) {}, Forget: func(dispatch.Task) error { return nil },
	}
	return t.Run(ctx)
}

// TestSuite: what every carrier must do.
func TestSuite(t *testing.T) {
	s := servertest.Start(t)
	dispatchtest.Suite(t, func(*testing.T) dispatchtest.Bench {
		return dispatchtest.Bench{Queue: queue{carrier.New(s.Client(), s.Settings, lease), s.Settings}, Lease: lease}
	})
}

// TestForged: what others put into the queue is refused, and what others report counts as lost.
func TestForged(t *testing.T) {
	s := servertest.Start(t)
	c := carrier.New(s.Client(), s.Settings, lease)
	start := func(id string, input any) client.ActivityHandle {
		t.Helper()
		h, err := s.Client().ExecuteActivity(t.Context(), client.StartActivityOptions{
			ID: id, TaskQueue: "gpu", StartToCloseTimeout: time.Minute, ActivityIDReusePolicy: enumspb.ACTIVITY_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, carrier.ActivityType, input)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	w := startWorker(t, s)
	task := newTask("noop")
	good, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := task
	elsewhere.Queue = "cpu"
	other, err := elsewhere.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, input := range map[string]any{
		"another": json.RawMessage(good), task.ID(): json.RawMessage(other), "text": "run this", "large": strings.Repeat("x", 100_000), "number": 7,
	} {
		var data json.RawMessage
		var report dispatch.Report
		if err := start(name, input).Get(t.Context(), &data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := json.Unmarshal(data, &report); err != nil || report.Outcome != dispatch.Refused {
			t.Errorf("%s: %s", name, data)
		}
	}
	if w.count("begun", task) != 0 {
		t.Error("performed a forged task")
	}

	for i, report := range []string{`"text"`, `{"outcome":"won"}`, `{"outcome":"finished","result":"../x"}`, `{"outcome":"lost","why":"\u001b[2J"}`} {
		task := newTask("noop")
		task.Queue = fmt.Sprint("forged", i) // the server may still give a task to a worker of the queue that has just ended
		submit(t, c, task)
		answer(t, s, task, report)
		if r := awaitReport(t, c, task, dispatch.Lost); r.Result != "" || strings.ContainsRune(r.Why, '\x1b') {
			t.Errorf("%s: %+v", report, r)
		}
	}
}

// answer takes a task as a worker that reports what it likes.
func answer(t *testing.T, s *servertest.Server, task dispatch.Task, report string) {
	t.Helper()
	w := sdkworker.New(s.Client(), task.Queue, sdkworker.Options{DisableWorkflowWorker: true})
	took := make(chan struct{})
	w.RegisterActivityWithOptions(func(context.Context, json.RawMessage) (json.RawMessage, error) {
		close(took)
		return json.RawMessage(report), nil
	}, activity.RegisterOptions{Name: carrier.ActivityType})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	<-took
	w.Stop()
}

// TestServerKilled: a task outlives the server, with its worker and its carrier.
func TestServerKilled(t *testing.T) {
	s := servertest.Start(t)
	c := carrier.New(s.Client(), s.Settings, time.Minute)
	w := startWorker(t, s)
	running, waiting := newTask("running"), newTask("noop")
	submit(t, c, running)
	w.wait("begun", running)
	s.Kill()
	if err := c.Submit(t.Context(), waiting); !errors.Is(err, dispatch.ErrUnreachable) {
		t.Errorf("submit: %v", err)
	}
	if _, err := c.Status(t.Context(), running.ID()); !errors.Is(err, dispatch.ErrUnreachable) {
		t.Errorf("status: %v", err)
	}
	w.end(running)
	w.wait("ended", running) // and reports when the server is back
	s.Restart()
	awaitReport(t, c, running, dispatch.Finished)
	submit(t, c, waiting)
	awaitReport(t, c, waiting, dispatch.Finished)
	if w.count("begun", running) != 1 || w.count("begun", waiting) != 1 {
		t.Error("performed twice")
	}
}

// TestServerTooOld: a server without standalone activities is named, with its version and what to do.
func TestServerTooOld(t *testing.T) {
	s := servertest.Start(t, "-standalone=false")
	err := carrier.Check(t.Context(), s.Client(), s.Settings)
	if pawl.KindOf(err) != pawl.KindUsage || !strings.Contains(err.Error(), "version 1.") || !strings.Contains(err.Error(), "pawl needs Temporal 1.31 or newer") {
		t.Errorf("check: %v", err)
	}
	err = carrier.New(s.Client(), s.Settings, lease).Submit(t.Context(), newTask("noop"))
	if pawl.KindOf(err) != pawl.KindUsage {
		t.Errorf("submit: %v", err)
	}
	settings := s.Settings
	settings.Namespace = "nobody"
	c, err := carrier.Connect(settings, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := carrier.Check(t.Context(), c, settings); pawl.KindOf(err) != pawl.KindUsage || !strings.Contains(pawl.HintOf(err), "namespace create") {
		t.Errorf("namespace: %v", err)
	}
}
