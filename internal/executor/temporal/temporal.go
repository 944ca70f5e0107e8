// Package temporal starts the couriers of steps whose queue is carried by Temporal. They are another program, pawl-temporal, so that pawl
// does not link gRPC.
package temporal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/dispatch"
)

// Program is the name of the program. Verb is its command that carries one attempt to a worker.
const (
	Program = "pawl-temporal"
	Verb    = "dispatch"
)

// Executor does the steps on the queues that the user's settings give to Temporal.
type Executor struct{ Settings config.Temporal }

// Does reports whether Temporal carries the queue of a step.
func (x Executor) Does(step *pawl.Step) bool {
	queue := dispatch.QueueOf(step)
	return queue != "" && x.Settings.Carries(queue)
}

// Credentials returns the variables with which a courier reaches remotes.
func (Executor) Credentials(*pawl.Step) []string { return dispatch.Credentials }

// Command returns the command. It reads its task from the attempt's job file.
func (Executor) Command(step *pawl.Step) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := find(filepath.Dir(self))
	if err != nil {
		return nil, fmt.Errorf("your settings give queue %s to Temporal, and %s is neither in the folder of pawl nor in PATH", dispatch.QueueOf(step), Program)
	}
	return []string{program, Verb}, nil
}

// find returns the path of the program in a folder, or else in PATH.
func find(folder string) (string, error) {
	if path, err := exec.LookPath(filepath.Join(folder, Program)); err == nil {
		return path, nil
	}
	return exec.LookPath(Program)
}
