package courier

import (
	"fmt"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/shellwords"
	"pawl/internal/supervise"
)

// Executor runs steps on queues.
type Executor struct {
	Getenv func(string) string
}

// CommandVariable is the variable with the command of another courier, such as one for another kind of queue. Only its words are used,
// without a shell.
const CommandVariable = "PAWL_COURIER"

// Does reports whether the step is on a queue.
func (Executor) Does(step *pawl.Step) bool { return dispatch.QueueOf(step) != "" }

// Credentials returns the variables with which a courier reaches queues and remotes.
func (Executor) Credentials(*pawl.Step) []string { return dispatch.Credentials }

// Command returns the command of a courier. It reads its task from the attempt's job file.
func (x Executor) Command(*pawl.Step) ([]string, error) {
	if text := x.Getenv(CommandVariable); text != "" {
		words, ok := shellwords.Split(text)
		if !ok || len(words) == 0 {
			return nil, fmt.Errorf("%s is not the words of a command: %q", CommandVariable, text)
		}
		return words, nil
	}
	self, err := supervise.Self()
	return []string{self, Verb}, err
}
