package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// tree is the child, called the leader, and everything that it starts.
type tree struct {
	children chan os.Signal      // SIGCHLD
	adopts   bool                // orphans come to us, so that who has no child has no descendant either
	group    *cgroup             // nil: none
	leader   int                 // 0: none, or it is gone
	status   *syscall.WaitStatus // the command's, once it has ended

	namespace bool // the command runs in a PID namespace; the leader is its parent there, an init (see Init)
	reports   int  // what the init says is read here
}

// enclose says in which scope children are to run. The scope is made by open, once it is on record: what dies between
// leaves nothing that nobody knows of.
func (t *tree) enclose(name string) (scope, cgroup string) {
	t.adopts = adoptOrphans()
	t.group = newCgroup(name)
	return t.scope()
}

// open makes the scope. Without a cgroup after all it is a lesser one.
func (t *tree) open() {
	if !t.group.make() {
		t.group = nil
	}
}

func (t *tree) scope() (scope, cgroup string) {
	scope = "process-group"
	if t.adopts {
		scope = "subreaper"
	}
	if t.group != nil {
		scope, cgroup = "cgroup", t.group.path
	}
	if t.namespace {
		scope = "pid-namespace"
	}
	return scope, cgroup
}

func (t *tree) remove() { t.group.remove() }

// start starts a command as the leader. In a cgroup that cannot be entered after all it is started without.
func (t *tree) start(command []string, dir string, env []string, stdout, stderr *os.File) error {
	path, err := lookPath(command[0], dir, env)
	if err != nil {
		return err
	}
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer stdin.Close()
	if err := disk.Spawning(); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	attr := &syscall.ProcAttr{
		Dir: dir, Env: env, Files: []uintptr{stdin.Fd(), stdout.Fd(), stderr.Fd()}, Sys: childAttributes(t.group),
	}
	pid, err := t.fork(path, command, attr)
	if err != nil && t.group != nil {
		t.group.remove()
		t.group = nil
		attr.Sys = childAttributes(nil)
		pid, err = t.fork(path, command, attr)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	t.leader, t.status = pid, nil
	return nil
}

// fork starts a program, where a PID namespace is asked for under an init there.
func (t *tree) fork(path string, command []string, attr *syscall.ProcAttr) (pid int, err error) {
	if !t.namespace {
		return syscall.ForkExec(path, command, attr) // not os.StartProcess: that tries out pidfds with a child first
	}
	pid, t.reports, err = startInit(path, command, *attr)
	if err == nil {
		return pid, nil
	}
	if why := tryNamespace(); why != nil {
		err = fmt.Errorf(`no PID namespace, which "pid_namespace: true" in .pawl/config.yaml asks for, can be had here: %w`, why)
	}
	return 0, err
}

// lookPath finds a program as a shell in dir would, with the child's PATH and not with ours.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return filepath.Join(dir, name), nil
	}
	var path string
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// reap takes in all children that have ended, and reports whether nothing of the tree is left.
func (t *tree) reap() (empty bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		t.hear() // it speaks before it ends
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD:
			return t.adopts || len(t.members()) == 0
		case err != nil || pid == 0:
			return false
		case pid == t.leader:
			t.leaderEnded(status)
		}
	}
}

// leaderEnded notes how the leader has ended. What an init has said of the command goes before that.
func (t *tree) leaderEnded(status syscall.WaitStatus) {
	if t.namespace {
		unix.Close(t.reports)
	}
	if t.status == nil {
		t.status = &status
	}
	t.leader = 0
}

// hear notes what an init says of the command.
func (t *tree) hear() {
	if t.namespace && t.leader != 0 && t.status == nil {
		t.status = hearStatus(t.reports)
	}
}

// members returns what is left of the tree.
func (t *tree) members() []process.Stat {
	table, err := process.Table()
	if err != nil {
		return nil
	}
	return process.Below(table, os.Getpid())
}

// count returns how many these members of the tree are without the init.
func (t *tree) count(members []process.Stat) int {
	if t.namespace && slices.ContainsFunc(members, func(m process.Stat) bool { return m.PID == t.leader }) {
		return len(members) - 1
	}
	return len(members)
}

// signal sends a signal to everyone in the tree, once, and returns how many that are.
func (t *tree) signal(sig syscall.Signal) int {
	members := t.members()
	for _, m := range members {
		signalStat(m, sig) // one that is gone meanwhile needs none; one that is not ours to signal is seen to be left
	}
	return t.count(members)
}

// killWait is how long killed processes have to be gone.
const killWait = 5 * time.Second

// kill stops and kills everyone until nobody is left, and returns those that cannot be killed. Stopped first, none can
// start another while the rest is being killed.
func (t *tree) kill() (left []int) {
	for end := time.Now().Add(killWait); ; {
		t.group.kill() // what that does not do is done below
		t.signal(syscall.SIGSTOP)
		t.signal(syscall.SIGKILL)
		if t.wait(20*time.Millisecond, nil) {
			return nil
		}
		if time.Now().After(end) {
			return pids(t.members())
		}
	}
}

// wait waits until nothing of the tree is left, at most for limit, and reports whether that is so. Meanwhile it calls
// meanwhile often, where there is one.
func (t *tree) wait(limit time.Duration, meanwhile func()) (empty bool) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for !t.reap() {
		select {
		case <-t.children:
		case <-ticker.C:
			if meanwhile != nil {
				meanwhile()
			}
		case <-deadline.C:
			return t.reap()
		}
	}
	return true
}

// reaped returns the processor time of all processes that have ended.
func (t *tree) reaped() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// usage returns the processor time of the whole tree, ended or not, and how many processes it has.
func (t *tree) usage() (cpu time.Duration, members int, err error) {
	if !process.MeasuresCPU {
		return t.reaped(), t.count(t.members()), errors.ErrUnsupported
	}
	cpu = t.reaped()
	all := t.members()
	for _, m := range all {
		cpu += m.CPU
	}
	return cpu, t.count(all), nil
}
