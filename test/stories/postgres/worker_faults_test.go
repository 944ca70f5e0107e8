package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/disk/disktest"
	"pawl/internal/postgres/postgrestest"
	"pawl/test/stories/storytest"
)

// awayPlan writes into a ledger outside the project what ran.
const awayPlan = `name: demo
steps:
  - {id: one, run: echo one > one.txt; echo one >> "$LEDGER", outputs: [one.txt], on: {queue: q}}
  - {id: two, run: cat one.txt one.txt > two.txt; rm one.txt; mkdir sub; echo x > sub/x; echo out; echo two >> "$LEDGER", outputs: [two.txt], on: {queue: q}}
`

// TestWorkerDiesAnywhere kills a courier, a worker or an engine at each call that changes the disk. After that each is started again: each
// step ran once, its result counted once, and the project has its files.
func TestWorkerDiesAnywhere(t *testing.T) {
	t.Parallel()
	binary := storytest.Build(t, "faults")
	for kind, command := range []string{"courier", "worker", "run"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			whole := newAway(t, binary)
			whole.do("count", command)
			calls := strings.Count(whole.read("calls"), "\n")
			if calls < 20 {
				t.Fatalf("only %d calls:\n%s", calls, whole.read("calls"))
			}
			t.Logf("%d calls", calls)
			for n := range disktest.FaultPoints(kind, 24, calls) {
				newAway(t, binary).do(fmt.Sprintf("die:%d", n), command)
				if t.Failed() {
					t.Fatalf("at call %d of %d", n, calls)
				}
			}
		})
	}
}

// TestDatabaseDiesMeanwhile kills the database while a step runs on a worker, and starts it again: the step runs once, and its result counts.
func TestDatabaseDiesMeanwhile(t *testing.T) {
	t.Parallel()
	own, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Remove(); err != nil {
			t.Error(err)
		}
	})
	dsn, err := own.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := newAway(t, storytest.Pawl(t))
	a.dsn = dsn
	plan := `{name: demo, steps: [{id: one, idempotent: false, on: {queue: q}, run: 'echo one >> "$LEDGER"; until test -e "$LEDGER.go"; do sleep 0.02; done; echo x > one.txt', outputs: [one.txt]}]}`
	if err := os.WriteFile(a.path("plan.yaml"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := a.work(nil)
	run := a.command(nil, "run", a.path("plan.yaml"))
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if !storytest.Until(func() bool { return a.read("ledger") != "" }) {
		t.Error("the step does not begin")
	}
	if err := own.Kill(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(a.path("ledger.go"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if !storytest.Until(func() bool { return strings.Contains(a.must("status"), "does not answer") }) {
		t.Error("nobody says that the queue does not answer")
	}
	if err := own.Up(); err != nil {
		t.Error(err)
	}
	err = run.Wait()
	worker := stop()
	if err != nil || a.read("ledger") != "one\n" || a.read("project/one.txt") != "x\n" || strings.Contains(worker, "it died") {
		t.Errorf("%v; ledger %q, one.txt %q\n%s\nworker:\n%s", err, a.read("ledger"), a.read("project/one.txt"), said.String(), worker)
	}
}

// away is a project with a plan, a remote, a queue and a worker.
type away struct {
	*testing.T
	binary, dir, dsn string
}

func newAway(t *testing.T, binary string) *away {
	t.Helper()
	dsn, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := &away{T: t, binary: binary, dir: t.TempDir(), dsn: dsn}
	for _, name := range []string{"project", "share", "worker"} {
		if err := os.Mkdir(a.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(a.path("plan.yaml"), []byte(awayPlan), 0o600); err != nil {
		t.Fatal(err)
	}
	a.must("init")
	a.must("remote", "add", "origin", "file://"+a.path("share"))
	return a
}

func (a *away) path(names ...string) string {
	return filepath.Join(append([]string{a.dir}, names...)...)
}

func (a *away) read(name string) string {
	data, err := os.ReadFile(a.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		a.Fatal(err)
	}
	return string(data)
}

func (a *away) command(faults []string, args ...string) *exec.Cmd {
	cmd := exec.Command(a.binary, args...)
	cmd.Dir = a.path("project")
	cmd.Env = append(os.Environ(), "HOME="+a.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "PAWL_STATE=", "USER=tester", "PAWL_POSTGRES="+a.dsn, "LEDGER="+a.path("ledger"))
	cmd.Env = append(cmd.Env, faults...)
	return cmd
}

func (a *away) must(args ...string) string {
	a.Helper()
	out, err := a.command(nil, args...).CombinedOutput()
	if err != nil {
		a.Fatalf("pawl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// work starts a worker, and starts it again when it is killed, until stop is called. Then it returns what it printed.
func (a *away) work(faults []string) (stop func() string) {
	var said bytes.Buffer
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			cmd := a.command(faults, "worker", "--postgres", "--queue", "q", "--remote", "file://"+a.path("share"), "--folder", a.path("worker"))
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				fmt.Fprintln(&said, err)
				return
			}
			died := make(chan error, 1)
			go func() { died <- cmd.Wait() }()
			select {
			case <-died:
				fmt.Fprintln(&said, "it died")
			case <-over:
				_ = cmd.Process.Signal(syscall.SIGTERM)
				<-died
				return
			}
		}
	}()
	return func() string {
		close(over)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			a.Error("the worker does not end")
		}
		return said.String()
	}
}

// do runs the plan while a fault hits a command, and resumes until the run has ended.
func (a *away) do(fault, command string) {
	a.Helper()
	faults := []string{disktest.FaultVar + "=" + fault, disktest.FaultOnly + "=" + command, disktest.FaultLog + "=" + a.path("calls"), disktest.FaultCount + "=" + a.path("counted")}
	stop := a.work(faults)
	out, err := a.command(faults, "run", a.path("plan.yaml")).CombinedOutput()
	for range 3 {
		if err == nil {
			break
		}
		var more []byte
		more, err = a.command(nil, "resume").CombinedOutput()
		if bytes.Contains(more, []byte("no runs yet")) {
			more, err = a.command(nil, "run", a.path("plan.yaml")).CombinedOutput()
		}
		if bytes.Contains(more, []byte("is already complete")) { // it died after that
			err = nil
		}
		out = append(out, more...)
	}
	worker := stop()
	if ledger := a.read("ledger"); err != nil || ledger != "one\ntwo\n" {
		a.Errorf("%s of %s: ledger %q, %v\n%s\nworker:\n%s", fault, command, ledger, err, out, worker)
	}
	if a.read("project/two.txt") != "one\none\n" || a.read("project/one.txt") != "" || a.read("project/sub/x") != "x\n" {
		a.Errorf("%s of %s: two.txt %q, one.txt %q\n%s\nworker:\n%s", fault, command, a.read("project/two.txt"), a.read("project/one.txt"), out, worker)
	}
	if said := a.must("verify"); !strings.Contains(said, " 0 faults") {
		a.Errorf("%s of %s: %s", fault, command, said)
	}
	if left, err := os.ReadDir(a.path("worker", "tasks")); err == nil && len(left) > 0 {
		a.Errorf("%s of %s: the worker keeps %v\n%s", fault, command, left, worker)
	}
	if !storytest.Until(func() bool { return len(storytest.RunningIn(a.dir)) == 0 }) {
		a.Errorf("%s of %s: still running: %v", fault, command, storytest.RunningIn(a.dir))
	}
}
