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
	"pawl/temporal/internal/carrier"
)

// bareWorker is set in a process that performs activities which do nothing: the address of the server.
const bareWorker = "PAWL_TEST_BARE_WORKER"

func TestMain(m *testing.M) {
	if address := os.Getenv(bareWorker); address != "" {
		c, err := carrier.Connect(config.Temporal{Address: address}, "bare")
		if err != nil {
			panic(err)
		}
		w := sdkworker.New(c, "bare", sdkworker.Options{DisableWorkflowWorker: true})
		w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "nothing"})
		if err := w.Run(nil); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// steps is how many steps, and bare activities, are measured.
const steps = 30

// TestDispatchTime compares a step that does nothing, from its intent in the journal to its end there, with a bare standalone activity that
// does nothing, in another process, on the same server.
func TestDispatchTime(t *testing.T) {
	s := newSite(t)
	s.worker()
	bare := s.bareTimes()
	queued, local := s.stepTimes("gpu"), s.stepTimes("local")
	t.Logf("bare activity %v; step on a worker %v; step on this machine %v (medians of %d)", bare, queued, local, steps)
	t.Logf("dispatch (step on a worker, less one on this machine) / bare activity: %.2f", float64(queued-local)/float64(bare))
	t.Logf("step on a worker / bare activity: %.2f", float64(queued)/float64(bare))
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2].Round(10 * time.Microsecond)
}

func (s *site) bareTimes() time.Duration {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bareWorker+"="+s.server.Settings.Address)
	begin(s.T, cmd)
	c := s.server.Client()
	var times []time.Duration
	for i := range steps + 1 {
		begun := time.Now()
		h, err := c.ExecuteActivity(s.Context(), client.StartActivityOptions{ID: fmt.Sprint("bare-", i), TaskQueue: "bare", StartToCloseTimeout: time.Minute}, "nothing")
		if err == nil {
			err = h.Get(s.Context(), nil)
		}
		if err != nil {
			s.Fatal(err)
		}
		times = append(times, time.Since(begun))
	}
	return median(times[1:]) // the first one waits for the worker to start
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
