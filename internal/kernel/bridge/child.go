package bridge

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/account"
	"pawl/internal/command"
	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/supervise/process"
)

// markerVar is the variable in the kernel's environment by which Close finds processes that left the kernel's session.
const markerVar = "PAWL_KERNEL"

// child is the process of a kernel. It leads a session and a process group.
type child struct {
	pid    int
	start  uint64 // as in process.Stat
	marker string // NAME=value
	exited *os.File
	before memory // when it started

	mu     sync.Mutex // guards the rest. While reaped is false, the system does not reuse the process's number.
	ended  bool       // it has exited
	reaped bool
	killed bool // this process has sent SIGKILL
	state  *os.ProcessState
}

// startChild starts the interpreter. One thread starts it and waits for it, because on Linux the kernel is killed when the thread that
// started it ends: so it dies with this process.
func startChild(spec kernel.Spec, p *pipes) (*child, error) {
	exited, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &child{marker: markerVar + "=" + disk.RandomHex(16), exited: exited, before: readMemory()}
	cmd := exec.Command(spec.Python.Path, "-u", "-") // with -c, Python 3.13 loads a linecache.py of the working folder
	cmd.Dir = spec.Dir
	cmd.Env = append(append([]string{}, spec.Environ...), c.marker)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.theirs[source], p.theirs[stdout], p.theirs[stderr]
	cmd.ExtraFiles = []*os.File{p.theirs[requests], p.theirs[messages], p.theirs[stacks]}
	cmd.SysProcAttr = attributes(account.Credential(spec.RunAs))
	started := make(chan error)
	go c.live(cmd, started, end)
	err = <-started
	p.closeTheirs()
	if err != nil {
		exited.Close()
		return nil, err
	}
	return c, nil
}

// live starts the process, waits until it exits, kills the rest of its process group, and then closes end.
func (c *child) live(cmd *exec.Cmd, started chan<- error, end *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer end.Close()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	c.pid = cmd.Process.Pid
	if stat, err := process.Of(c.pid); err == nil {
		c.start = stat.Start
	}
	started <- nil
	command.AwaitEnd(c.pid)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	_ = syscall.Kill(-c.pid, syscall.SIGKILL) // the group may be empty
	_ = cmd.Wait()                            // its error is in the state
	c.reaped, c.state = true, cmd.ProcessState
}

func (c *child) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// signal sends a signal to the process group. It does nothing once the kernel has exited.
func (c *child) signal(sig syscall.Signal) error {
	return c.send(sig, func() error { return syscall.Kill(-c.pid, sig) })
}

// signalMain sends a signal to the kernel's main thread.
func (c *child) signalMain(sig syscall.Signal) error {
	return c.send(sig, func() error { return process.SignalMain(c.pid, sig) })
}

func (c *child) send(sig syscall.Signal, kill func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return nil
	}
	if sig == syscall.SIGKILL {
		c.killed = true
	}
	if err := kill(); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to the kernel: %w", unix.SignalName(sig), err)
	}
	return nil
}

// death says how the process ended. It is called after exited was closed.
func (c *child) death(peak int64) kernel.Death {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := kernel.Death{Why: "unknown end", Peak: peak}
	if c.state == nil {
		return d
	}
	if usage, ok := c.state.SysUsage().(*syscall.Rusage); ok {
		d.Peak = max(peak, c.before.peakOf(usage))
	}
	status, _ := c.state.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		code := status.ExitStatus()
		d.Exit, d.Why = &code, fmt.Sprintf("exited with code %d", code)
		return d
	}
	d.Signal = unix.SignalName(status.Signal())
	d.Why = "killed by " + d.Signal
	if n := readMemory().kills - c.before.kills; n > 0 && status.Signal() == syscall.SIGKILL && !c.killed {
		d.Why += ", probably because memory ran out: the system has killed a process for that since the kernel started"
	}
	return d
}

// descendants returns the live processes that descend from the kernel or are in its session.
func (c *child) descendants() []process.Stat {
	if c.hasEnded() {
		return nil
	}
	table, err := process.Table()
	if err != nil {
		return nil
	}
	return process.Below(table, c.pid)
}

// sweepLimit is how long killed processes have to disappear.
const sweepLimit = 5 * time.Second

// sweep kills the processes of the kernel that have outlived it: the known ones, those in its session and those with its marker. It
// returns when none is left.
func (c *child) sweep(known []process.Stat) error {
	deadline := time.Now().Add(sweepLimit)
	for pause := time.Millisecond; ; pause *= 2 {
		table, err := process.Table()
		if err != nil {
			return fmt.Errorf("list the kernel's processes: %w", err)
		}
		left := c.survivors(table, known)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of the kernel could not be killed, such as %d", len(left), left[0].PID)
		}
		for _, s := range left {
			_ = process.Signal(s.Identity(), syscall.SIGKILL) // it may have ended meanwhile
		}
		known = append(known, left...) // a process that is ending shows no environment any more
		time.Sleep(pause)
	}
}

func (c *child) survivors(table, known []process.Stat) []process.Stat {
	session := true // a new process can only get the kernel's number when its session is empty
	live := map[[2]uint64]bool{}
	for _, s := range table {
		session = session && (s.PID != c.pid || s.Start == c.start)
	}
	for _, s := range known {
		live[[2]uint64{uint64(s.PID), s.Start}] = true
	}
	return process.Closure(table, func(s process.Stat) bool {
		return live[[2]uint64{uint64(s.PID), s.Start}] || session && s.Session == c.pid || !s.Dead && process.HasVariable(s.PID, c.marker)
	})
}
