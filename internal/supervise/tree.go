package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// tree is the child, called the leader, and all its descendants.
type tree struct {
	children chan os.Signal      // SIGCHLD, after hear
	adopts   bool                // orphans come to this process, so without children it has no descendants
	group    *cgroup             // nil: no cgroup
	as       *pawl.Account       // who runs the command. Defaults to the user of this process.
	before   time.Duration       // CPU time of the children that ended before the attempt
	leader   int                 // 0: not started, or ended
	pidfd    int                 // of the leader; -1 if there is none
	status   *syscall.WaitStatus // of the command; nil until it has ended

	namespace bool // run the command in a PID namespace; the leader is then an init (see Init)
	reports   int  // descriptor of the init's reports
}

// prepareScope chooses the scope of the child's processes. open creates it after it was recorded, so a crash in between
// leaves no unknown cgroup.
func (t *tree) prepareScope(name string) (scope, cgroup string) {
	t.adopts = adoptOrphans()
	t.group = newCgroup(name)
	return t.scope()
}

// open creates the cgroup, or does without one.
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

// start starts a command as the leader. If the cgroup cannot be used, it starts the command without it.
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
	if err := disk.BeforeSpawn(); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	t.pidfd = -1
	attr := &syscall.ProcAttr{Dir: dir, Env: env, Files: []uintptr{stdin.Fd(), stdout.Fd(), stderr.Fd()}, Sys: t.attributes()}
	pid, err := t.fork(path, command, attr)
	if err != nil && t.group != nil {
		t.group.remove()
		t.group = nil
		attr.Sys = t.attributes()
		pid, err = t.fork(path, command, attr)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	t.leader, t.status = pid, nil
	return nil
}

// attributes returns those of the leader's process.
func (t *tree) attributes() *syscall.SysProcAttr {
	attr := childAttributes(t.group, t.as)
	if !t.namespace {
		addPidfd(attr, &t.pidfd)
	}
	return attr
}

// fork starts a program, under an init if a PID namespace is requested.
func (t *tree) fork(path string, command []string, attr *syscall.ProcAttr) (pid int, err error) {
	if !t.namespace {
		return syscall.ForkExec(path, command, attr) // not os.StartProcess, which starts a child to probe pidfds first
	}
	pid, t.reports, err = startInit(path, command, *attr)
	if err == nil {
		return pid, nil
	}
	if why := checkNamespaces(); why != nil {
		err = fmt.Errorf(`cannot create the PID namespace that "pid_namespace: true" in .pawl/config.yaml requires: %w`, why)
	}
	return 0, err
}

// lookPath finds a program like a shell in dir would, with the child's PATH.
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

// reap reaps all children that have ended, and reports whether the tree is empty.
func (t *tree) reap() (empty bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		t.readInitStatus() // an init reports before it ends
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

// leaderEnded records the leader's wait status, unless the init has reported that of the command.
func (t *tree) leaderEnded(status syscall.WaitStatus) {
	if t.namespace {
		unix.Close(t.reports)
	}
	if t.pidfd >= 0 {
		unix.Close(t.pidfd)
	}
	if t.status == nil {
		t.status = &status
	}
	t.leader, t.pidfd = 0, -1
}

// await waits until the leader has ended or a signal comes, at most for limit, and reaps what has ended. Without a pidfd it returns at once.
// Most commands are short: a system call that waits wakes no other thread of this process.
func (t *tree) await(limit time.Duration) (signaled bool) {
	if t.pidfd < 0 {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(t.pidfd), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, int(limit/time.Millisecond))
	t.reap()
	return err != nil
}

// hear has SIGCHLD sent to children. Whoever waits for that must reap in between.
func (t *tree) hear() { signal.Notify(t.children, syscall.SIGCHLD) }

// readInitStatus reads the init's report about the command, if there is one.
func (t *tree) readInitStatus() {
	if t.namespace && t.leader != 0 && t.status == nil {
		t.status = readStatus(t.reports)
	}
}

// members returns the live processes of the tree.
func (t *tree) members() []process.Stat {
	table, err := process.Table()
	if err != nil {
		return nil
	}
	return process.Below(table, os.Getpid())
}

// count returns the number of members, without the init.
func (t *tree) count(members []process.Stat) int {
	if t.namespace && slices.ContainsFunc(members, func(m process.Stat) bool { return m.PID == t.leader }) {
		return len(members) - 1
	}
	return len(members)
}

// signal sends a signal to every process in the tree, and returns their number.
func (t *tree) signal(sig syscall.Signal) int {
	members := t.members()
	for _, m := range members {
		signalStat(m, sig) // errors show in members later: the process has ended, or remains
	}
	return t.count(members)
}

// killWait is how long killed processes have to end.
const killWait = 5 * time.Second

// kill kills all processes of the tree, and returns those that survive. It stops them first, so that none can start
// another meanwhile.
func (t *tree) kill() (left []int) {
	for end := time.Now().Add(killWait); ; {
		t.group.kill() // the signals below cover systems without cgroup.kill
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

// wait waits until the tree is empty, at most for limit, and reports whether it is. It calls meanwhile regularly,
// unless that is nil.
func (t *tree) wait(limit time.Duration, meanwhile func()) (empty bool) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	t.hear()
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

// reaped returns the CPU time of all processes of the attempt that have ended.
func (t *tree) reaped() time.Duration { return childrenTime() - t.before }

// childrenTime returns the CPU time of all children of this process that have ended.
func childrenTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// usage returns the CPU time of the whole tree, including ended processes, and the number of live processes.
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
