package supervise

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/supervise/process"
)

// adoptOrphans makes this process the parent of every descendant whose own parent dies. It reports whether the system
// supports that.
func adoptOrphans() bool {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// protectMemory keeps processes of the same user from reading this process's memory, which holds the key of its seal.
func protectMemory() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// childAttributes starts the child in a process group of its own and, if group is set, in that cgroup. The kernel kills
// the child when the thread that started it ends. The child runs as the user as, unless that is nil.
func childAttributes(group *cgroup, as *pawl.Account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: account.Credential(as)}
	if group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(group.dir.Fd())
	}
	return attr
}

// addPidfd has the child's pidfd stored in fd; -1 if the system has none.
func addPidfd(attr *syscall.SysProcAttr, fd *int) { attr.PidFD = fd }

// Guarantees reports how well this system can ensure that no process outlives its step.
func Guarantees() []pawl.Finding {
	findings := []pawl.Finding{cgroupFinding(), namespaceFinding(), {
		Level: pawl.OK, What: "supervisors adopt orphaned processes and end them with the step",
	}}
	return append(findings, process.Guarantees()...)
}

func cgroupFinding() pawl.Finding {
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
			What: "no writable cgroup v2: if a supervisor is killed, a daemon with a cleared environment can survive",
		}
	}
	return pawl.Finding{Level: pawl.OK, What: "steps run in their own cgroup v2: no process can escape", Where: own}
}

// reusable reports whether a supervisor can have one attempt after another: every process that an attempt leaves comes to it.
const reusable = true

// dupTo makes descriptor to a copy of from, and closes what it was.
func dupTo(from, to int) error { return unix.Dup3(from, to, 0) }
