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

// reportFD is where an init finds its end of the pair of sockets over which it reports to its supervisor: "started", or
// why not; then the wait status of the command in decimal digits.
const (
	reportFD = 3
	started  = "started"
)

// startInit starts a command as the child of an init of its own (see Init), and returns the init's pid and our end of
// the sockets. The kernel kills the init when we die, and with an init all that is in its namespace.
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
		if said := hear(ends[0], 0); said != started {
			syscall.Wait4(pid, nil, 0, nil)
			err = errors.New(cmp.Or(said, "its init was killed"))
		}
	}
	if err != nil {
		unix.Close(ends[0])
		return 0, 0, err
	}
	return pid, ends[0], nil
}

// inNamespace adds namespaces to how a child is started. An ordinary user needs a user namespace for that, in which
// everyone keeps their number, and the right to mount there.
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

// hear returns the next report of an init, "" where there is none.
func hear(reports, flags int) string {
	var report [1 << 10]byte
	for {
		n, _, err := unix.Recvfrom(reports, report[:], flags)
		if err != unix.EINTR {
			return string(report[:max(n, 0)])
		}
	}
}

// hearStatus returns how the command of an init ended, nil as long as it has not said so.
func hearStatus(reports int) *syscall.WaitStatus {
	n, err := strconv.ParseUint(hear(reports, unix.MSG_DONTWAIT), 10, 32)
	if err != nil {
		return nil
	}
	status := syscall.WaitStatus(n)
	return &status
}

// Init is the process that is number 1 in a PID namespace, started by a supervisor with the path of a program and its
// arguments. It starts the program, reports how it ended, and stays until nobody else is left. All signals are caught
// and unheeded: the supervisor, which sees everyone in here, signals the others itself.
func Init(args []string) error {
	runtime.LockOSThread() // rights are a thread's
	if os.Getpid() != 1 || len(args) == 0 {
		return errors.New("not in a namespace: only a supervisor starts inits")
	}
	syscall.CloseOnExec(reportFD)
	signal.Notify(make(chan os.Signal, 1))
	leader, err := startInside(args[0], args[1:])
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
			report(strconv.Itoa(int(status))) // to nobody, where the supervisor is dead: so are we in a moment
		}
	}
}

func report(what string) error { return unix.Send(reportFD, []byte(what), unix.MSG_NOSIGNAL) }

// startInside gives the namespace its own /proc and starts the program. Mounts here do not show outside.
func startInside(path string, command []string) (pid int, err error) {
	if n, _ := unix.Poll([]unix.PollFd{{Fd: reportFD}}, 0); n != 0 { // it died before it could take us along
		return 0, errors.New("its supervisor is dead")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 0, fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return 0, fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up rights: %w", err)
	}
	return syscall.ForkExec(path, command, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
}

// tryNamespace returns why no program can run in a PID namespace of its own here, nil where one can.
func tryNamespace() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	attr := syscall.ProcAttr{Dir: "/", Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: childAttributes(nil)}
	pid, reports, err := startInit("/bin/sh", []string{"sh", "-c", ":"}, attr)
	if err != nil {
		return fmt.Errorf("%w: it is forbidden by %s", err, forbidder())
	}
	unix.Close(reports)
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

// forbidder says what forbids namespaces here, as far as can be told.
func forbidder() string {
	for _, known := range []struct {
		file, line, means string
		root              bool // too
	}{
		{"/proc/sys/user/max_pid_namespaces", "0", "user.max_pid_namespaces=0", true},
		{"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=0", false},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=0", false},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor (kernel.apparmor_restrict_unprivileged_userns=1)", false},
		{"/proc/self/status", "Seccomp:\t2", "a seccomp filter, as Docker sets one unless told --privileged", true},
	} {
		data, err := os.ReadFile(known.file)
		if err == nil && (known.root || os.Geteuid() != 0) && strings.Contains("\n"+string(data), "\n"+known.line+"\n") {
			return known.means
		}
	}
	return "missing rights (CAP_SYS_ADMIN), or a partly covered /proc, as in containers"
}

// namespaces says whether a step can have a PID namespace.
func namespaces() pawl.Finding {
	if err := tryNamespace(); err != nil {
		return pawl.Finding{Level: pawl.Warn, What: `steps cannot have PID namespaces here: do not set "pid_namespace"`, Evidence: err.Error()}
	}
	return pawl.Finding{Level: pawl.OK, What: `each step can have a PID namespace of its own, with "pid_namespace: true" in .pawl/config.yaml`}
}
