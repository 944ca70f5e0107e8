package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/executor/agent"
	kernelstep "pawl/internal/executor/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/project"
	"pawl/internal/supervise"
)

// engineVerb is the command of the test binary that runs an engine until it kills itself.
const engineVerb = "engine"

// Main runs the tests of a package, or the supervisor, engine or agent step that the test binary was started as. It returns
// the exit code.
func Main(m *testing.M) int {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case supervise.Verb:
			return report(supervise.Main(os.Args[2:]))
		case supervise.InitVerb:
			return report(supervise.Init(os.Args[2:]))
		case engineVerb:
			return report(runDoomed(context.Background(), os.Args[2]))
		}
	}
	if len(os.Args) == 2 && os.Args[1] == agent.Verb {
		return report(runAgent(context.Background()))
	}
	if len(os.Args) == 2 && os.Args[1] == kernelstep.Verb {
		return report(runKernelStep(context.Background()))
	}
	if len(os.Args) == 2 && os.Args[1] == runner.Verb {
		return report(runKernel(context.Background()))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // supervisors of a test with -race end as quickly as others
	flag.Parse()
	if err := flag.Set("test.parallel", fmt.Sprint(max(8, runtime.NumCPU()))); err != nil { // they wait more than they work
		return report(err)
	}
	code := m.Run()
	if code != 0 {
		return code
	}
	return report(goleak.Find())
}

// runAgent does an attempt at an agent's step.
func runAgent(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	told := func(context.Context, pawl.AgentName) (brief.Brief, error) { return brief.Brief{Text: "the brief"}, nil }
	_, err := agent.Runner{Out: os.Stdout, Err: os.Stderr, Brief: told}.Run(ctx)
	return err
}

func report(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// doomed tells a child process which run to continue and when to kill itself.
type doomed struct {
	Root  string
	Run   pawl.RunID
	Event pawl.EventType // whose N-th occurrence kills the engine once it is durable; empty: any event counts
	N     int            // counts from 1
}

// KilledAt continues the run with an engine in a child process, which is killed when the n-th event of a type is durable and
// before the engine acts on it. It reports whether the engine was killed; otherwise it stopped by itself before.
func (p *Project) KilledAt(kind pawl.EventType, n int) bool {
	p.Helper()
	told, err := json.Marshal(doomed{Root: p.Root, Run: p.Run, Event: kind, N: n})
	p.Check(err)
	self, err := supervise.Self()
	p.Check(err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.Context()), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{"pawl", engineVerb, string(told)}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		p.Errorf("the engine did not journal %d events of type %s in time", n, kind)
		return false
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	}
	p.Errorf("the child engine: %v\n%s", err, out)
	return false
}

func runDoomed(ctx context.Context, told string) error {
	var d doomed
	if err := json.Unmarshal([]byte(told), &d); err != nil {
		return err
	}
	found, err := project.Find(d.Root)
	if err != nil {
		return err
	}
	cfg := configOf(found)
	cfg.Notify = func(e pawl.Event) {
		if d.Event != "" && e.Type != d.Event {
			return
		}
		if d.N--; d.N <= 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	}
	e, err := open(ctx, cfg, d.Run)
	if err != nil {
		return err
	}
	err = e.Run(ctx, ctx, "test")
	switch pawl.KindOf(err) {
	case pawl.KindAtGate, pawl.KindRunFailed:
		err = nil
	}
	return errors.Join(err, e.Close())
}
