package agentstest

import (
	"os/exec"
	"syscall"
)

// die makes a command die with its agent, if the agent's commands do that.
func (a *Agent) die(cmd *exec.Cmd) {
	if !a.orphan {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}
