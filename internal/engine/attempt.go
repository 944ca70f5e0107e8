package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/history"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// workOf returns the work for a step, or for its item at index.
func (e *Engine) workOf(step *pawl.Step, index int) (runs.Work, error) {
	w := runs.Work{Step: step, Index: index}
	if index >= 0 {
		value, err := e.itemValue(step.ID, index)
		if err != nil {
			return runs.Work{}, err
		}
		w.Value = value
	}
	w.Vars = runs.PathVars(e.state.Origin(), w)
	return w, nil
}

// itemValue returns the value at index of a foreach step's item list, as journaled.
func (e *Engine) itemValue(id pawl.StepID, index int) (string, error) {
	values, err := e.listed(id)
	if err != nil {
		return "", err
	}
	return values[index], nil
}

// listed returns a foreach step's item list, as journaled. It is cached until the list changes.
func (e *Engine) listed(id pawl.StepID) ([]string, error) {
	items := e.state.Steps[id].Items
	upTo := items.Lists[len(items.Lists)-1]
	if kept := e.lists[id]; kept.upTo == upTo {
		return kept.values, nil
	}
	values, err := runs.ListedValues(e.log, items)
	if err != nil {
		return nil, err
	}
	e.lists[id] = workList{upTo: upTo, values: values}
	return values, nil
}

// start starts an attempt in two passes. Hashing inputs and, for an agent, taking a checkpoint is slow, so a worker
// does it first. The run may be paused or the step skipped meanwhile, so the engine decides again before it uses the
// result.
func (e *Engine) start(ctx context.Context, a decide.Action) error {
	w, err := e.workOf(a.Step, a.Index)
	if err != nil {
		return err
	}
	if e.preparing[w.Name()] {
		return nil
	}
	away := dispatch.QueueOf(w.Step) != ""
	if len(w.Step.Inputs) == 0 && w.Step.Agent == nil && w.Step.Kernel == nil && !away {
		key, err := e.keyOf(w)
		return e.prepareAttempt(ctx, w, preparation{key: key, err: err})
	}
	if read, ok := e.prepared[w.Name()]; ok {
		delete(e.prepared, w.Name())
		return e.prepareAttempt(ctx, w, read)
	}
	e.preparing[w.Name()] = true
	needs, plan, at, attempt := e.needsOf(w), e.plan.Plan, e.position(), e.nextAttempt(w)
	e.spawn(func() func() {
		var p preparation
		p.key, p.err = runs.CurrentKey(e.cfg.Project.Root, plan, w, needs)
		p.key = p.key.Compact()
		if w.Step.Agent != nil || away {
			p.saved = e.saveBefore(ctx, w, attempt, at)
		}
		return func() {
			delete(e.preparing, w.Name())
			e.prepared[w.Name()] = p
		}
	})
	return nil
}

// preparation is the result of a worker that prepared an attempt: the key, and for an agent's attempt, and one on a queue, the checkpoint.
type preparation struct {
	key   pawl.Key
	err   error
	saved *history.PendingCheckpoint
}

// unsaved returns why the checkpoint has no snapshot.
func (p preparation) unsaved() string {
	if p.saved == nil {
		return ""
	}
	return p.saved.Unsaved()
}

// saveBefore takes a checkpoint before an agent starts to work. The checkpoint does not carry the step's name: users
// mean the step's result by that name, and recovery treats a step's checkpoint as a sign that it finished.
func (e *Engine) saveBefore(ctx context.Context, w runs.Work, attempt int, at history.Position) *history.PendingCheckpoint {
	s := e.saver.SaveBefore(ctx, fmt.Sprintf("before attempt %d of %s", attempt, w.Name()), at, w.Paths(dispatch.Travels(w.Step)))
	return &s
}

// prepareAttempt takes the attempt's lock and journals the intent. The supervisor starts once the intent is durable.
// Missing inputs fail the step, or the item. The engine stops if the disk fails.
func (e *Engine) prepareAttempt(ctx context.Context, w runs.Work, p preparation) error {
	if p.err != nil {
		e.failUnstarted(w, "inputs: "+p.err.Error())
		return nil
	}
	if none := p.unsaved(); none != "" && dispatch.QueueOf(w.Step) != "" {
		e.failUnstarted(w, "a worker needs a snapshot of the files, and there is none: "+none)
		return nil
	}
	key := p.key
	ref := pawl.AttemptRef{Step: w.Step.ID, Item: w.Item(), Index: max(w.Index, 0), Attempt: e.nextAttempt(w), Token: runs.NewToken()}
	job, lock, err := e.prepareJob(ctx, w, ref, key)
	if unfit, ok := errors.AsType[unfitStep](err); ok {
		e.emit(pawl.StepFailed{Step: w.Step.ID, Why: unfit.Error(), Continued: w.Step.ContinueOnError})
		return nil
	}
	if err != nil {
		return fmt.Errorf("prepare attempt %d of %s: %w", ref.Attempt, ref.Name(), err)
	}
	if job.Away != nil {
		job.Away.Input = p.saved.Snapshot.Record
	}
	if p.saved != nil {
		e.emit(pawl.CheckpointSaved{Checkpoint: p.saved.Checkpoint})
		e.noteSaved(*p.saved)
	}
	seal := supervise.NewSeal()
	e.emit(pawl.AttemptStarted{AttemptRef: ref, Key: key, Seal: seal.Public(), Input: job.Input()})
	e.afterFlush = append(e.afterFlush, func() error { return e.launch(ctx, w, ref, key, job, lock, seal) })
	return nil
}

// launch starts the supervisor of an attempt whose intent is durable, and watches it.
func (e *Engine) launch(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key, job pawl.Job, lock *supervise.Lock, seal supervise.Seal) error {
	if e.liveAttempt(ref) == nil { // the step was skipped just before, so the intent was rejected
		return lock.Release()
	}
	if job.Kernel != nil {
		if err := e.startKernel(ctx, job); err != nil {
			return errors.Join(fmt.Errorf("start the kernel of %s: %w", ref.Name(), err), lock.Release())
		}
	}
	running, err := e.startSupervisor(e.cfg.Project.AttemptDir(ref, e.run), lock, job, seal)
	if err != nil {
		return fmt.Errorf("start attempt %d of %s: %w", ref.Attempt, ref.Name(), err)
	}
	e.watch(ctx, w, ref, key, running, plannedJob{Job: job})
	return nil
}

func (e *Engine) startSupervisor(dir string, lock *supervise.Lock, job pawl.Job, seal supervise.Seal) (*supervise.Running, error) {
	if e.cfg.Start != nil {
		return e.cfg.Start(dir, lock, job, seal)
	}
	return e.pool.Start(lock, job, seal)
}

// failUnstarted fails a step or item for good that cannot start. The other items of the step continue.
func (e *Engine) failUnstarted(w runs.Work, why string) {
	if w.Index < 0 {
		e.emit(pawl.StepFailed{Step: w.Step.ID, Why: why, Continued: w.Step.ContinueOnError})
		return
	}
	ref := pawl.AttemptRef{Step: w.Step.ID, Item: w.Item(), Index: w.Index, Attempt: e.nextAttempt(w), Token: runs.NewToken()}
	end := pawl.AttemptEnded{AttemptRef: ref, Value: shownValue(w), Outcome: pawl.Failed, Reason: pawl.ReasonError, Why: why, Final: true}
	e.emit(pawl.AttemptStarted{AttemptRef: ref, Key: pawl.Key{Definition: pawl.DefinitionOf(e.plan.Plan, w.Step, w.Value)}}, end)
}

// unfitStep is why a step cannot run at all. Other errors are pawl's own, such as a full disk, and no failure of the step.
type unfitStep struct{ error }

// plannedJob is the job of an attempt according to the plan, or why there is none.
type plannedJob struct {
	pawl.Job
	err error
}

// prepareJob returns the job of an attempt and takes its lock.
func (e *Engine) prepareJob(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key) (job pawl.Job, lock *supervise.Lock, err error) {
	err = e.waitForSpace(func() (err error) {
		if job, err = e.job(ctx, w, ref, key); err == nil {
			lock, err = e.pool.Prepare(e.cfg.Project.AttemptDir(ref, e.run), job)
		}
		return err
	})
	return job, lock, err
}

func (e *Engine) nextAttempt(w runs.Work) int {
	st := e.state.Steps[w.Step.ID]
	switch {
	case st == nil:
		return 1
	case w.Index < 0:
		return st.Retries.Attempt + 1
	}
	if t := st.Items.Retries[w.Index]; t != nil {
		return max(t.Attempt, st.BaseAttempt) + 1
	}
	return st.BaseAttempt + 1
}

// job returns the supervisor's job. A gate step's job has checks but no command.
func (e *Engine) job(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key) (pawl.Job, error) {
	job := pawl.Job{
		AttemptRef: ref, Run: e.run,
		Dir:    filepath.Join(e.cfg.Project.Root, filepath.FromSlash(w.Step.Dir)),
		Checks: w.Step.Accept, Shell: w.Step.Shell, RunShell: e.state.Shell,
		Root:    e.cfg.Project.Root,
		Outputs: w.Paths(w.Step.Outputs),
		Timeout: w.Step.Timeout, Grace: w.Step.Grace, Stall: w.Step.Stall,
		OutputCap: e.cfg.OutputCap, Beat: pawl.Duration(e.cfg.Watchdog.Heartbeat), PIDNamespace: e.cfg.PIDNamespace,
	}
	if s := w.Step.Service; s != nil {
		job.Orphan, job.EngineLock, job.InterruptWait = s.Orphan, e.lockPath(), s.Stop
	}
	switch {
	case w.Step.Gate != nil:
	case dispatch.QueueOf(w.Step) != "":
		if err := e.away(&job, w.Step); err != nil {
			return pawl.Job{}, err
		}
	case w.Step.Run != "":
		job.Script = w.Step.Run
		job.Words = e.state.Kind == pawl.CommandRun
	default:
		command, err := e.command(w.Step)
		if err != nil {
			return pawl.Job{}, err
		}
		job.Command = command
	}
	if w.Step.Agent != nil {
		job.Agent, job.Goal = w.Step.Agent, w.Step.Goal
	}
	if w.Step.Kernel != nil {
		job.Kernel, job.InterruptWait = e.kernelJob(w, key), kernelInterruptWait
	}
	job.CheckPath = e.checkPath(w.Step)
	err := e.environment(ctx, &job, w, key)
	return job, err
}

func (e *Engine) command(step *pawl.Step) ([]string, error) {
	for _, x := range e.cfg.Executors {
		if !x.Does(step) {
			continue
		}
		command, err := x.Command(step)
		if err != nil && !disk.IsFull(err) {
			err = unfitStep{err}
		}
		return command, err
	}
	return nil, unfitStep{fmt.Errorf("no executor for step %s in this build", step.ID)}
}

// watch waits in a worker until the attempt's supervisor is gone, then settles the attempt.
func (e *Engine) watch(ctx context.Context, w runs.Work, ref pawl.AttemptRef, key pawl.Key, running *supervise.Running, job plannedJob) {
	if e.watching[ref.Token] {
		return
	}
	e.watching[ref.Token] = true
	offsets, record := map[string]int64{}, attemptRecord{AttemptRef: ref}
	if live := e.liveAttempt(ref); live != nil {
		record.seal, record.home, record.boot, record.away = live.Seal, live.Home, live.Boot, resume.InputElsewhere(e.cfg.Project, live.Home, live.Input)
		for file, offset := range live.Read {
			offsets[file] = offset
		}
	}
	before, outdated := e.retriesOf(w), key.Definition != pawl.DefinitionOf(e.plan.Plan, w.Step, w.Value)
	tail := &follower{engine: e, dir: e.cfg.Project.AttemptDir(ref, e.run), ref: ref, offsets: offsets, cell: e.watchCell(w.Step, ref)}
	giveUp := func() {}
	if live := e.liveAttempt(ref); w.Step.Service != nil && live != nil && live.Released == "" && job.err == nil && !e.settling[ref.Token] {
		giveUp = e.awaitReady(ctx, w.Step, ref, job.Job)
	}
	e.spawn(func() func() {
		err := tail.run(ctx, running.Wait)
		giveUp()
		if ctx.Err() != nil {
			return func() {} // the engine is shutting down; the attempt keeps running
		}
		var ev resume.Evidence
		if err == nil {
			ev, err = e.gather(ctx, w, record, running, job, before)
		}
		return func() {
			delete(e.watching, ref.Token)
			if delete(e.settling, ref.Token); len(e.settling) == 0 {
				e.saver.DropAhead()
			}
			rejoins := err == nil && ev.Away != "" && !outdated && !e.stopping[ref.Token]
			if rejoins {
				err = e.rejoin(ctx, w, ref, key, ev.Away)
			}
			if e.fatal = cmp.Or(e.fatal, err); rejoins || err != nil {
				return
			}
			e.settle(ctx, w, ref, key, ev)
			e.afterFlush = append(e.afterFlush, running.Noted)
		}
	})
}

func (e *Engine) liveAttempt(ref pawl.AttemptRef) *pawl.AttemptState {
	for _, live := range e.state.Steps[ref.Step].Live() {
		if live.Token == ref.Token {
			return live
		}
	}
	return nil
}

// attemptRecord is an attempt as the journal has it.
type attemptRecord struct {
	pawl.AttemptRef
	seal string // public key of its supervisor; "" if an older pawl started it
	home string // ID of the project whose engine started it; "" if an older pawl started it
	boot string // boot ID of the system at that time; "" if an older pawl started it
	away string // the input of an attempt on a worker that was started in another project
}

// gather collects the evidence of how an attempt ended: exit record, result file and outputs. Outputs are synced before
// they are hashed, so they are durable once the step counts as done.
func (e *Engine) gather(ctx context.Context, w runs.Work, attempt attemptRecord, ended *supervise.Running, job plannedJob, before pawl.Retries) (resume.Evidence, error) {
	ref := attempt.AttemptRef
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	status, err := ended.Probe()
	if err != nil {
		return resume.Evidence{}, err
	}
	ev := resume.Evidence{Now: time.Now().UTC(), Failures: before.Failures, LostInARow: before.LostInARow}
	ev.AddStatus(status.Under(attempt.boot), ref.Token, attempt.seal)
	ev.AddHome(e.cfg.Project, attempt.home)
	if w.Step.Kernel != nil {
		if ev.Died = kernelLost(ev.Exit); ev.Died != "" {
			ev.Exit = nil
		}
	}
	if ev.Exit == nil && ev.Begun {
		if !ev.BootUnknown {
			ev.Lasted = resume.LastWrite(dir).Sub(status.Begun.Started)
		}
		if ev.Swept, ev.Unkillable, err = supervise.Sweep(dir, ref.Token); err != nil {
			return resume.Evidence{}, err
		}
	}
	if ev.Away = ev.Rejoins(w.Step, dir, ref.Token, attempt.away); ev.Away != "" {
		return ev, nil
	}
	ev.Result, ev.ResultErr = runs.ReadResult(dir)
	if ev.LooksDone() && job.err == nil {
		ev.Outputs, ev.OutputsErr = runs.DurableOutputs(e.cfg.Project.Root, w.Paths(w.Step.Outputs))
	}
	if !ev.LooksDone() || ev.OutputsErr != nil {
		ev.Present = resume.CompareOutputs(w.Step.Outputs, resume.NonEmptyOutputs(e.cfg.Project.Root, w.Paths(w.Step.Outputs)))
	}
	if ev.NeedsChecks(w.Step) {
		if ev.Checks, err = e.acceptanceOf(ctx, w.Step, filepath.Join(dir, "check"), job); err != nil {
			return resume.Evidence{}, err
		}
	}
	ev.Verdict = e.evaluate(ctx, w, ref, ev)
	if kind, why := checkpointOf(w, ev); kind != "" {
		s := e.saveResult(ctx, kind, ref, why, ev)
		ev.Checkpoint = &s
	}
	return ev, nil
}

// acceptanceOf runs the acceptance checks of a step in the environment of an attempt's job. Without that they have failed.
func (e *Engine) acceptanceOf(ctx context.Context, step *pawl.Step, dir string, planned plannedJob) ([]pawl.CheckRun, error) {
	if planned.err != nil {
		return withMissing(&pawl.Exit{Why: planned.err.Error()}, step.Accept), nil
	}
	job := planned.Job
	job.Command, job.Script, job.Checks, job.Shell = nil, "", step.Accept, step.Shell
	return e.runChecks(ctx, dir, job)
}

// retriesOf returns the retry state of a step or item.
func (e *Engine) retriesOf(w runs.Work) pawl.Retries {
	st := e.state.Steps[w.Step.ID]
	switch {
	case st == nil:
	case w.Index < 0:
		return st.Retries
	case st.Items != nil && st.Items.Retries[w.Index] != nil:
		return *st.Items.Retries[w.Index]
	}
	return pawl.Retries{}
}

// runChecks runs only a job's acceptance checks, under a supervisor in a folder of their own. Checks that an earlier engine
// started run again, because only that engine could verify their record.
func (e *Engine) runChecks(ctx context.Context, dir string, job pawl.Job) ([]pawl.CheckRun, error) {
	if err := supervise.Attach(dir).Wait(ctx); err != nil {
		return nil, err
	}
	if err := clearChecks(dir, job.Token); err != nil {
		return nil, err
	}
	lock, err := e.pool.Prepare(dir, job)
	if err != nil {
		return nil, err
	}
	seal := supervise.NewSeal()
	running, err := e.startSupervisor(dir, lock, job, seal)
	if err != nil {
		return nil, err
	}
	if err := running.Wait(ctx); err != nil {
		return nil, err
	}
	status, err := running.Probe()
	if err = errors.Join(err, running.Noted()); err != nil {
		return nil, err
	}
	if exit := status.ExitSealed(seal.Public()); exit != nil {
		return withMissing(exit, job.Checks), nil
	}
	return []pawl.CheckRun{{Name: "checks", Exit: -1, Output: "the supervisor of the checks died"}}, clearChecks(dir, job.Token)
}

// withMissing returns the checks of an exit record, and those that did not run as failed ones.
func withMissing(exit *pawl.Exit, checks map[string]string) []pawl.CheckRun {
	ran := exit.Checks
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		if !slices.ContainsFunc(ran, func(c pawl.CheckRun) bool { return c.Name == name }) {
			ran = append(ran, pawl.CheckRun{Name: name, Exit: -1, Output: "it did not run: " + exit.Why})
		}
	}
	return ran
}

// clearChecks kills orphaned checks whose supervisor died.
func clearChecks(dir string, token pawl.Token) error {
	if _, err := disk.Lstat(filepath.Join(dir, pawl.BegunFile)); err != nil {
		return nil // they never started
	}
	return supervise.SweepLost(dir, token)
}

// workList caches a foreach step's item list up to an event.
type workList struct {
	upTo   pawl.Seq
	values []string
}
