package process

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"pawl"
)

func TestLooksAtAProcess(t *testing.T) {
	t.Parallel()
	self := os.Getpid()
	var want []string
	for network, at := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		listener, err := net.Listen(network, at)
		if err != nil {
			t.Logf("%s: %v", network, err)
			continue
		}
		defer listener.Close()
		want = append(want, listener.Addr().String())
	}
	listens, err := Listens(self)
	for _, address := range want {
		if !slices.Contains(listens, address) || err != nil {
			t.Errorf("listens at %v, %v; want %s", listens, err, address)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.Create(filepath.Join(dir, "written"))
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	read, err := os.Open(written.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if files, err := Writes(self, dir); err != nil || !slices.Equal(files, []string{written.Name()}) {
		t.Errorf("can write %v, %v", files, err)
	}
	if files, err := Writes(self, dir+"/written"); err != nil || files != nil {
		t.Errorf("below a file: %v, %v", files, err)
	}
	if _, err := Written(self); err != nil {
		t.Error(err)
	}
	if text := Command(self); text == "" {
		t.Error("no command")
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000:0016":                         "0.0.0.0:22",
		"00000000000000000000000001000000:1F90": "[::1]:8080",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
		"B80D01200000000000000000010000AB:0001": "[2001:db8::ab00:1]:1",
		"nonsense":                              "nonsense",
		"01:0050":                               "01:0050",
	} {
		if got := address(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestHasLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		how  int
		want bool
	}{{unix.LOCK_SH, false}, {unix.LOCK_EX, true}, {unix.LOCK_UN, false}} {
		if err := unix.Flock(int(f.Fd()), c.how); err != nil {
			t.Fatal(err)
		}
		if has, err := HasLock(os.Getpid(), path); err != nil || has != c.want {
			t.Errorf("lock %d: %v, %v", c.how, has, err)
		}
	}
	if has, err := HasLock(os.Getppid(), path); has {
		t.Errorf("another process: %v, %v", has, err)
	}
}

func TestKillSurely(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	who, err := Identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	for name, c := range map[string]struct {
		change func(*pawl.Process)
		unless error
		want   error
	}{
		"another start":     {change: func(p *pawl.Process) { p.Start++ }, want: ErrGone},
		"another boot":      {change: func(p *pawl.Process) { p.BootID = "x" }, want: ErrGone},
		"no boot":           {change: func(p *pawl.Process) { p.BootID = "" }, want: ErrUnverifiable},
		"another namespace": {change: func(p *pawl.Process) { p.PIDNS = "pid:[1]" }, want: ErrOtherNamespace},
		"no namespace":      {change: func(p *pawl.Process) { p.PIDNS = "" }, want: ErrUnverifiable},
		"no process":        {change: func(p *pawl.Process) { p.PID = 0 }, want: ErrGone},
		"refused":           {change: func(*pawl.Process) {}, unless: refused, want: refused},
	} {
		p := who
		c.change(&p)
		if err := KillVerified(p, func() error { return c.unless }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Find(who); err != nil {
			t.Fatalf("%s: it is dead: %v", name, err)
		}
	}
	if err := unix.Kill(who.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := KillVerified(who, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("it ended well")
	}
}
