package dispatch

import (
	"slices"
	"time"

	"pawl"
)

// interruptWait is how long a courier has after SIGINT: the step ends on its worker, and what it did comes back.
const interruptWait = pawl.Duration(time.Minute)

// Send makes the job of an attempt at a step one that the workers of the step's queue carry out.
func Send(job *pawl.Job, step *pawl.Step, epoch pawl.Epoch) {
	job.Script, job.InterruptWait = step.Run, interruptWait
	job.Away = &pawl.Away{Queue: QueueOf(step), Epoch: epoch}
}

// Travels returns the declared paths of a step on a queue, which travel even if they are ignored; none for another step.
func Travels(step *pawl.Step) []string {
	if QueueOf(step) == "" {
		return nil
	}
	return slices.Concat(step.Inputs, step.Outputs)
}
