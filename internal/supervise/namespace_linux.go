package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl"
)

// reportFD is the init's end of the socket pair to its supervisor. The init sends "started" or an error, and later the
// wait status of the command in decimal.
const (
	reportFD = 3
	started  = "started"
)

// startInit starts a command under an init of its own (see Init), and returns the init's pid and the supervisor's end
// of the sockets. The kernel kills the init when the supervisor dies, and everything in the namespace with the init.
func startInit(path string, command []string, attr syscall.ProcAttr) (pid, reports int, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	attr.Files = append(attr.Files, uintptr(ends[1]))
	attr.Sys = inNamespace(*attr.Sys)
	pid, err = syscall.ForkExec("/proc/self/exe", append([]string{"pawl", InitVerb, path}, command...), &attr)
	unix.Close(ends[1])
	if err == nil {
		if said := readReport(ends[0], 0); said != started {
			syscall.Wait4(pid, nil, 0, nil)
			err = errors.New(cmp.Or(said, "the init of the PID namespace was killed"))
		}
	}
	if err != nil {
		unix.Close(ends[0])
		return 0, 0, err
	}
	return pid, ends[0], nil
}

// inNamespace adds namespaces to the attributes of a child. An ordinary user also needs a user namespace, with
// unchanged user numbers and the right to mount.
func inNamespace(attr syscall.SysProcAttr) *syscall.SysProcAttr {
	attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	return &attr
}

// readReport returns the next report of an init, or "".
func readReport(reports, flags int) string {
	var report [1 << 10]byte
	for {
		n, _, err := unix.Recvfrom(reports, report[:], flags)
		if err != unix.EINTR {
			return string(report[:max(n, 0)])
		}
	}
}

// readStatus returns the wait status of an init's command, or nil if the command has not ended.
func readStatus(reports int) *syscall.WaitStatus {
	n, err := strconv.ParseUint(readReport(reports, unix.MSG_DONTWAIT), 10, 32)
	if err != nil {
		return nil
	}
	status := syscall.WaitStatus(n)
	return &status
}

// Init runs as process 1 of a PID namespace. Its supervisor passes the path of a program and its arguments. Init starts
// the program, reports its wait status, and exits when no other process is left. It catches all signals and does
// nothing: the supervisor sees all processes in the namespace and signals them itself.
func Init(args []string) error {
	runtime.LockOSThread() // capabilities belong to a thread
	if os.Getpid() != 1 || len(args) == 0 {
		return errors.New("not process 1 of a PID namespace: pawl starts this command itself")
	}
	syscall.CloseOnExec(reportFD)
	signal.Notify(make(chan os.Signal, 1))
	leader, err := startInNamespace(args[0], args[1:])
	if err != nil {
		return report(err.Error())
	}
	if err := report(started); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case err == syscall.ECHILD:
			return nil
		case pid == leader:
			report(strconv.Itoa(int(status))) // if the supervisor is dead, the kernel is about to kill this process too
		}
	}
}

func report(what string) error { return unix.Send(reportFD, []byte(what), unix.MSG_NOSIGNAL) }

// startInNamespace mounts a /proc for the namespace and starts the program. The mounts are not visible outside.
func startInNamespace(path string, command []string) (pid int, err error) {
	if n, _ := unix.Poll([]unix.PollFd{{Fd: reportFD}}, 0); n != 0 { // the supervisor died before the kernel linked our life to its
		return 0, errors.New("the supervisor is dead")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 0, fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return 0, fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("drop capabilities: %w", err)
	}
	return syscall.ForkExec(path, command, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
}

// checkNamespaces returns why programs cannot run in a PID namespace of their own here, or nil.
func checkNamespaces() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	attr := syscall.ProcAttr{Dir: "/", Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: childAttributes(nil, nil)}
	pid, reports, err := startInit("/bin/sh", []string{"sh", "-c", ":"}, attr)
	if err != nil {
		return fmt.Errorf("%w: not permitted, because of %s", err, namespaceObstacle())
	}
	unix.Close(reports)
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

// namespaceObstacle returns the likely reason why namespaces are not permitted here.
func namespaceObstacle() string {
	for _, known := range []struct {
		file, line, means string
		root              bool // applies to root too
	}{
		{"/proc/sys/user/max_pid_namespaces", "0", "user.max_pid_namespaces=0", true},
		{"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=0", false},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=0", false},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor (kernel.apparmor_restrict_unprivileged_userns=1)", false},
		{"/proc/self/status", "Seccomp:\t2", "a seccomp filter, such as Docker's default one (run with --privileged)", true},
	} {
		data, err := os.ReadFile(known.file)
		if err == nil && (known.root || os.Geteuid() != 0) && strings.Contains("\n"+string(data), "\n"+known.line+"\n") {
			return known.means
		}
	}
	return "missing CAP_SYS_ADMIN, or a partly masked /proc as in containers"
}

// namespaceFinding reports whether a step can have a PID namespace.
func namespaceFinding() pawl.Finding {
	if err := checkNamespaces(); err != nil {
		return pawl.Finding{Level: pawl.Warn, What: `PID namespaces are not available to steps: do not set "pid_namespace"`, Evidence: err.Error()}
	}
	return pawl.Finding{Level: pawl.OK, What: `PID namespaces are available to steps ("pid_namespace: true" in .pawl/config.yaml)`}
}
