// Package shell is the executor of `run` steps: a command for /bin/sh -c.
package shell

import "pawl"

// Executor runs shell steps.
type Executor struct{}

// Does reports whether the step is a shell step.
func (Executor) Does(step *pawl.Step) bool { return step.Run != "" }

// Command returns the shell and what it is told.
func (Executor) Command(step *pawl.Step) ([]string, error) {
	return []string{"/bin/sh", "-c", step.Run}, nil
}
