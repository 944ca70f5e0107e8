package engine

import "pawl"

// Shell is the Executor of shell steps: /bin/sh -c runs their command.
type Shell struct{}

// Does reports whether step is a shell step.
func (Shell) Does(step *pawl.Step) bool { return step.Run != "" }

// Command returns the shell and its arguments.
func (Shell) Command(step *pawl.Step) ([]string, error) {
	return []string{"/bin/sh", "-c", step.Run}, nil
}
