package engine

import (
	"context"
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// away makes a job one that the workers of a queue carry out.
func (e *Engine) away(job *pawl.Job, step *pawl.Step) (err error) {
	if e.cfg.account != nil {
		return unfitStep{errors.New(`"on" does not work with "run_as"`)}
	}
	dispatch.Send(job, step, e.epoch)
	job.Command, err = e.command(step)
	return err
}

// rejoin starts a new supervisor for a live attempt.
func (e *Engine) rejoin(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key, input string) error {
	job, lock, err := e.prepareJob(ctx, w, ref, key)
	if err != nil {
		return fmt.Errorf("rejoin attempt %d of %s: %w", ref.Attempt, ref.Name(), err)
	}
	job.Away.Input = input
	if live := e.liveAttempt(ref); live != nil && live.Home != e.cfg.Project.ID { // what was delivered here counts no more: files were restored
		if err := supervise.Undeliver(e.cfg.Project.AttemptDir(ref, e.run)); err != nil {
			return errors.Join(err, lock.Release())
		}
	}
	seal := supervise.NewSeal()
	e.emit(pawl.AttemptRejoined{AttemptRef: ref, Seal: seal.Public()})
	e.afterFlush = append(e.afterFlush, func() error { return e.launch(ctx, w, ref, key, job, lock, seal) })
	return nil
}
