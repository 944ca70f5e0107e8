package jupyter

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/supervise/process"
)

// leader is the process of the kernel. It leads a process group of its own. On Linux it dies with pawl; elsewhere the helper kills it
// then.
type leader struct {
	pid    int
	mark   string        // a variable that the kernel's processes inherit
	dead   chan struct{} // closed when it has ended and its process group is killed
	killed uint64        // processes that the system killed for want of memory, when it started

	mu     sync.Mutex
	reaped bool // the number may be that of another process now
	why    string
	death  kernel.Death // once dead is closed
}

// startLeader starts the kernel.
func startLeader(c command, spec kernel.Spec) (*leader, error) {
	log, err := disk.OpenAppend(spec.Log)
	if err != nil {
		return nil, err
	}
	l := &leader{mark: "PAWL_KERNEL=" + disk.RandomHex(12), dead: make(chan struct{})}
	cmd := &exec.Cmd{
		Path: c.path, Args: c.argv, Dir: spec.Dir, Env: append(slices.Clone(c.environ), l.mark), Stdout: log, Stderr: log,
		SysProcAttr: attributes(spec.RunAs),
	}
	started := make(chan error)
	go func() {
		defer log.Close()
		// The system kills the child when the thread that started it ends. So this thread waits for the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			l.pid, l.killed = cmd.Process.Pid, killedForMemory()
		}
		started <- err
		if err == nil {
			l.wait(cmd)
		}
	}()
	if err := <-started; err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("start the kernel: %w", err)}
	}
	return l, nil
}

// wait waits until the leader has ended. Then it kills what is left of the process group: without the kernel that is of no use, and it
// may hold the kernel's connections open.
func (l *leader) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // the state tells more
	_ = syscall.Kill(-l.pid, syscall.SIGKILL)
	l.mu.Lock()
	l.reaped = true
	l.death = deathOf(cmd.ProcessState)
	if l.why != "" {
		l.death.Why = l.why
	} else if l.death.Signal == "SIGKILL" && killedForMemory() > l.killed {
		l.death.Why += "; the system ran out of memory"
	}
	l.mu.Unlock()
	close(l.dead)
}

func deathOf(state *os.ProcessState) kernel.Death {
	if state == nil {
		return kernel.Death{Why: "ended in an unknown way"}
	}
	var d kernel.Death
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		d.Peak = int64(usage.Maxrss) * maxrssUnit
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		d.Signal = unix.SignalName(status.Signal())
		d.Why = "killed by " + d.Signal
		return d
	}
	code := state.ExitCode()
	d.Exit, d.Why = &code, fmt.Sprintf("exited with code %d", code)
	return d
}

// signal sends a signal to the process group, unless the leader is dead.
func (l *leader) signal(sig syscall.Signal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reaped {
		return kernel.ErrDead
	}
	if err := syscall.Kill(-l.pid, sig); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// excuse says why the kernel is dead when it will be.
func (l *leader) excuse(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == "" && !l.reaped {
		l.why = why
	}
}

// kill kills the process group, and says why the kernel is dead unless that is known already.
func (l *leader) kill(why string) {
	l.excuse(why)
	_ = l.signal(syscall.SIGKILL) // it may be dead
}

// alive reports whether the leader has not ended.
func (l *leader) alive() bool {
	select {
	case <-l.dead:
		return false
	default:
		return true
	}
}

// How long sweep waits until what it killed is gone.
const (
	sweepEvery = time.Millisecond
	sweepLimit = time.Second
)

// sweep kills what has left the process group, such as programs in a session of their own, and waits until it is gone. It finds them by
// the variable that they inherited.
func (l *leader) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for limit := time.Now().Add(sweepLimit); l.killRest() && time.Now().Before(limit); {
		<-tick.C
	}
}

// killRest kills what is left of the kernel's processes, and reports whether there was anything.
func (l *leader) killRest() (found bool) {
	table, err := process.Table()
	if err != nil {
		return false
	}
	for _, s := range table {
		if !s.Dead && s.PID != l.pid && process.HasVariable(s.PID, l.mark) {
			found = true
			_ = process.Signal(s.Identity(), syscall.SIGKILL) // it may have ended
		}
	}
	return found
}

// logTail returns the last lines of the kernel's own output, for an error.
func logTail(path string) string {
	data, err := disk.ReadFile(path, 16<<20)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "\n")
}
