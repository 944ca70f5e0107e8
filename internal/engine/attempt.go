package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/content"
	"pawl/internal/random"
	"pawl/internal/recovery"
	"pawl/internal/supervise"
)

// work is a step, or one item of it, with what an attempt at it needs to know.
type work struct {
	step  *pawl.Step
	index int    // -1: the step itself
	value string // the item's
	vars  map[string]string
}

// name returns "step" or "step/item".
func (w work) name() string {
	return pawl.AttemptRef{Step: w.step.ID, Item: w.item()}.Name()
}

func (w work) item() pawl.ItemID {
	if w.index < 0 {
		return ""
	}
	return pawl.ItemIDOf(w.value)
}

// paths returns declared paths with their variables replaced.
func (w work) paths(declared []string) []string {
	paths := make([]string, len(declared))
	for i, p := range declared {
		paths[i] = pawl.Expand(p, w.vars)
	}
	return paths
}

// workOf returns the work that a step, or its item at index, stands for.
func (e *Engine) workOf(step *pawl.Step, index int) (work, error) {
	w := work{step: step, index: index}
	if index >= 0 {
		value, err := e.itemValue(step.ID, index)
		if err != nil {
			return work{}, err
		}
		w.value = value
	}
	w.vars = pathVars(e.state.Origin(), w)
	return w, nil
}

// itemValue returns the value at index of a step's work list, which stands in the journal.
func (e *Engine) itemValue(id pawl.StepID, index int) (string, error) {
	values, err := e.listed(id)
	if err != nil {
		return "", err
	}
	return values[index], nil
}

// workList is a step's work list, read from the journal up to an event.
type workList struct {
	upTo   pawl.Seq
	values []string
}

// listed returns a step's work list as it is journaled. It is read once and then kept until it changes.
func (e *Engine) listed(id pawl.StepID) ([]string, error) {
	items := e.state.Steps[id].Items
	upTo := items.Lists[len(items.Lists)-1]
	if kept := e.lists[id]; kept.upTo == upTo {
		return kept.values, nil
	}
	values, err := listedValues(e.log, items)
	if err != nil {
		return nil, err
	}
	e.lists[id] = workList{upTo: upTo, values: values}
	return values, nil
}

// start begins an attempt: it finds the key, and then says the intent. Reading inputs takes time, and so does the
// checkpoint before an agent's attempt, in which the run may be paused or the step be skipped: with what was prepared, the
// engine decides anew whether to start.
func (e *Engine) start(ctx context.Context, a action) error {
	w, err := e.workOf(a.step, a.index)
	if err != nil {
		return err
	}
	if e.preparing[w.name()] {
		return nil
	}
	if len(w.step.Inputs) == 0 && w.step.Agent == nil {
		key, err := e.keyOf(w)
		return e.intend(ctx, w, preparation{key: key, err: err})
	}
	if read, ok := e.prepared[w.name()]; ok {
		delete(e.prepared, w.name())
		return e.intend(ctx, w, read)
	}
	e.preparing[w.name()] = true
	needs, plan, at, attempt := e.needsOf(w), e.plan.Plan, e.standing(), e.nextAttempt(w)
	e.help(func() func() {
		var p preparation
		p.key, p.err = keyNow(e.cfg.Project.Root, plan, w, needs)
		p.key = p.key.Compact()
		if w.step.Agent != nil {
			p.saved = e.saveBefore(ctx, w, attempt, at)
		}
		return func() {
			delete(e.preparing, w.name())
			e.prepared[w.name()] = p
		}
	})
	return nil
}

// preparation is a key whose inputs were just read and, before an agent's attempt, the checkpoint that was taken.
type preparation struct {
	key   pawl.Key
	err   error
	saved *saved
}

// saveBefore takes a checkpoint of what an agent is about to work on. It is none of the step itself: by a step's name
// people mean what it left, and recovery takes a step's checkpoint for a sign that it was done.
func (e *Engine) saveBefore(ctx context.Context, w work, attempt int, at standing) *saved {
	s := e.keeper.save(ctx, pawl.CheckpointStep, pawl.AttemptRef{}, fmt.Sprintf("before attempt %d of %s", attempt, w.name()), at)
	return &s
}

// intend takes the attempt's lock and says that it is about to start; the supervisor is started when that is durable.
// Inputs that are not there fail the step.
func (e *Engine) intend(ctx context.Context, w work, p preparation) error {
	if p.err != nil {
		e.say(pawl.StepFailed{Step: w.step.ID, Why: "inputs: " + p.err.Error()})
		return nil
	}
	key := p.key
	ref := pawl.AttemptRef{Step: w.step.ID, Item: w.item(), Index: max(w.index, 0), Attempt: e.nextAttempt(w), Token: newToken()}
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	job, err := e.job(ctx, w, ref, key)
	if err != nil {
		e.say(pawl.StepFailed{Step: w.step.ID, Why: err.Error()})
		return nil
	}
	lock, err := supervise.Prepare(dir)
	if err != nil {
		return fmt.Errorf("prepare attempt %d of %s: %w", ref.Attempt, ref.Name(), err)
	}
	if p.saved != nil {
		e.say(pawl.CheckpointSaved{Checkpoint: p.saved.Checkpoint})
		e.noteFull(*p.saved)
	}
	e.say(pawl.AttemptStarted{AttemptRef: ref, Key: key})
	e.effects = append(e.effects, func() error {
		if e.liveAttempt(ref) == nil { // it was skipped just before: the intent does not fit
			return lock.Release()
		}
		running, err := supervise.Start(lock, job)
		if err != nil {
			return fmt.Errorf("start attempt %d of %s: %w", ref.Attempt, ref.Name(), err)
		}
		e.watch(ctx, w, ref, key, running.Wait)
		return nil
	})
	return nil
}

func (e *Engine) nextAttempt(w work) int {
	st := e.state.Steps[w.step.ID]
	switch {
	case st == nil:
		return 1
	case w.index < 0:
		return st.Retries.Attempt + 1
	}
	if t := st.Items.Retries[w.index]; t != nil {
		return max(t.Attempt, st.BaseAttempt) + 1
	}
	return st.BaseAttempt + 1
}

// job returns what the supervisor is told. A gate step has no command, only checks.
func (e *Engine) job(ctx context.Context, w work, ref pawl.AttemptRef, key pawl.Key) (pawl.Job, error) {
	job := pawl.Job{
		AttemptRef: ref, Run: e.run,
		Dir:     filepath.Join(e.cfg.Project.Root, filepath.FromSlash(w.step.Dir)),
		Checks:  w.step.Accept,
		Root:    e.cfg.Project.Root,
		Outputs: w.paths(w.step.Outputs),
		Timeout: w.step.Timeout, Grace: w.step.Grace, Stall: w.step.Stall,
		OutputCap: e.cfg.OutputCap, Beat: pawl.Duration(e.cfg.Watchdog.Heartbeat), PIDNamespace: e.cfg.PIDNamespace,
	}
	if w.step.Gate == nil {
		command, err := e.command(w.step)
		if err != nil {
			return pawl.Job{}, err
		}
		job.Command = command
	}
	if w.step.Agent != nil {
		job.Agent, job.Goal = w.step.Agent, w.step.Goal
	}
	env, err := e.environment(ctx, w, ref, key)
	if err != nil {
		return pawl.Job{}, err
	}
	job.Env = env
	return job, nil
}

func (e *Engine) command(step *pawl.Step) ([]string, error) {
	for _, x := range e.cfg.Executors {
		if x.Does(step) {
			return x.Command(step)
		}
	}
	return nil, fmt.Errorf("this pawl has no executor for step %s", step.ID)
}

// watch follows an attempt until its supervisor is gone, and then posts how it ended.
func (e *Engine) watch(ctx context.Context, w work, ref pawl.AttemptRef, key pawl.Key, ended func(context.Context) error) {
	if e.watching[ref.Token] {
		return
	}
	e.watching[ref.Token] = true
	offsets := map[string]int64{}
	if live := e.liveAttempt(ref); live != nil {
		for file, offset := range live.Read {
			offsets[file] = offset
		}
	}
	before := e.tryOf(w)
	tail := &follower{engine: e, dir: e.cfg.Project.AttemptDir(ref, e.run), ref: ref, offsets: offsets}
	job, jobErr := e.job(ctx, w, ref, key)
	e.help(func() func() {
		err := tail.until(ctx, ended)
		if ctx.Err() != nil {
			return func() {} // the engine leaves; the attempt lives on
		}
		var ev evidence
		if err == nil {
			ev, err = e.gather(ctx, w, ref, job, jobErr, before)
		}
		return func() {
			delete(e.watching, ref.Token)
			if err != nil {
				e.fatal = err
				return
			}
			e.settle(ctx, w, ref, key, ev)
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

// gather finds out how an attempt ended: from its exit record or the lack of one, from what it said of itself, and from
// the outputs that are there. Outputs are durable before they are believed.
func (e *Engine) gather(ctx context.Context, w work, ref pawl.AttemptRef, job pawl.Job, jobErr error, before pawl.Retries) (evidence, error) {
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	status, err := supervise.Probe(dir)
	if err != nil {
		return evidence{}, err
	}
	ev := evidence{now: time.Now().UTC(), failures: before.Failures, losses: before.LostInARow}
	ev.probed(status, ref.Token)
	if ev.exit == nil && ev.begun {
		if !ev.vague {
			ev.lasted = lastSign(dir).Sub(status.Begun.Started)
		}
		if ev.swept, ev.left, err = supervise.Sweep(dir); err != nil {
			return evidence{}, err
		}
	}
	ev.result, ev.resultErr = readResult(dir)
	if ev.looksDone() && jobErr == nil {
		ev.outputs, ev.outputsErr = durableOutputs(e.cfg.Project.Root, w.paths(w.step.Outputs))
	}
	if !ev.looksDone() || ev.outputsErr != nil {
		ev.present = howMuch(w.step.Outputs, workedOn(e.cfg.Project.Root, w.paths(w.step.Outputs)))
	}
	if ev.needsChecks(w.step) {
		job.Command = nil
		ev.checks, err = e.runChecks(ctx, filepath.Join(dir, "check"), job)
		if err != nil {
			return evidence{}, err
		}
	}
	ev.verdict = e.advise(ctx, w, ref, ev)
	if kind, why := checkpointOf(w, ev); kind != "" {
		s := e.keeper.save(ctx, kind, ref, why, e.standingNow(ctx))
		ev.saved = &s
	}
	return ev, nil
}

// workedOn returns the declared outputs in which there is something. An empty file is no sign of work.
func workedOn(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !content.Begun(root, path) })
}

// existing returns the declared outputs that are there, whatever they hold.
func existing(root string, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(path string) bool { return !content.Exists(root, path) })
}

// howMuch says how much of what is declared is there.
func howMuch(declared, there []string) recovery.Outputs {
	switch {
	case len(declared) == 0:
		return recovery.Undeclared
	case len(there) == len(declared):
		return recovery.AllOutputs
	case len(there) > 0:
		return recovery.SomeOutputs
	}
	return recovery.NoOutputs
}

// tryOf returns the tries of a step or item so far.
func (e *Engine) tryOf(w work) pawl.Retries {
	st := e.state.Steps[w.step.ID]
	switch {
	case st == nil:
	case w.index < 0:
		return st.Retries
	case st.Items != nil && st.Items.Retries[w.index] != nil:
		return *st.Items.Retries[w.index]
	}
	return pawl.Retries{}
}

// lastSign returns when an attempt last wrote something, zero where it never did.
func lastSign(dir string) time.Time {
	var last time.Time
	for _, name := range []string{pawl.OutFile, pawl.ErrFile, pawl.EventsFile, pawl.BeatFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// durableOutputs syncs declared outputs, and then takes their hashes.
func durableOutputs(root string, declared []string) (pawl.Outputs, error) {
	if len(declared) == 0 {
		return nil, nil
	}
	if err := content.Sync(root, declared); err != nil {
		return nil, err
	}
	outputs, err := content.Hash(root, declared)
	if err == nil {
		err = fits(outputs)
	}
	return outputs, err
}

// runChecks has a supervisor run only a job's acceptance checks, in a folder of their own, and returns how they came out.
func (e *Engine) runChecks(ctx context.Context, dir string, job pawl.Job) ([]pawl.CheckRun, error) {
	if err := clearChecks(dir); err != nil { // an engine before us may have started them
		return nil, err
	}
	wait := supervise.Attach(dir).Wait
	lock, err := supervise.Prepare(dir)
	switch {
	case pawl.KindOf(err) == pawl.KindHeld: // and they still run
	case err != nil:
		return nil, err
	default:
		running, err := supervise.Start(lock, job)
		if err != nil {
			return nil, err
		}
		wait = running.Wait
	}
	if err := wait(ctx); err != nil {
		return nil, err
	}
	status, err := supervise.Probe(dir)
	if err != nil {
		return nil, err
	}
	if status.Exit != nil {
		return status.Exit.Checks, nil
	}
	return []pawl.CheckRun{{Name: "checks", Exit: -1, Output: "the supervisor of the checks was lost"}}, clearChecks(dir)
}

// clearChecks ends what checks left running whose supervisor was lost.
func clearChecks(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, pawl.BegunFile)); err != nil {
		return nil // they never began
	}
	status, err := supervise.Probe(dir)
	if err == nil && status.State == supervise.Lost {
		_, _, err = supervise.Sweep(dir)
	}
	return err
}

func newToken() pawl.Token { return pawl.Token(random.Hex(8)) }

func newCheckpointID() pawl.CheckpointID { return pawl.CheckpointID(random.Hex(4)) }
