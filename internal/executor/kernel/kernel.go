// Package kernel executes kernel steps: the code of a step, or the cells of its notebook, in the kernel of the step's session.
//
// The command of such a step is the pawl binary. It connects to the session's runner ([runner]), which the engine has started,
// and executes the cells that are not finished. Each finished cell is durable in the session's log before the next one starts.
// The notebook is a view of that log: it is written while cells run, merged by cell id into what is on disk.
package kernel

import (
	"pawl"
	"pawl/internal/supervise"
)

// Verb is the hidden command that executes a kernel step.
const Verb = "kernel-step"

// Executor runs kernel steps.
type Executor struct{}

// Does reports whether the step is a kernel step.
func (Executor) Does(step *pawl.Step) bool { return step.Kernel != nil }

// Credentials returns the variable with the token of a Jupyter server, for a kernel there.
func (Executor) Credentials(step *pawl.Step) []string {
	if step.Kernel.Driver == pawl.RemoteDriver {
		return []string{TokenVar}
	}
	return nil
}

// TokenVar is the variable that has the token of a Jupyter server.
const TokenVar = "JUPYTER_TOKEN"

// Command returns the command. It reads its task from the attempt's job file.
func (Executor) Command(*pawl.Step) ([]string, error) {
	self, err := supervise.Self()
	return []string{self, Verb}, err
}
