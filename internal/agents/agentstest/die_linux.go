package agentstest

import (
	"os/exec"
	"syscall"
)

// die has a command die with an agent whose commands do.
func (a *Agent) die(cmd *exec.Cmd) {
	if !a.orphan {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}
