//go:build linux

package supervise

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/supervise/process"
)

// The test binary is also the supervisor, an engine that can be killed, and what a step does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case InitVerb:
			check(Init(os.Args[2:]))
			os.Exit(0)
		case Verb:
			if os.Getenv("SUPERVISOR_DIES") != "" {
				os.Exit(1)
			}
			if fault := os.Getenv("SUPERVISOR_FAULT"); fault != "" {
				os.Setenv("PAWL_FAULT", fault)
			}
			disktest.Inject()
			if err := Main(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "supervisor:", err)
				os.Exit(1)
			}
			os.Exit(0)
		case "engine":
			disktest.Inject()
			engine(os.Args[2])
		case "step":
			step(os.Args[2])
		}
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // supervisors of a test with -race end as quickly as others
	goleak.VerifyTestMain(m)
}

// engine starts the job that stands in DIR.job and waits for it.
func engine(dir string) {
	var job pawl.Job
	data, err := os.ReadFile(dir + ".job")
	check(err)
	check(json.Unmarshal(data, &job))
	var pool *Pool
	if os.Getenv("ENGINE_POOL") != "" {
		pool = NewPool(filepath.Dir(dir))
	}
	lock, err := pool.Prepare(dir, job)
	check(err)
	running, err := pool.Start(lock, job, NewSeal())
	check(err)
	check(running.Wait(context.Background()))
	if os.Getenv("ENGINE_POOL") == "noted" {
		check(running.Noted())
	}
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// step does what the word says; it leaves the pid of each process that it starts as a file in the folder "pids".
func step(what string) {
	start := func(attr *syscall.SysProcAttr, env []string, what string) {
		cmd := exec.Command("/proc/self/exe", "step", what, strconv.Itoa(os.Getpid()))
		cmd.SysProcAttr, cmd.Env = attr, env
		check(cmd.Start())
	}
	switch what {
	case "family": // the victims of facts/supervision.md
		start(nil, os.Environ(), "sleep:child")
		start(&syscall.SysProcAttr{Setsid: true}, os.Environ(), "sleep:session")
		start(&syscall.SysProcAttr{Setpgid: true}, os.Environ(), "sleep:group")
		start(&syscall.SysProcAttr{Setpgid: true}, []string{}, "sleep:nameless")
		start(&syscall.SysProcAttr{Setsid: true}, []string{}, "fork:daemon")
		sleep("leader")
	case "fork:daemon": // the parent goes away, as daemons do
		start(&syscall.SysProcAttr{Setsid: true}, []string{}, "sleep:daemon")
		os.Exit(0)
	}
	if name, ok := strings.CutPrefix(what, "sleep:"); ok {
		if name == "daemon" {
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			for strconv.Itoa(os.Getppid()) == os.Args[3] { // until it is an orphan
				time.Sleep(time.Millisecond)
			}
		}
		sleep(name)
	}
	check(fmt.Errorf("what is %s?", what))
}

func sleep(name string) {
	check(os.WriteFile(name+".pid", []byte(strconv.Itoa(os.Getpid())), 0o600))
	time.Sleep(time.Hour)
}

// attempt is an attempt's folder with a job for it; the job's folder is work.
type attempt struct {
	*testing.T
	dir, work string
	job       pawl.Job
}

func newAttempt(t *testing.T, command ...string) *attempt {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestDieAnywhere") { // which counts
		t.Parallel()
	}
	root := t.TempDir()
	a := &attempt{T: t, dir: filepath.Join(root, "steps", "s", "1"), work: filepath.Join(root, "work")}
	a.no(os.Mkdir(a.work, 0o700))
	a.job = pawl.Job{
		AttemptRef: pawl.AttemptRef{Step: "s", Attempt: 1, Token: pawl.Token(fmt.Sprintf("%016x", time.Now().UnixNano()))},
		Command:    command, Dir: a.work, Env: os.Environ(),
		InterruptWait: pawl.Duration(300 * time.Millisecond), TerminateWait: pawl.Duration(300 * time.Millisecond),
	}
	t.Cleanup(a.end)
	return a
}

func sh(t *testing.T, script string) *attempt {
	t.Helper()
	return newAttempt(t, "/bin/sh", "-c", script)
}

// doing is an attempt at what step does.
func doing(t *testing.T, what string) *attempt {
	t.Helper()
	return newAttempt(t, "/proc/self/exe", "step", what) // the supervisor is this binary too
}

// end leaves nothing running, whatever the test found, and makes sure of the invariant: a dead attempt has no processes.
func (a *attempt) end() {
	RequestAbort(a.dir, pawl.Abort{Reason: pawl.ReasonAbort})
	a.no(Attach(a.dir).Wait(a.soon()))
	a.untilGone()
	if status, _ := Probe(a.dir); status.State == Ended {
		for name := range a.pids() {
			if a.alive(name) {
				a.Errorf("%s outlived the attempt", name)
			}
		}
	}
	for name, pid := range a.pids() {
		if a.alive(name) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// scripted has a job execute a script, as a pool takes it, instead of a command.
func (a *attempt) scripted() {
	switch {
	case len(a.job.Command) == 3 && a.job.Command[0] == "/bin/sh":
		a.job.Script = a.job.Command[2]
	case len(a.job.Command) > 0:
		self, err := os.Executable()
		a.no(err)
		a.job.Script = "exec " + strings.Join(append([]string{self}, a.job.Command[1:]...), " ")
	}
	a.job.Command = nil
}

// untilGone waits for the end of the supervisor.
func (a *attempt) untilGone() {
	a.Helper()
	a.until("the end of the supervisor", func() bool {
		begun, _ := readBegun(a.dir)
		if begun == nil {
			return true
		}
		_, err := process.Find(begun.Supervisor)
		return err != nil
	})
}

func (a *attempt) no(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *attempt) start() *Running {
	a.Helper()
	lock, err := Prepare(a.dir)
	a.no(err)
	running, err := Start(lock, a.job, NewSeal())
	a.no(err)
	return running
}

// run runs the attempt to its end.
func (a *attempt) run() pawl.Exit {
	a.Helper()
	a.no(a.start().Wait(a.soon()))
	return a.exit()
}

func (a *attempt) exit() pawl.Exit {
	a.Helper()
	status, err := Probe(a.dir)
	a.no(err)
	if status.State != Ended {
		a.Fatalf("the attempt is %s; %s", status.State, a.read(pawl.ErrFile))
	}
	if status.Exit.Token != a.job.Token || status.Begun == nil {
		a.Fatalf("exit record %+v, begun %+v", status.Exit, status.Begun)
	}
	return *status.Exit
}

// pids returns the processes of step by name. Those of a PID namespace are 0 when they are gone.
func (a *attempt) pids() map[string]int {
	files, _ := filepath.Glob(filepath.Join(a.work, "*.pid"))
	found := map[string]int{}
	for _, file := range files {
		data, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		if a.job.PIDNamespace {
			pid = a.seenFromHere(pid)
		}
		found[strings.TrimSuffix(filepath.Base(file), ".pid")] = pid
	}
	return found
}

// alive reports whether a process of step runs. One that exits is as good as dead, as for a sweep.
func (a *attempt) alive(name string) bool {
	s, err := process.Of(a.pids()[name])
	return err == nil && !s.Dead && !s.Exiting
}

// waitFor waits until all these processes of step are there.
func (a *attempt) waitFor(names ...string) {
	a.Helper()
	a.until("running: "+strings.Join(names, ", "), func() bool {
		for _, name := range names {
			if a.pids()[name] == 0 {
				return false
			}
		}
		return true
	})
}

// until polls for a condition.
func (a *attempt) until(what string, holds func() bool) {
	a.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-ticker.C {
		if time.Now().After(end) {
			a.Fatalf("never came: %s; %s", what, a.read(pawl.ErrFile))
		}
	}
}

func (a *attempt) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(a.dir, name))
	return string(data)
}

// helper starts an engine that can be killed.
func (a *attempt) helper(env ...string) *exec.Cmd {
	a.Helper()
	cmd := a.engine(env...)
	a.no(cmd.Start())
	return cmd
}

// engine returns the command of an engine, not yet started.
func (a *attempt) engine(env ...string) *exec.Cmd {
	a.Helper()
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "ENGINE_POOL=") && v != "ENGINE_POOL=" }) {
		a.scripted()
	}
	data, err := json.Marshal(a.job)
	a.no(err)
	a.no(os.MkdirAll(filepath.Dir(a.dir), 0o700))
	a.no(os.WriteFile(a.dir+".job", data, 0o600))
	self, err := os.Executable()
	a.no(err)
	cmd := exec.Command(self, "engine", a.dir)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
