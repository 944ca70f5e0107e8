//go:build linux

package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/supervise/process"
)

// testPool is a pool and its attempts.
type testPool struct {
	*Pool
	attempts []*attempt
}

// begin starts an attempt under a supervisor of the pool.
func (a *attempt) begin(p *testPool) *Running {
	a.Helper()
	p.attempts = append(p.attempts, a)
	a.scripted()
	lock, err := p.Prepare(a.dir, a.job)
	a.no(err)
	running, err := p.Start(lock, a.job, NewSeal())
	a.no(err)
	return running
}

// next returns another attempt at a command in a folder next to this one's.
func (a *attempt) next(script string) *attempt {
	next := *a
	next.dir = a.dir + "+"
	next.job.Script = script
	next.job.Token = a.job.Token[1:] + "0"
	return &next
}

func (a *attempt) supervisor() pawl.Process {
	a.Helper()
	begun, err := readBegun(a.dir)
	a.no(err)
	if begun == nil {
		a.Fatal("not begun")
	}
	return begun.Supervisor
}

// poolOf returns a pool. All that its supervisors do has ended when the test has.
func poolOf(a *attempt) *testPool {
	p := &testPool{Pool: NewPool(filepath.Dir(a.dir))}
	a.Cleanup(func() {
		for _, b := range p.attempts {
			RequestAbort(b.dir, pawl.Abort{Reason: pawl.ReasonAbort})
		}
		p.Close()
		for _, b := range p.attempts {
			b.untilGone()
		}
	})
	return p
}

// TestPoolReuses: a supervisor has one attempt after another, and each has its own processes, CPU time, environment and seal.
func TestPoolReuses(t *testing.T) {
	a := sh(t, "sleep 1000 & i=0; while test $i -lt 200000; do i=$((i+1)); done; echo $SECRET")
	a.job.Inherited = append(os.Environ(), "SECRET=one", "BYTES=\xff", "LONG="+strings.Repeat("x", 100_000))
	p := poolOf(a)
	first := a.begin(p)
	a.no(first.Wait(a.soon()))
	if exit := a.exit(); exit.Killed != 1 || exit.Boot != process.BootID() || exit.CPUSeconds == 0 {
		t.Errorf("first: %+v", exit)
	}
	if got := a.read(pawl.OutFile); got != "one\n" {
		t.Errorf("output %q", got)
	}
	a.no(first.Noted())
	b := a.next(`echo "$SECRET" "$BYTES" ${#LONG}`)
	b.job.Inherited = append(os.Environ(), "BYTES=\xff", "LONG="+strings.Repeat("x", 1_000))
	second := b.begin(p)
	b.no(second.Wait(b.soon()))
	if exit := b.exit(); exit.Killed != 0 || exit.CPUSeconds >= a.exit().CPUSeconds {
		t.Errorf("second: %+v after %+v", exit, a.exit())
	}
	if got := b.read(pawl.OutFile); got != " \xff 1000\n" {
		t.Errorf("output %q", got)
	}
	if a.supervisor() != b.supervisor() {
		t.Errorf("supervisors %+v and %+v", a.supervisor(), b.supervisor())
	}
}

// TestPoolGrows: while an attempt runs, or its end is not noted, the next one gets another supervisor.
func TestPoolGrows(t *testing.T) {
	a := sh(t, "true")
	p := poolOf(a)
	first := a.begin(p)
	a.no(first.Wait(a.soon()))
	b := a.next("true")
	second := b.begin(p)
	b.no(second.Wait(b.soon()))
	if a.supervisor() == b.supervisor() {
		t.Error("the end of the first was not noted, and its supervisor had the next")
	}
}

// TestPoolDeadSupervisor: a supervisor that was killed while idle is replaced.
func TestPoolDeadSupervisor(t *testing.T) {
	a := sh(t, "true")
	p := poolOf(a)
	first := a.begin(p)
	a.no(first.Wait(a.soon()))
	a.no(first.Noted())
	a.no(process.Signal(a.supervisor(), syscall.SIGKILL))
	b := a.next("true")
	b.no(b.begin(p).Wait(b.soon()))
	b.until("the next attempt, or that it has not begun", func() bool {
		status, err := Probe(b.dir)
		return err == nil && (status.State == Ended || status.State == NotBegun)
	})
}

// TestPoolDiesAtOnce: a supervisor that dies before it has the attempt leaves one that has not begun, and the engine continues.
func TestPoolDiesAtOnce(t *testing.T) {
	a := sh(t, "true")
	env := []string{"ENGINE_POOL=yes", "SUPERVISOR_DIES=yes"}
	for i := range 8 { // more than the link holds
		env = append(env, fmt.Sprintf("LONG%d=%s", i, strings.Repeat("x", 100_000)))
	}
	a.no(a.helper(env...).Wait())
	if status, err := Probe(a.dir); err != nil || status.State != NotBegun {
		t.Errorf("%s, %v", status.State, err)
	}
}

// TestPoolDiesWithOrder: what one supervisor was given, no other one gets, because it may have begun.
func TestPoolDiesWithOrder(t *testing.T) {
	a := sh(t, "true")
	p := poolOf(a)
	first := a.begin(p)
	a.no(first.Wait(a.soon()))
	link := first.slot.link
	a.no(first.Noted())
	a.no(process.Signal(a.supervisor(), syscall.SIGSTOP))
	a.until("a stopped supervisor", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", a.supervisor().PID))
		a.no(err)
		return !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err != nil || !strings.Contains(string(stat), ") T ")
		})
	})
	b := a.next("true")
	b.job.Inherited = append(os.Environ(), "LONG="+strings.Repeat("x", 1<<20)) // more than the link holds
	go func() {
		b.until("an order on the link", func() bool { return unread(link) > 64<<10 })
		b.no(process.Signal(a.supervisor(), syscall.SIGKILL))
	}()
	b.no(b.begin(p).Wait(b.soon()))
	if status, err := Probe(b.dir); err != nil || status.State != NotBegun {
		t.Errorf("%s, %v", status.State, err)
	}
}

// unread returns how much memory has what the other side of a socket has not read, in bytes.
func unread(f *os.File) (n int) {
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	}
	if err != nil {
		return 0
	}
	return n
}

// TestSlowEngine: an exit record whose end is not noted in time is made durable, and the supervisor can still be used.
func TestSlowEngine(t *testing.T) {
	a := sh(t, "true")
	p := poolOf(a)
	first := a.begin(p)
	a.no(first.Wait(a.soon()))
	a.until("a durable exit record", func() bool { return a.exit().Boot == "" })
	a.no(first.Noted())
	b := a.next("true")
	b.no(b.begin(p).Wait(b.soon()))
	if a.supervisor() != b.supervisor() {
		t.Error("the supervisor was not used again")
	}
}

// TestEngineGone: the supervisor of a killed engine completes its attempt, makes the records durable and exits.
func TestEngineGone(t *testing.T) {
	a := sh(t, "touch begun; until test -e go; do sleep 0.01; done")
	engine := a.helper("ENGINE_POOL=yes")
	a.until("the attempt", func() bool { _, err := os.Stat(filepath.Join(a.work, "begun")); return err == nil })
	a.no(engine.Process.Kill())
	engine.Wait()
	if status, err := Probe(a.dir); err != nil || status.State != Live {
		t.Fatalf("%s, %v", status.State, err)
	}
	a.no(os.WriteFile(filepath.Join(a.work, "go"), nil, 0o600))
	a.no(Attach(a.dir).Wait(a.soon()))
	if exit := a.exit(); exit.Boot != "" || exit.Exit == nil || *exit.Exit != 0 {
		t.Errorf("exit %+v", exit)
	}
	a.untilGone()
}

// TestEngineGoneUnnoted: the engine dies after the end of an attempt, before it noted that, and the supervisor makes the records durable.
func TestEngineGoneUnnoted(t *testing.T) {
	a := sh(t, "true")
	a.no(a.helper("ENGINE_POOL=yes").Wait())
	a.untilGone()
	if exit := a.exit(); exit.Boot != "" {
		t.Errorf("exit %+v", exit)
	}
}

// TestUnsyncedRecords: after a restart of the system, records that were not synced prove nothing, and need not be there.
func TestUnsyncedRecords(t *testing.T) {
	a := sh(t, "true")
	exit := a.run()
	exit.Boot = "another"
	seal := NewSeal()
	data, err := json.Marshal(exit)
	a.no(err)
	a.no(os.WriteFile(filepath.Join(a.dir, pawl.ExitFile), seal.Sign(data), 0o600))
	for _, without := range []string{"", pawl.BegunFile} {
		a.no(os.RemoveAll(filepath.Join(a.dir, cmp.Or(without, "none"))))
		if status, err := Probe(a.dir); err != nil || status.State != Lost || status.Exit != nil || status.Unsynced == nil {
			t.Errorf("without %q: %+v, %v", without, status, err)
		}
	}
	for boot, want := range map[string]State{"": NotBegun, process.BootID(): NotBegun, "another": Lost} {
		if got := (Status{State: NotBegun}).Under(boot).State; got != want {
			t.Errorf("under boot %q: %s, want %s", boot, got, want)
		}
	}
}

// TestLateSignals: what is meant for an attempt that has ended does not end the next one of its supervisor.
func TestLateSignals(t *testing.T) {
	a := sh(t, "true")
	p := poolOf(a)
	first := a.begin(p)
	a.no(first.Wait(a.soon()))
	a.no(first.Noted())
	b := a.next("touch begun; until test -e go; do sleep 0.01; done")
	second := b.begin(p)
	b.until("the next attempt", func() bool { _, err := os.Stat(filepath.Join(b.work, "begun")); return err == nil })
	b.no(process.Signal(b.supervisor(), syscall.SIGTERM))
	b.no(killSupervisor(a.dir, a.supervisor()))
	short, cancel := context.WithTimeout(t.Context(), 3*tick)
	defer cancel()
	if err := second.Wait(short); err == nil {
		t.Errorf("ended: %+v", b.exit())
	}
	b.no(os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600))
	b.no(second.Wait(b.soon()))
	if exit := b.exit(); exit.Reason != pawl.ReasonExited {
		t.Errorf("exit %+v", exit)
	}
}

// TestKillInPool: Kill kills the supervisor of a running attempt.
func TestKillInPool(t *testing.T) {
	a := doing(t, "family")
	p := poolOf(a)
	running := a.begin(p)
	a.waitFor("leader", "child", "session", "group", "nameless", "daemon")
	a.no(Kill(a.dir))
	a.no(running.Wait(a.soon()))
	if status, err := Probe(a.dir); err != nil || status.State != Lost {
		t.Errorf("%s, %v", status.State, err)
	}
	if _, left, err := Sweep(a.dir, a.job.Token); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestLinkIsNotInherited: a process that is started at the same moment does not get the ends of a link.
func TestLinkIsNotInherited(t *testing.T) {
	sockets := func() int {
		out, err := exec.Command("sh", "-c", "ls -l /proc/self/fd").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Count(string(out), "socket:")
	}
	before := sockets() // of whoever started this test
	stop := make(chan struct{})
	var links sync.WaitGroup
	links.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			ours, theirs, err := newLink()
			if err != nil {
				t.Error(err)
				return
			}
			ours.Close()
			theirs.Close()
		}
	})
	for range 100 {
		if n := sockets(); n != before {
			t.Errorf("a process inherited %d ends", n-before)
			break
		}
	}
	close(stop)
	links.Wait()
}

// TestPoolSendsExitRecords: what a supervisor sent counts, whatever is in the file afterwards.
func TestPoolSendsExitRecords(t *testing.T) {
	a := sh(t, "exit 3")
	p := poolOf(a)
	running := a.begin(p)
	a.no(running.Wait(a.soon()))
	forged, err := json.Marshal(pawl.Exit{Token: a.job.Token, Reason: pawl.ReasonExited, Exit: new(int)})
	a.no(err)
	a.no(os.WriteFile(filepath.Join(a.dir, pawl.ExitFile), NewSeal().Sign(forged), 0o600))
	public := NewSeal().Public() // of another seal: what was sent needs no signature
	status, err := running.Probe()
	a.no(err)
	if exit := status.ExitSealed(public); status.State != Ended || exit == nil || exit.Token != a.job.Token || exit.Exit == nil || *exit.Exit != 3 {
		t.Errorf("sent: %+v", status)
	}
	status, err = Attach(a.dir).Probe()
	a.no(err)
	if status.ExitSealed(public) != nil {
		t.Errorf("from the file: %+v", status)
	}
}

// TestHear: a supervisor that says too much, or stops in the middle, has said nothing.
func TestHear(t *testing.T) {
	for name, said := range map[string]string{
		"nothing": "", "a torn head": "e\x00", "a torn record": "e\x00\x00\x00\x02{", "too long a record": "e\x01\x00\x00\x01" + strings.Repeat(" ", maxExit+1),
	} {
		if word, exit, err := hear(strings.NewReader(said)); err == nil || word != 0 || exit != nil {
			t.Errorf("%s: %q, %q, %v", name, word, exit, err)
		}
	}
	if word, exit, err := hear(strings.NewReader("l\x00\x00\x00\x02{}e")); word != sayLast || string(exit) != "{}" || err != nil {
		t.Errorf("%q, %q, %v", word, exit, err)
	}
}

// TestChildRecord: begun.json identifies the child of a reused supervisor once it is not short.
func TestChildRecord(t *testing.T) {
	a := sh(t, "touch begun; until test -e go; do sleep 0.01; done")
	p := poolOf(a)
	long := a.begin(p)
	a.until("the child's record", func() bool { begun, err := readBegun(a.dir); return err == nil && begun != nil && begun.Child.PID != 0 })
	a.no(os.WriteFile(filepath.Join(a.work, "go"), nil, 0o600))
	a.no(long.Wait(a.soon()))
	a.no(long.Noted())
	b := a.next("true")
	b.no(b.begin(p).Wait(b.soon()))
	if begun, err := readBegun(b.dir); err != nil || begun == nil || begun.Child.PID != 0 || begun.Supervisor != a.supervisor() {
		t.Errorf("short: %+v, %v", begun, err)
	}
}
