package supervise

import (
	"errors"
	"syscall"

	"pawl"
	"pawl/internal/supervise/process"
)

// adoptOrphans reports false: orphans go to launchd here.
func adoptOrphans() bool { return false }

// childAttributes starts the child in a process group of its own.
func childAttributes(*cgroup) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// cgroup does not exist here; it is always nil.
type cgroup struct{ path string }

func newCgroup(string) *cgroup { return nil }
func (c *cgroup) make() bool   { return false }
func (c *cgroup) kill() error  { return nil }
func (c *cgroup) remove()      {}

func sweepCgroup(*pawl.Begun) (int, error) { return 0, nil }

var errNamespace = errors.New(`PID namespaces exist on Linux only: do not set "pid_namespace"`)

// Init refuses: there are no namespaces to be number 1 in.
func Init([]string) error { return errNamespace }

func startInit(string, []string, syscall.ProcAttr) (pid, reports int, err error) {
	return 0, 0, errNamespace
}

func tryNamespace() error { return errNamespace }

func hearStatus(int) *syscall.WaitStatus { return nil }

// Guarantees says what this system offers to keep the promise that no process outlives its step.
func Guarantees() []pawl.Finding {
	findings := []pawl.Finding{
		{Level: pawl.Warn, What: errNamespace.Error()},
		{Level: pawl.Warn, What: "on macOS a process that starts a session of its own and loses its parent can outlive its step"},
		{Level: pawl.Warn, What: "on macOS a step runs on when its supervisor is killed, until it is swept"},
	}
	return append(findings, process.Guarantees()...)
}

// nameOf is not known here: a project that is moved while a step runs loses that step's record.
func nameOf(int) (string, error) { return "", errors.ErrUnsupported }
