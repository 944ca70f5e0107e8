package resume

import (
	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/project"
	"pawl/internal/supervise"
)

// Rejoins returns the input of an attempt that a worker may carry out, and whose supervisor is gone, or was on another machine that no
// longer has the run; "" for any other attempt. The courier of a new supervisor finds out: it submits the task, joins it, or takes its
// result. elsewhere is the input of an attempt that was started in another project.
func (ev Evidence) Rejoins(step *pawl.Step, dir string, token pawl.Token, elsewhere string) (input string) {
	if ev.Exit != nil || ev.WorkerLost != "" || dispatch.QueueOf(step) == "" {
		return ""
	}
	job := supervise.ReadJob(dir)
	if job == nil || job.Away == nil || job.Token != token {
		return elsewhere
	}
	return job.Away.Input
}

// InputElsewhere returns the input of an attempt on a worker that was started in another project; "" for any other attempt.
func InputElsewhere(p *project.Project, home, input string) string {
	if home == "" || home == p.ID {
		return ""
	}
	return input
}
