package engine

import (
	"pawl"
	"pawl/internal/supervise"
)

// pooled reports whether a job is executed by a supervisor of the pool: most scripts are short. What runs without an engine for long has a
// supervisor and durable records of its own.
func (e *Engine) pooled(job pawl.Job) bool {
	return e.cfg.Start == nil && len(job.Command) == 0 && job.Away == nil && !job.Serves()
}

func (e *Engine) prepare(dir string, job pawl.Job) (*supervise.Lock, error) {
	if e.pooled(job) {
		return e.pool.Prepare(dir)
	}
	return supervise.Prepare(dir)
}

func (e *Engine) startSupervisor(dir string, lock *supervise.Lock, job pawl.Job, seal supervise.Seal) (*supervise.Running, error) {
	if e.pooled(job) {
		return e.pool.Start(lock, job, seal)
	}
	return e.startAlone(dir, lock, job, seal)
}

// startAlone starts a supervisor of one attempt.
func (e *Engine) startAlone(dir string, lock *supervise.Lock, job pawl.Job, seal supervise.Seal) (*supervise.Running, error) {
	if e.cfg.Start != nil {
		return e.cfg.Start(dir, lock, job, seal)
	}
	return supervise.Start(lock, job, seal)
}
