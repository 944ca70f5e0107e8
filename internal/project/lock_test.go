package project

import (
	"bufio"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

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
