package resume

import (
	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/supervise"
)

// Rejoins returns the input of an attempt that a worker may carry out, and whose supervisor on this machine is gone; "" for any other
// attempt. The courier of a new supervisor finds out: it submits the task, joins it, or takes its result.
func (ev Evidence) Rejoins(step *pawl.Step, dir string, token pawl.Token) (input string) {
	if ev.Exit != nil || ev.WorkerLost != "" || dispatch.QueueOf(step) == "" {
		return ""
	}
	job := supervise.ReadJob(dir)
	if job == nil || job.Away == nil || job.Token != token {
		return ""
	}
	return job.Away.Input
}
