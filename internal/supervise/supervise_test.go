//go:build linux

package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/supervise/process"
	"pawl/internal/watchdog"
)

func (a *attempt) soon() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	a.Cleanup(cancel)
	return ctx
}

func TestCommand(t *testing.T) {
	a := sh(t, `echo out; echo err >&2; env | grep ^PAWL_TOKEN=; exit 7`)
	a.job.Env = append(a.job.Env, "PAWL_TOKEN=another")
	exit := a.run()
	if exit.Reason != pawl.ReasonExited || exit.Exit == nil || *exit.Exit != 7 || exit.Killed != 0 || exit.Unkilled != nil {
		t.Errorf("exit %+v", exit)
	}
	if want := "out\nPAWL_TOKEN=" + string(a.job.Token) + "\n"; a.read(pawl.OutFile) != want || a.read(pawl.ErrFile) != "err\n" {
		t.Errorf("out %q err %q", a.read(pawl.OutFile), a.read(pawl.ErrFile))
	}
	if exit.OutputBytes != int64(len("out\nerr\nPAWL_TOKEN=\n")+16) || exit.Seconds <= 0 || exit.Slept != 0 {
		t.Errorf("exit %+v", exit)
	}
	status, err := Probe(a.dir)
	a.no(err)
	if b := status.Begun; b.Child.PID == 0 || b.Child.BootID == "" || b.Supervisor.PIDNS == "" || b.Token != a.job.Token {
		t.Errorf("begun %+v", b)
	}
	if status.Begun.Cgroup != "" {
		if _, err := os.Stat(status.Begun.Cgroup); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the cgroup stays: %v", err)
		}
	}
}

func TestStartsWithDefaultSignalsAndNoLock(t *testing.T) {
	a := sh(t, `grep SigIgn /proc/self/status; ls -l /proc/self/fd`)
	a.run()
	out := a.read(pawl.OutFile)
	var ignored uint64
	if _, err := fmt.Sscanf(out, "SigIgn:\t%x", &ignored); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const ofLibc = 3 << 31 // signals 32 and 33: glibc's own; what it spawns, such as make's commands, begins with them ignored
	if ignored&^ofLibc != 0 {
		t.Errorf("ignored signals are inherited: %s", out)
	}
	if strings.Contains(out, pawl.LockFile) {
		t.Errorf("the child has the lock: %s", out)
	}
}

func TestCannotStart(t *testing.T) {
	for name, command := range map[string][]string{
		"absent program": {"no-such-program"}, "absent path": {"/no/such/program"}, "no program": {"/dev/null"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t, command...)
			if exit := a.run(); exit.Reason != pawl.ReasonError || exit.Exit != nil || !strings.Contains(exit.Why, command[0]) {
				t.Errorf("exit %+v", exit)
			}
		})
	}
	t.Run("absent folder", func(t *testing.T) {
		a := sh(t, "true")
		a.job.Dir = filepath.Join(a.work, "absent")
		if exit := a.run(); exit.Reason != pawl.ReasonError {
			t.Errorf("exit %+v", exit)
		}
	})
}

func TestProgramIsFoundByTheChildsPath(t *testing.T) {
	a := newAttempt(t, "greet")
	a.no(os.WriteFile(filepath.Join(a.work, "greet"), []byte("#!/bin/sh\necho hello\n"), 0o700))
	a.job.Env = []string{"PATH=/nowhere:" + a.work}
	if exit := a.run(); exit.Exit == nil || *exit.Exit != 0 || a.read(pawl.OutFile) != "hello\n" {
		t.Errorf("exit %+v, %q", exit, a.read(pawl.OutFile))
	}
}

func TestHeldAndUsedAgain(t *testing.T) {
	a := sh(t, "echo again")
	lock, err := Prepare(a.dir)
	a.no(err)
	if status, _ := Probe(a.dir); status.State != Live || status.Begun != nil {
		t.Errorf("prepared: %+v", status)
	}
	if _, err := Prepare(a.dir); pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("prepared twice: %v", err)
	}
	a.no(lock.Release())
	if status, _ := Probe(a.dir); status.State != NotBegun {
		t.Errorf("given up: %+v", status)
	}
	a.run()
	a.run() // the checks of a lost attempt use a folder again
	if a.read(pawl.OutFile) != "again\nagain\n" {
		t.Errorf("out %q", a.read(pawl.OutFile))
	}
}

// A project may be moved while a step runs: the record goes where the folder is, and checks run there.
func TestMovedMeanwhile(t *testing.T) {
	a := sh(t, "touch begun; until test -e go; do sleep 0.01; done; echo made > out.txt")
	before, after := filepath.Join(a.work, "before"), filepath.Join(a.work, "after")
	a.dir = filepath.Join(before, ".pawl", "1")
	a.job.Root, a.job.Dir, a.job.Outputs = before, before, []string{"out.txt"}
	a.job.Checks = map[string]string{"made": "grep -q made out.txt"}
	a.no(os.MkdirAll(a.dir, 0o700))
	running := a.start()
	a.until("it begins", func() bool { _, err := os.Stat(filepath.Join(before, "begun")); return err == nil })
	a.no(os.Rename(before, after))
	a.dir = filepath.Join(after, ".pawl", "1")
	a.no(os.WriteFile(filepath.Join(after, "go"), nil, 0o600))
	<-running.gone
	status, err := Probe(a.dir)
	a.no(err)
	if status.Exit == nil || status.Exit.Exit == nil || *status.Exit.Exit != 0 || !pawl.Passed(status.Exit.Checks) {
		t.Errorf("%+v", status)
	}
}

// Without its record an attempt counts as not begun only where nothing says otherwise.
func TestBeginningWithoutItsRecord(t *testing.T) {
	for name, c := range map[string]struct {
		begun, later, want string
	}{
		"nothing": {"", "", string(NotBegun)}, "torn": {`{"token":"`, "", string(NotBegun)}, "zeros": {"\x00\x00", "", string(NotBegun)},
		"flipped": {"{\"token\":\"a\x13\n", "", string(Lost)}, "deleted": {"", pawl.BeatFile, string(Lost)}, "torn later": {`{"token":"`, pawl.BeatFile, string(Lost)},
		"deleted, with output": {"", pawl.OutFile, string(Lost)},
	} {
		t.Run(name, func(t *testing.T) {
			a := sh(t, "true")
			lock, err := Prepare(a.dir)
			a.no(err)
			a.no(lock.Release())
			if c.begun != "" {
				a.no(os.WriteFile(filepath.Join(a.dir, pawl.BegunFile), []byte(c.begun), 0o600))
			}
			if c.later != "" {
				a.no(os.WriteFile(filepath.Join(a.dir, c.later), []byte("{}"), 0o600))
			}
			status, err := Probe(a.dir)
			a.no(err)
			if string(status.State) != c.want || status.HasBegun() != (status.State == Lost) || status.Begun != nil {
				t.Errorf("%+v, want %s", status, c.want)
			}
			if _, _, err := Sweep(a.dir, ""); err != nil {
				t.Errorf("sweep: %v", err)
			}
		})
	}
	if status, err := Probe(filepath.Join(t.TempDir(), "gone")); err != nil || status.State != Lost {
		t.Errorf("its folder is gone: %+v, %v", status, err)
	}
}

func TestOnlyEnginesStartSupervisors(t *testing.T) {
	a := sh(t, "true")
	a.no(os.MkdirAll(a.dir, 0o700))
	a.no(os.WriteFile(filepath.Join(a.dir, pawl.LockFile), nil, 0o600))
	if err := checkLock(a.dir); err == nil {
		t.Error("descriptor 3 was taken for the lock")
	}
}

// If an engine is killed with SIGKILL, the step keeps running. Another engine waits for it and collects its end.
func TestEngineDies(t *testing.T) {
	a := sh(t, `echo $$ > leader.pid; until test -e go; do sleep 0.01; done; echo done; exit 7`)
	cmd := a.helper()
	a.until("begun", func() bool {
		status, err := Probe(a.dir) // the child may be faster than the note of which it is
		return a.pids()["leader"] != 0 && err == nil && status.Begun != nil && status.Begun.Child.PID != 0
	})
	a.no(cmd.Process.Kill())
	cmd.Wait()
	if status, _ := Probe(a.dir); status.State != Live || status.Begun.Child.PID == 0 {
		t.Fatalf("status %+v", status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Attach(a.dir).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	a.no(os.WriteFile(filepath.Join(a.work, "go"), nil, 0o600))
	a.no(Attach(a.dir).Wait(a.soon()))
	if exit := a.exit(); *exit.Exit != 7 || a.read(pawl.OutFile) != "done\n" {
		t.Errorf("exit %+v, out %q", exit, a.read(pawl.OutFile))
	}
}

func TestAbort(t *testing.T) {
	for scope, prepare := range scopes {
		t.Run(scope, func(t *testing.T) {
			a := doing(t, "family")
			prepare(a)
			running := a.start()
			a.waitFor("leader", "child", "session", "group", "nameless", "daemon")
			a.no(RequestAbort(a.dir, pawl.Abort{Reason: pawl.ReasonBudget, Why: "enough"}))
			a.no(running.Wait(a.soon()))
			exit := a.exit()
			if exit.Reason != pawl.ReasonBudget || exit.Why != "enough" || exit.Unkilled != nil || exit.Signal != "SIGINT" {
				t.Errorf("exit %+v", exit)
			}
			if names := a.survivors(); names != nil {
				t.Errorf("alive: %v", names)
			}
			a.no(RequestAbort(a.dir, pawl.Abort{})) // nobody is there: no error
		})
	}
}

// scopes prepare an attempt for each way to keep its processes together.
var scopes = map[string]func(*attempt){
	"best":      func(*attempt) {},
	"subreaper": (*attempt).withoutCgroup,
	"namespace": func(a *attempt) {
		a.withoutCgroup()
		a.inNamespace()
	},
}

// withoutCgroup takes the name of the attempt's cgroup away, so that it gets none.
func (a *attempt) withoutCgroup() {
	if own, err := ownCgroup(); err == nil {
		path := filepath.Join(own, cgroupName(a.job.Token))
		if os.Mkdir(path, 0o700) == nil {
			a.Cleanup(func() { os.Remove(path) })
		}
	}
}

func TestAbortBeforeTheStart(t *testing.T) {
	a := sh(t, "echo ran")
	lock, err := Prepare(a.dir)
	a.no(err)
	a.no(RequestAbort(a.dir, pawl.Abort{Reason: pawl.ReasonOutdated}))
	running, err := Start(lock, a.job, NewSeal())
	a.no(err)
	a.no(running.Wait(a.soon()))
	if exit := a.exit(); exit.Reason != pawl.ReasonOutdated || a.read(pawl.OutFile) != "" {
		t.Errorf("exit %+v, out %q", exit, a.read(pawl.OutFile))
	}
}

// SIGINT, SIGTERM, SIGKILL: each is heeded by one step, and the last by the one that ignores the others.
func TestEscalation(t *testing.T) {
	for scope, prepare := range scopes {
		t.Run(scope, func(t *testing.T) { testEscalation(t, prepare) })
	}
}

// TestDefaultWaits: pawl waits 5 s after SIGINT and 3 s after SIGTERM, as Gyoshu does.
func TestDefaultWaits(t *testing.T) {
	job := withDefaults(pawl.Job{}, os.Environ())
	if interrupt, terminate := time.Duration(job.InterruptWait), time.Duration(job.TerminateWait); interrupt != 5*time.Second || terminate != 3*time.Second {
		t.Errorf("%s, %s", interrupt, terminate)
	}
}

func testEscalation(t *testing.T, prepare func(*attempt)) {
	for what, want := range map[string]string{
		`trap 'echo int; exit 3' INT; echo $$ > leader.pid; while :; do sleep 0.02; done`:                     "int\n",
		`trap '' INT; trap 'echo term; exit 4' TERM; echo $$ > leader.pid; while :; do sleep 0.02; done`:      "term\n",
		`trap 'echo int' INT; trap 'echo term' TERM; echo $$ > leader.pid; while :; do sleep 0.02 || :; done`: "int\nterm\n",
	} {
		t.Run(want, func(t *testing.T) {
			a := sh(t, what)
			prepare(a)
			running := a.start()
			a.until("running", func() bool { return a.pids()["leader"] != 0 })
			a.no(RequestAbort(a.dir, pawl.Abort{Reason: pawl.ReasonAbort}))
			a.no(running.Wait(a.soon()))
			exit := a.exit()
			if got := a.read(pawl.OutFile); got != want {
				t.Errorf("heeded %q, want %q", got, want)
			}
			if killed := exit.Signal == "SIGKILL"; killed != strings.Contains(want, "int\nterm") {
				t.Errorf("exit %+v", exit)
			}
		})
	}
}

// What a leader leaves behind when it ends by itself is ended too, also what ignores everything; a reader of its pipe
// may finish.
func TestLeftovers(t *testing.T) {
	for scope, prepare := range scopes {
		t.Run(scope, func(t *testing.T) {
			a := sh(t, `sleep 1000 & (trap '' TERM INT HUP; exec setsid sleep 1000) & (sleep 0.05; echo late) & exit 0`)
			prepare(a)
			exit := a.run()
			if *exit.Exit != 0 || exit.Reason != pawl.ReasonExited || exit.Killed != 2 || exit.Unkilled != nil {
				t.Errorf("exit %+v", exit)
			}
			if a.read(pawl.OutFile) != "late\n" {
				t.Errorf("out %q", a.read(pawl.OutFile))
			}
			if status, _ := Probe(a.dir); scope == "subreaper" && status.Begun.Scope != scope {
				t.Errorf("scope %s", status.Begun.Scope)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	a := sh(t, "while :; do echo noise; sleep 0.05; done")
	a.job.Timeout, a.job.Grace = pawl.Duration(500*time.Millisecond), pawl.Duration(time.Minute)
	if exit := a.run(); exit.Reason != pawl.ReasonTimeout || exit.Seconds > 3 || !strings.Contains(exit.Why, "timeout: 500ms") {
		t.Errorf("exit %+v", exit)
	}
}

func TestGrace(t *testing.T) {
	for name, progress := range map[string]string{
		"event":  `echo '{"progress":{"text":"on it"}}' >> $PAWL_EVENTS`,
		"marker": `echo '[STAGE:begin:id=S01_load]'`,
		"result": `echo '{}' > $PAWL_RESULT`,
	} {
		t.Run(name, func(t *testing.T) {
			a := sh(t, progress+"; sleep 1; echo in time")
			a.job.Env = append(a.job.Env, "PAWL_EVENTS="+filepath.Join(a.dir, pawl.EventsFile), "PAWL_RESULT="+filepath.Join(a.dir, pawl.ResultFile))
			a.job.Timeout, a.job.Grace = pawl.Duration(300*time.Millisecond), pawl.Duration(time.Minute)
			if exit := a.run(); exit.Reason != pawl.ReasonExited || !strings.Contains(a.read(pawl.OutFile), "in time") {
				t.Errorf("exit %+v", exit)
			}
		})
	}
	t.Run("none", func(t *testing.T) { // pawl reports what it does itself
		a := sh(t, `echo '{"progress":{"text":"new kernel","done":0,"note":true}}' >> $PAWL_EVENTS; echo '[REHYDRATED:from=c1]'; sleep 100`)
		a.job.Env = append(a.job.Env, "PAWL_EVENTS="+filepath.Join(a.dir, pawl.EventsFile))
		a.job.Timeout, a.job.Grace = pawl.Duration(300*time.Millisecond), pawl.Duration(time.Minute)
		if exit := a.run(); exit.Reason != pawl.ReasonTimeout || !strings.Contains(exit.Why, "it reported no progress") {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("over", func(t *testing.T) {
		a := sh(t, "while :; do echo '[STEP]'; sleep 0.05; done")
		a.job.Timeout, a.job.Grace = pawl.Duration(300*time.Millisecond), pawl.Duration(500*time.Millisecond)
		if exit := a.run(); exit.Reason != pawl.ReasonTimeout || exit.Seconds < 0.8 {
			t.Errorf("exit %+v", exit)
		}
	})
}

func TestStall(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		a := sh(t, "sleep 1000")
		a.job.Stall = pawl.Duration(time.Second)
		if exit := a.run(); exit.Reason != pawl.ReasonStalled || exit.Seconds > 20 {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("computing", func(t *testing.T) {
		a := sh(t, "sh -c 'ulimit -t 2; while :; do :; done'; exit 0")
		a.job.Stall = pawl.Duration(time.Second)
		if exit := a.run(); exit.Reason != pawl.ReasonExited || exit.CPUSeconds < 0.5 {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("talking", func(t *testing.T) {
		a := sh(t, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done")
		a.job.Stall = pawl.Duration(time.Second)
		if exit := a.run(); exit.Reason != pawl.ReasonExited {
			t.Errorf("exit %+v", exit)
		}
	})
}

func TestChecks(t *testing.T) {
	checks := map[string]string{"b": "echo seen >&2; exit 3", "a": "test -e made", "c": "echo $PAWL_TOKEN; sleep 1000 & true"}
	a := sh(t, "touch made")
	a.job.Checks = checks
	exit := a.run()
	var got []string
	for _, c := range exit.Checks {
		got = append(got, fmt.Sprint(c.Name, c.Exit, strings.TrimSpace(c.Output)))
	}
	if want := []string{"a0", "b3seen", "c0" + string(a.job.Token)}; !slices.Equal(got, want) || exit.Killed != 1 || *exit.Exit != 0 {
		t.Errorf("checks %q, want %q; exit %+v", got, want, exit)
	}
	for name, script := range map[string]string{
		"bad exit": "exit 1", "says blocked": `echo '{"status":"blocked"}' > $PAWL_RESULT`,
	} {
		t.Run(name, func(t *testing.T) {
			a := sh(t, script)
			a.job.Env = append(a.job.Env, "PAWL_RESULT="+filepath.Join(a.dir, pawl.ResultFile))
			a.job.Checks = checks
			if exit := a.run(); exit.Checks != nil {
				t.Errorf("checks %+v", exit.Checks)
			}
		})
	}
	t.Run("alone, one too slow", func(t *testing.T) {
		a := newAttempt(t)
		a.job.Checks = map[string]string{"a": "sleep 1000", "b": "true"}
		a.job.Timeout = pawl.Duration(300 * time.Millisecond)
		exit := a.run()
		if len(exit.Checks) != 2 || exit.Checks[0].Exit != -1 || exit.Checks[1].Exit != 0 || *exit.Exit != 0 {
			t.Errorf("exit %+v", exit)
		}
		if !strings.Contains(exit.Checks[0].Output, "timeout: 300ms") {
			t.Errorf("output %q", exit.Checks[0].Output)
		}
	})
}

func TestOutputCap(t *testing.T) {
	const limit = 256 << 10
	a := sh(t, `i=0; while [ $i -lt 200 ]; do printf '%08191d\n' $i; i=$((i+1)); done; sleep 0.6; echo the end`)
	a.job.OutputCap = limit
	exit := a.run()
	size := int64(200*8192 + len("the end\n"))
	if exit.OutputBytes != size || len(exit.Cut) != 1 {
		t.Fatalf("exit %+v", exit)
	}
	cut, out := exit.Cut[0], a.read(pawl.OutFile)
	if cut.File != pawl.OutFile || cut.From != limit/2 || cut.To < size-limit/2-block || cut.To > size-limit/2 || int64(len(out)) != size {
		t.Errorf("cut %+v of %d", cut, len(out))
	}
	mark := fmt.Sprintf("\n[pawl: output cut here: bytes %d to %d]\n\x00", cut.From, cut.To)
	if !strings.HasPrefix(out[cut.From:], mark) || strings.Trim(out[cut.From+int64(len(mark)):cut.To], "\x00") != "" {
		t.Errorf("mark %q", out[cut.From:cut.From+100])
	}
	if !strings.HasSuffix(out, "0000199\nthe end\n") || strings.Contains(out[:cut.From], "\x00") || strings.Contains(out[cut.To:], "\x00") {
		t.Error("the ends are damaged")
	}
	var stat syscall.Stat_t
	a.no(syscall.Stat(filepath.Join(a.dir, pawl.OutFile), &stat))
	if stat.Blocks*512 > limit+4*block {
		t.Errorf("%d bytes on disk", stat.Blocks*512)
	}
}

// Where holes are not possible the file is cut off behind its first half, and its writer appends on from there.
func TestOutputCapWithoutHoles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), pawl.OutFile)
	f, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := &output{tail: tail{path: path}, limit: 2000}
	defer o.close()
	for i := range 3 {
		fmt.Fprintf(f, "%2999d\n", i)
		o.readLines(func([]byte) {})
		if err := o.truncate(1000); err != nil {
			t.Fatal(err)
		}
		if want := int64(3000 * (i + 1)); o.written() != want || o.cut.From != 1000 || o.cut.To != want {
			t.Errorf("written %d, want %d; cut %+v", o.written(), want, o.cut)
		}
	}
	fmt.Fprintln(f, "end")
	o.readLines(func([]byte) {})
	data, _ := os.ReadFile(path)
	if want := "\n[pawl: output cut here: bytes 1000 to 9000]\nend\n"; string(data[1000:]) != want || o.written() != 9004 {
		t.Errorf("%q, written %d", data[1000:], o.written())
	}
}

func TestHeartbeat(t *testing.T) {
	a := sh(t, `echo '[STEP]'; echo $$ > leader.pid; sleep 1000 & wait`)
	a.job.Beat = pawl.Duration(300 * time.Millisecond)
	a.start()
	var beat *pawl.Beat
	a.until("a second heartbeat", func() bool {
		beat, _ = readRecord[pawl.Beat](filepath.Join(a.dir, pawl.BeatFile))
		return beat != nil && beat.Processes > 0
	})
	if beat.Processes != 2 || beat.OutputBytes != 7 || beat.Progress.IsZero() || beat.Token != a.job.Token || beat.Slept != 0 {
		t.Errorf("beat %+v", beat)
	}
	status, err := Probe(a.dir)
	a.no(err)
	a.no(process.Signal(status.Begun.Supervisor, syscall.SIGSTOP))
	a.until("seen to be stopped", func() bool {
		seen, err := watchdog.Observe(a.dir, time.Now())
		return err == nil && seen.Held && seen.Stopped && seen.Silence > 500*time.Millisecond
	})
	seen, err := watchdog.Observe(a.dir, time.Now())
	a.no(err)
	found := watchdog.Assess(seen, watchdog.Limits{Stalled: 500 * time.Millisecond})
	if found.Action != watchdog.Kill || !strings.Contains(found.Evidence, "stopped by a signal") {
		t.Errorf("assessment %+v", found)
	}
	a.no(Kill(a.dir))
	a.no(Attach(a.dir).Wait(a.soon()))
	_, left, err := Sweep(a.dir, "")
	if err != nil || left != nil {
		t.Errorf("sweep: left %v, %v", left, err)
	}
}
