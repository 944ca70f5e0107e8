package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/disk"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// Adopt applies a plan diff before Run. An edited plan becomes the run's next revision, and the affected steps are
// reopened. Attempts that run with an outdated definition are terminated. Changed acceptance checks run again; a step
// that fails them is reopened. by is who confirmed the edited plan.
func (e *Engine) Adopt(ctx context.Context, c *resume.PlanDiff, by pawl.Author) error {
	if err := refuseNewSecrets(e.plan.Plan, c); err != nil {
		return err
	}
	e.soft = ctx.Done()
	if c.Edited {
		n := runs.CreateOptions{Plan: c.Plan(), Data: c.Data, Source: c.From}
		revision := e.state.Plan.Revision + 1
		if err := disk.Replace(e.cfg.Project.PlanFile(e.run, revision), c.Data); err != nil {
			return err
		}
		e.emitBy(by, runs.PlanEvent(e.cfg.Project, revision, n))
		e.text = c.Text
	}
	e.plan = runs.NewOutline(c.Plan())
	if err := e.endOutdated(ctx, c); err != nil {
		return err
	}
	e.emit(decide.Adoption(e.state, c)...)
	for _, id := range c.Recheck {
		if err := e.recheck(ctx, c.Plan().Step(id)); err != nil {
			return err
		}
	}
	if e.state.Ended() && c.Reopens() {
		e.emit(pawl.RunReopened{Why: "the plan, a parameter or an input changed"})
	}
	if len(e.pending) == 1 && e.pending[0].Type == (pawl.RunExamined{}).Event() {
		return nil // it is journaled with the start of the engine
	}
	return e.flush(ctx)
}

// endOutdated terminates attempts whose definition changed or whose step will rerun anyway. An attempt that is not safe
// to rerun is left running.
func (e *Engine) endOutdated(ctx context.Context, c *resume.PlanDiff) error {
	for _, live := range e.state.Live() {
		if !decide.Outdates(c, live, e.listed) {
			continue
		}
		dir := e.cfg.Project.AttemptDir(live.AttemptRef, e.run)
		status, err := supervise.Probe(dir)
		if err != nil {
			return err
		}
		status = status.Under(live.Boot)
		ev := resume.Evidence{Begun: status.HasBegun(), Exit: status.Exit, Serves: supervise.ReadJob(dir).Serves()}
		end := decide.OutdatedEnd(c, live, ev, status.State == supervise.Live)
		if end == nil {
			e.note("%s keeps running with its old definition: it is not safe to rerun", live.Name())
			continue
		}
		if err := endAndSweep(ctx, dir, live.Token, pawl.Abort{Reason: pawl.ReasonOutdated, Why: end.Why}); err != nil {
			return err
		}
		e.emit(*end)
	}
	return nil
}

// endAndSweep terminates an attempt. If its supervisor died, it also kills the orphaned processes.
func endAndSweep(ctx context.Context, dir string, token pawl.Token, abort pawl.Abort) error {
	if err := supervise.RequestAbort(dir, abort); err != nil {
		return err
	}
	if err := supervise.Attach(dir).Wait(ctx); err != nil {
		return err
	}
	return supervise.SweepLost(dir, token)
}

// refuseNewSecrets returns an error if a change of the plan or of its item lists brings secrets.
func refuseNewSecrets(was *pawl.Plan, c *resume.PlanDiff) error {
	for id, values := range c.NewItems {
		if err := runs.RefuseSecretValues(values); err != nil {
			return fmt.Errorf("step %s: %w", id, err)
		}
	}
	if !c.Edited {
		return nil
	}
	return runs.RefuseSecrets(c.From, was, c.Plan())
}

// recheck runs the edited acceptance checks of a finished step, or of each of its items, and reopens what fails.
func (e *Engine) recheck(ctx context.Context, step *pawl.Step) error {
	st := e.state.Steps[step.ID]
	indexes := []int{-1}
	if st.Items != nil {
		indexes = indexes[:0]
		for index := range st.Items.Total {
			if st.Items.Done.At(index) != 0 {
				indexes = append(indexes, index)
			}
		}
	}
	var failed []int
	why := ""
	for _, index := range indexes {
		checks, err := e.checksOf(ctx, step, index)
		if err != nil {
			return err
		}
		if !pawl.Passed(checks) {
			failed = append(failed, index)
			why = resume.CheckText(checks)
		}
	}
	switch {
	case len(failed) == 0:
		e.emit(pawl.StepChecked{Step: step.ID, Accept: pawl.AcceptOf(step)})
	case st.Items == nil || len(failed) > resume.MaxReruns:
		e.emit(pawl.StepReopened{Step: step.ID, Why: runs.ClipText(why)})
	default:
		e.emit(pawl.StepReopened{Step: step.ID, Why: runs.ClipText(why), Items: failed})
	}
	return nil
}

// checksOf runs the current acceptance checks of a finished step or item.
func (e *Engine) checksOf(ctx context.Context, step *pawl.Step, index int) ([]pawl.CheckRun, error) {
	w, err := e.workOf(step, index)
	if err != nil {
		return nil, err
	}
	ref := pawl.AttemptRef{Step: step.ID, Item: w.Item(), Index: max(index, 0), Attempt: e.state.Steps[step.ID].Attempts, Token: runs.NewToken()}
	job, err := e.job(ctx, w, ref, pawl.Key{})
	if err != nil {
		return nil, err
	}
	job.Command, job.Script = nil, ""
	dir := filepath.Join(e.cfg.Project.AttemptDir(ref, e.run), "accept-"+pawl.AcceptOf(step)[:8])
	return e.runChecks(ctx, dir, job)
}
