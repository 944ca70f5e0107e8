//go:build linux

package temporal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/dispatchtest"
	"pawl/temporal/internal/carrier"
	"pawl/temporal/internal/taker"
)

// bareWorker is set in a process that performs activities, and tasks, which do nothing: the address of the server.
const bareWorker = "PAWL_TEST_BARE_WORKER"

func TestMain(m *testing.M) {
	if address := os.Getenv(bareWorker); address != "" {
		if err := doNothing(config.Temporal{Address: address}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func doNothing(settings config.Temporal) error {
	c, err := carrier.Connect(settings, "bare")
	if err != nil {
		return err
	}
	w := sdkworker.New(c, "bare", sdkworker.Options{DisableWorkflowWorker: true})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "nothing"})
	if err := w.Start(); err != nil {
		return err
	}
	t := taker.Taker{
		Client: c, Settings: settings, Queue: "carried", Parallel: 1, Log: func(string, ...any) {},
		Perform: func(context.Context, dispatch.Task, dispatch.Alive) (dispatch.Report, error) {
			return dispatch.Report{Outcome: dispatch.Finished, Result: strings.Repeat("ab", 32)}, nil
		},
		Forget: func(dispatch.Task) error { return nil },
	}
	return t.Run(context.Background())
}

// steps is how many steps, and bare activities, are measured.
const steps = 30

// TestDispatchTime compares a task that does nothing, from its submission to its report, with a bare standalone activity that does nothing,
// in the same other process, on the same server. It also says how long a whole step takes, from its intent in the journal to its end there.
func TestDispatchTime(t *testing.T) {
	s := newSite(t)
	s.worker()
	bare, carried := s.bareTimes()
	queued, local := s.stepTimes("gpu"), s.stepTimes("local")
	t.Logf("bare activity %v, task %v: %.2f times; a step on a worker %v, on this machine %v (medians of %d)",
		bare, carried, float64(carried)/float64(bare), queued, local, steps)
	if carried > 2*bare {
		t.Errorf("a task takes more than twice as long as a bare activity")
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2].Round(10 * time.Microsecond)
}

// bareTimes measures activities and tasks in turns.
func (s *site) bareTimes() (bare, carried time.Duration) {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bareWorker+"="+s.server.Settings.Address)
	begin(s.T, cmd)
	c := s.server.Client()
	tasks := carrier.New(c, s.server.Settings, dispatch.Lease)
	var bareTimes, carriedTimes []time.Duration
	for i := range steps + 1 {
		begun := time.Now()
		h, err := c.ExecuteActivity(s.Context(), client.StartActivityOptions{ID: fmt.Sprint("bare-", i), TaskQueue: "bare", StartToCloseTimeout: time.Minute}, "nothing")
		if err == nil {
			err = h.Get(s.Context(), nil)
		}
		bareTimes, begun = append(bareTimes, time.Since(begun)), time.Now()
		task := dispatchtest.NewTask("carried")
		if err == nil {
			err = tasks.Submit(s.Context(), task)
		}
		for seen := (dispatch.Status{}); err == nil && seen.State != dispatch.Ended; {
			seen, err = tasks.Await(s.Context(), task.ID(), seen)
		}
		if err != nil {
			s.Fatal(err)
		}
		carriedTimes = append(carriedTimes, time.Since(begun))
	}
	return median(bareTimes[1:]), median(carriedTimes[1:]) // the first ones wait for the worker to start
}

func (s *site) stepTimes(queue string) time.Duration {
	s.Helper()
	plan := "name: nothing-" + queue + "\nsteps:\n"
	for i := range steps {
		plan += fmt.Sprintf("  - {id: s%d, needs: [%s], on: {queue: %s}, run: \":\"}\n", i, map[bool]string{true: fmt.Sprint("s", i-1)}[i > 0], queue)
	}
	s.write(filepath.Join(s.project, queue+".yaml"), plan)
	s.pawl(0, "run", queue+".yaml")
	begun, times := map[string]time.Time{}, []time.Duration(nil)
	for line := range strings.Lines(s.pawl(0, "log", "--json")) {
		var e struct {
			Type string
			Time time.Time
			Data struct{ Step string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.Fatal(err)
		}
		switch e.Type {
		case "attempt.started":
			begun[e.Data.Step] = e.Time
		case "step.done":
			times = append(times, e.Time.Sub(begun[e.Data.Step]))
		}
	}
	if len(times) != steps {
		s.Fatalf("%d steps", len(times))
	}
	return median(times)
}
