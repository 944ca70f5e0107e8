package kerneltest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
)

// ladderWaits are long enough for the kernel to report that it got a signal.
var ladderWaits = runner.Waits{Interrupt: 2 * time.Second, Terminate: 2 * time.Second}

// testLadder: an interrupt of the runner ends each cell: by SIGINT, or else by SIGTERM, or else by SIGKILL to the kernel and all its
// processes. The output until then is kept. After SIGINT the kernel is alive, and has its variables.
func testLadder(t *testing.T, c Config) {
	for _, test := range []struct {
		ignored, by, output string
		waited              time.Duration
	}{
		{"", "SIGINT", "", 0},
		{"SIGINT", "SIGTERM", "got SIGINT\n", ladderWaits.Interrupt},
		{"SIGINT SIGTERM", "SIGKILL", "got SIGINT\ngot SIGTERM\n", ladderWaits.Interrupt + ladderWaits.Terminate},
	} {
		t.Run(test.by, func(t *testing.T) {
			s := startRunner(t, c)
			s.run(c.Language.Set(c.Language.Numbered, 7))
			end, stopped, pids := s.interrupted(c.Language.Deaf(test.ignored))
			if stopped.By != test.by || stopped.Alive != (test.by == "SIGINT") || time.Duration(stopped.After) < test.waited {
				t.Errorf("stopped %+v, output %q", stopped, s.printed)
			}
			if !strings.HasSuffix(s.printed, "\n"+test.output) {
				t.Errorf("output %q, want %q at its end", s.printed, test.output)
			}
			if stopped.Alive {
				if end.Status != kernel.Interrupted {
					t.Errorf("end %+v", end)
				}
				s.run(c.Language.Value(c.Language.Numbered))
				if !strings.HasSuffix(s.result, "7") {
					t.Errorf("the variable is %q", s.result)
				}
				return
			}
			if end.Status != kernel.Lost || end.Death == nil || !strings.HasSuffix(end.Death.Why, "because the interrupt did not end the cell") {
				t.Errorf("end %+v, death %+v", end, end.Death)
			}
			Retry(t, func() bool { return !slices.ContainsFunc(pids, func(pid int) bool { return !Gone(pid) }) })
		})
	}
}

// ran is a runner within the test, and what its last cell did.
type ran struct {
	t               *testing.T
	dir             string
	client          *runner.Client
	printed, result string
}

// startRunner starts a runner, which ends with the test.
func startRunner(t *testing.T, c Config) *ran {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	dir, ended := t.TempDir(), make(chan error, 1)
	spec := specOf(t, c)
	go func() {
		ended <- runner.Run(ctx, runner.Config{Dir: dir, Driver: c.Driver, Spec: spec, Saver: noSaver{}, Waits: ladderWaits})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the runner: %v", err)
		}
	})
	s := &ran{t: t, dir: dir}
	s.client = s.dial()
	return s
}

// dial connects to the runner once it listens.
func (s *ran) dial() (c *runner.Client) {
	s.t.Helper()
	Retry(s.t, func() bool {
		var err error
		c, err = runner.Dial(s.t.Context(), s.dir)
		return err == nil
	})
	s.t.Cleanup(func() { c.Close() })
	return c
}

// execute executes a cell. each gets its messages.
func (s *ran) execute(code string, each func(kernel.Message)) *runner.End {
	s.printed, s.result = "", ""
	end, err := s.client.Execute(s.t.Context(), runner.Execution{Link: runner.Link{Code: code}}, func(kernel.CellID) {}, func(m kernel.Message) error {
		switch m.Kind {
		case kernel.KindStream:
			s.printed += m.Text
		case kernel.KindResult:
			s.result = m.PlainText()
		}
		each(m)
		return nil
	})
	if err != nil {
		s.t.Errorf("execute %s: %v", code, err)
		return &runner.End{}
	}
	return end
}

// run executes a cell that must end well.
func (s *ran) run(code string) {
	s.t.Helper()
	if end := s.execute(code, func(kernel.Message) {}); end.Status != kernel.OK {
		s.t.Fatalf("%s: %+v", code, end)
	}
}

// interrupted executes a cell, and interrupts it once it has printed that it runs, and the numbers of processes.
func (s *ran) interrupted(code string) (*runner.End, *runner.Stopped, []int) {
	s.t.Helper()
	running, ended := make(chan string, 1), make(chan *runner.End, 1)
	go func() {
		ended <- s.execute(code, func(kernel.Message) {
			if line, _, whole := strings.Cut(s.printed, "\n"); whole {
				select {
				case running <- line:
				default:
				}
			}
		})
	}()
	var line string
	select {
	case line = <-running:
	case end := <-ended:
		s.t.Fatalf("ended: %+v", end)
	}
	var pids []int
	for word := range strings.FieldsSeq(strings.TrimPrefix(line, "running")) {
		pid, err := strconv.Atoi(word)
		if err != nil || Gone(pid) {
			s.t.Fatalf("process %q: %v", word, err)
		}
		pids = append(pids, pid)
	}
	done, err := s.dial().Do(s.t.Context(), runner.Request{Op: runner.OpInterrupt}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return <-ended, done.Stopped, pids
}

// noSaver saves nothing.
type noSaver struct{ runner.Saver }

func (noSaver) Supports(string) bool { return false }
