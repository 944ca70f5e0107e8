package supervise

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/supervise/process"
)

// adoptOrphans returns false: on macOS orphans go to launchd.
func adoptOrphans() bool { return false }

// protectMemory does nothing: macOS lets only root and a signed debugger read the memory of a process.
func protectMemory() {}

// childAttributes starts the child in a process group of its own.
func childAttributes(_ *cgroup, as *pawl.Account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: account.Credential(as)}
}

// addPidfd does nothing: macOS has no pidfds.
func addPidfd(*syscall.SysProcAttr, *int) {}

// cgroup is always nil on macOS.
type cgroup struct{ path string }

func newCgroup(string) *cgroup { return nil }
func (c *cgroup) make() bool   { return false }
func (c *cgroup) kill() error  { return nil }
func (c *cgroup) remove()      {}

func sweepCgroup(*pawl.Begun) (int, error) { return 0, nil }

func groupProcesses(*pawl.Begun) []byte { return nil }

var errNamespace = errors.New(`PID namespaces need Linux: do not set "pid_namespace"`)

// Init fails: macOS has no PID namespaces.
func Init([]string) error { return errNamespace }

func startInit(string, []string, syscall.ProcAttr) (pid, reports int, err error) {
	return 0, 0, errNamespace
}

func checkNamespaces() error { return errNamespace }

func readStatus(int) *syscall.WaitStatus { return nil }

// Guarantees reports how well this system can ensure that no process outlives its step.
func Guarantees() []pawl.Finding {
	findings := []pawl.Finding{
		{Level: pawl.Warn, What: errNamespace.Error()},
		{Level: pawl.Warn, What: "on macOS a process that starts a session of its own and loses its parent can outlive its step"},
		{Level: pawl.Warn, What: "on macOS a step keeps running after its supervisor is killed, until pawl resumes the run"},
	}
	return append(findings, process.Guarantees()...)
}

// reusable is false: on macOS a process that an attempt leaves does not come to its supervisor.
const reusable = false

func dupTo(from, to int) error { return unix.Dup2(from, to) }
