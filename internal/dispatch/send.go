package dispatch

import (
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
