package durable_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"pawl"
	"pawl/durable"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
)

// programArgs tells the test binary to be the program of a test: what to do, separated by spaces.
const programArgs = "DURABLE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	disktest.Inject()
	if args := os.Getenv(programArgs); args != "" {
		perform := program
		if strings.HasPrefix(args, "many ") {
			perform = manyRuns
		}
		if err := perform(strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// steps is how many steps the program has.
const steps = 12

// program runs steps in a durable run. Each writes its number to standard output as its effect; "done" with its number
// follows when Step has returned. Its arguments: the project, where to die ("inside" or "behind" a step, "wait" inside
// it for ever, or "nowhere"), and the number of that step.
func program(args []string) error {
	dir, where, number := args[0], args[1], args[2]
	return durable.Run(context.Background(), dir, "program", func(ctx context.Context) error {
		for i := range steps {
			n := fmt.Sprint(i)
			got, err := durable.Step(ctx, "step "+n, func(context.Context) (string, error) {
				fmt.Println("effect", n)
				if number == n {
					die(where, "inside")
				}
				return "result " + n, nil
			})
			if err != nil {
				return err
			}
			if got != "result "+n {
				return fmt.Errorf("step %s gave %q", n, got)
			}
			fmt.Println("done", n)
			if number == n {
				die(where, "behind")
			}
		}
		return nil
	})
}

func die(where, here string) {
	switch {
	case where == here:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case where == "wait" && here == "inside":
		_, _ = io.ReadAll(os.Stdin)
	}
}

// child is the program under way.
type child struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func startProgram(t *testing.T, args ...string) *child {
	t.Helper()
	return startProgramWith(t, nil, args...)
}

func startProgramWith(t *testing.T, env []string, args ...string) *child {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), programArgs+"="+strings.Join(args, " ")), env...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe() // "wait" ends with it
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Process.Kill() })
	return &child{Cmd: c, lines: bufio.NewScanner(out)}
}

// fsck checks every journal of the project and returns the state of its runs.
func fsck(t *testing.T, dir string) []*pawl.State {
	t.Helper()
	folder := filepath.Join(dir, ".pawl", "runs")
	runs, err := journal.Runs(folder)
	if err != nil {
		t.Fatal(err)
	}
	var states []*pawl.State
	for _, run := range runs {
		for _, f := range journal.Check(filepath.Join(folder, string(run))) {
			if f.Level == pawl.Bad {
				t.Errorf("verify: %+v", f)
			}
		}
		states = append(states, stateOf(t, dir, run))
	}
	return states
}

func stateOf(t *testing.T, dir string, run pawl.RunID) *pawl.State {
	t.Helper()
	log, err := journal.Open(filepath.Join(dir, ".pawl", "runs"), run)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	state, err := log.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.RejectedCount > 0 {
		t.Errorf("misfits: %+v", state.RejectedEvents)
	}
	return state
}
