package project

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

func TestOneEngine(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	if holder, alive := p.EngineHolder(); alive || holder != (Holder{}) {
		t.Errorf("nobody yet: %+v, %v", holder, alive)
	}
	pid, end := holdElsewhere(t, p)
	_, err := p.LockEngine(Holder{PID: 1})
	if pawl.KindOf(err) != pawl.KindHeld || !strings.Contains(err.Error(), "run demo, since ") || pawl.HintOf(err) == "" {
		t.Errorf("second engine: %v", err)
	}
	if holder, alive := p.EngineHolder(); !alive || holder.PID != pid || holder.Command != "pawl run" {
		t.Errorf("held: %+v, %v; want pid %d", holder, alive, pid)
	}
	end()
	if holder, alive := p.EngineHolder(); alive || holder.PID != pid {
		t.Errorf("killed: %+v, %v; want pid %d", holder, alive, pid)
	}
	lock, err := p.LockEngine(Holder{PID: 1, Run: "next"})
	if err != nil {
		t.Fatalf("after the holder's death: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
	if holder, alive := p.EngineHolder(); alive || holder.Run != "next" {
		t.Errorf("unlocked: %+v, %v", holder, alive)
	}
}

// holdElsewhere has another process hold the lock, until it is killed by end.
func holdElsewhere(t *testing.T, p *Project) (pid int, end func()) {
	t.Helper()
	cmd := another(t, p.Root, os.Getenv("HOME"), "hold")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || said != "held\n" {
		t.Fatalf("holder said %q, %v", said, err)
	}
	return cmd.Process.Pid, func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if cmd.Wait() == nil {
			t.Fatal("the holder ended well")
		}
		stdin.Close()
	}
}

// TestKilledHolder: an engine that was killed counts as dead at once, although the system may not have released its lock yet.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	for range 20 {
		pid, end := holdElsewhere(t, p)
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if holder, alive := p.EngineHolder(); alive || holder.PID != pid {
			t.Fatalf("%+v, alive: %v; want a dead %d", holder, alive, pid)
		}
		end()
	}
}

// Those who only look must not keep an engine out.
func TestProbesDoNotLockOut(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	stop := make(chan struct{})
	var probes sync.WaitGroup
	for range 2 {
		probes.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p.EngineHolder()
				}
			}
		})
	}
	for range 50 {
		lock, err := p.LockEngine(Holder{PID: 1, Since: time.Now()})
		if err == nil {
			err = lock.Unlock()
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	probes.Wait()
}

func TestHolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	lock, err := p.LockEngine(Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	write(t, p.path("engine.lock"), `{"pid":`)
	if _, err := p.LockEngine(Holder{PID: 2}); pawl.KindOf(err) != pawl.KindHeld {
		t.Error(err)
	}
	if holder, alive := p.EngineHolder(); !alive || holder != (Holder{}) {
		t.Errorf("%+v, %v", holder, alive)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

// A process passes the lock on: the project is held at every moment.
func TestLockIsPassedOn(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	lock, err := p.LockEngine(Holder{PID: 1, Run: "first"})
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(lock.File().Fd())) // as a child inherits it
	if err != nil {
		t.Fatal(err)
	}
	inherited := os.NewFile(uintptr(fd), "inherited")
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	other, child := found(t, p.Root), found(t, p.Root)
	if _, err := other.LockEngine(Holder{PID: 2}); pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("held by the child: %v", err)
	}
	stranger, err := os.Create(p.path("stranger"))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if child.AcceptLock(stranger) == nil {
		t.Error("a lock of another file is accepted")
	}
	if err := child.AcceptLock(inherited); err != nil {
		t.Fatal(err)
	}
	if _, alive := child.EngineHolder(); alive {
		t.Error("the child keeps itself out")
	}
	if lock, err = child.LockEngine(Holder{PID: 3, Run: "second"}); err != nil {
		t.Fatal(err)
	}
	if holder, alive := other.EngineHolder(); !alive || holder.Run != "second" {
		t.Errorf("%+v, %v", holder, alive)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
	if lock, err = other.LockEngine(Holder{PID: 4}); err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func found(t *testing.T, root string) *Project {
	t.Helper()
	p, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWaitForEngine(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	if err := p.WaitForEngine(t.Context()); err != nil {
		t.Errorf("nobody yet: %v", err)
	}
	_, end := holdElsewhere(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.WaitForEngine(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- p.WaitForEngine(t.Context()) }()
	end()
	if err := <-waited; err != nil {
		t.Error(err)
	}
}
