package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	line := "42 (a) R 1 (b) T 7 8 9 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5555 1 2\n"
	got, err := parseStat([]byte(line))
	want := Stat{PID: 42, Parent: 7, Session: 9, Start: 5555, CPU: time.Second, Stopped: true}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "42", "42 (a", "42 (a) R 1 2", "42 (a) R x 8 9 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5555 1"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// A number that now belongs to another process, another boot or another pid namespace is never signalled.
func TestSignalOnlyTheVeryProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*pawl.Process)
		want   error
	}{
		"reused":    {func(p *pawl.Process) { p.Start++ }, ErrGone},
		"boot":      {func(p *pawl.Process) { p.BootID = "another" }, ErrGone},
		"namespace": {func(p *pawl.Process) { p.PIDNS = "pid:[1]" }, ErrOtherNamespace},
		"none":      {func(p *pawl.Process) { p.PID = 0 }, ErrGone},
		"group":     {func(p *pawl.Process) { p.PID = -p.PID }, ErrGone},
	} {
		other := p
		c.change(&other)
		if err := Signal(other, syscall.SIGKILL); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Find(p); err != nil {
		t.Fatalf("it was signalled: %v", err)
	}
	if err := Signal(p, syscall.SIGKILL); err != nil {
		t.Errorf("the very process: %v", err)
	}
	cmd.Wait()
	if err := Signal(p, syscall.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("dead: %v", err)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	table := []Stat{
		{PID: 1, Session: 1}, {PID: 10, Parent: 1, Session: 10},
		{PID: 11, Parent: 10, Session: 11}, {PID: 12, Parent: 11, Session: 12}, {PID: 13, Parent: 1, Session: 10},
		{PID: 14, Parent: 10, Dead: true}, {PID: 15, Parent: 14}, {PID: 20, Parent: 1, Session: 20},
	}
	var got []int
	for _, s := range Below(table, 10) {
		got = append(got, s.PID)
	}
	slices.Sort(got)
	if want := []int{11, 12, 13, 15}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTableAndEnvironment(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = []string{"A=1", "PAWL_TOKEN=abc", "Z=2"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	table, err := Table()
	if err != nil || !slices.ContainsFunc(table, func(s Stat) bool { return s.PID == cmd.Process.Pid && s.Parent == os.Getpid() }) {
		t.Errorf("it is not in the table: %v", err)
	}
	for variable, want := range map[string]bool{"A=1": true, "PAWL_TOKEN=abc": true, "Z=2": true, "PAWL_TOKEN=ab": false, "TOKEN=abc": false} {
		if got := HasVariable(cmd.Process.Pid, variable); got != want {
			t.Errorf("carries %s: %v", variable, got)
		}
	}
}

// Two that ask at the same time do not take each other for the holder.
func TestHeld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held := func(want bool) {
		t.Helper()
		if got, err := Locked(path); err != nil || got != want {
			t.Errorf("held %v, %v", got, err)
		}
	}
	held(false)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for how, want := range map[int]bool{unix.LOCK_SH: false, unix.LOCK_EX: true} {
		if err := unix.Flock(int(f.Fd()), how); err != nil {
			t.Fatal(err)
		}
		held(want)
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if Uptime() <= 0 || Asleep() < 0 || StartedAt(self.Start) > Uptime()+Asleep() {
		t.Errorf("up %s, asleep %s, started %s", Uptime(), Asleep(), StartedAt(self.Start))
	}
}
