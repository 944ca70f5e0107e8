package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/supervise/process"
)

// adoptOrphans makes this process the parent of every descendant whose own parent dies, so that none can get away.
// It reports whether the system has that.
func adoptOrphans() bool {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// childAttributes starts the child in a process group of its own and, where there is one, in the cgroup. The kernel
// kills it when the thread ends that started it.
func childAttributes(group *cgroup) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(group.dir.Fd())
	}
	return attr
}

// Guarantees says what this system offers to keep the promise that no process outlives its step.
func Guarantees() []pawl.Finding {
	findings := []pawl.Finding{cgroups(), namespaces(), {
		Level: pawl.OK, What: "orphaned processes come to their supervisor and are ended with the step",
	}}
	return append(findings, process.Guarantees()...)
}

func cgroups() pawl.Finding {
	own, err := ownCgroup()
	if err == nil {
		err = unix.Access(own, unix.W_OK)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(own, "cgroup.procs"))
	}
	if err != nil {
		return pawl.Finding{
			Level: pawl.Warn, Evidence: err.Error(),
			What: "no writable cgroup v2: when a supervisor itself is killed, a daemon that cleared its environment can survive",
		}
	}
	return pawl.Finding{Level: pawl.OK, What: "each step runs in a cgroup v2 of its own: nothing gets away", Where: own}
}

// nameOf returns the path that an open file has now.
func nameOf(fd int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }
