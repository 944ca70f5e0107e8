package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
)

const (
	// announceAfter is how long a step runs before it is announced in the journal. That costs a sync, which short steps
	// avoid.
	announceAfter = time.Second
	// maxResult is the maximum size of a result in an event, in bytes; a larger one is stored as a blob.
	maxResult = 48 << 10
)

// call is the use of a step in this performance of the run's function.
type call struct {
	tries      int
	busy, done bool
	inLine     bool  // the function waits for it; otherwise Go started it
	past       error // of an earlier performance, after which the function went on
}

// enter starts a step of the run that ctx belongs to. inLine is false for Go.
func enter(ctx context.Context, name string, inLine bool) (r *run, id stepID, err error) {
	r, ok := ctx.Value(runKey{}).(*run)
	switch {
	case !ok:
		err = errOutside
	case r == nil:
		err = errInside
	default:
		id, err = r.enter(ctx, name, inLine)
	}
	if err != nil {
		err = fmt.Errorf("durable step %q: %w", name, err)
	}
	return r, id, err
}

// enter starts a step, unless its name was used in this performance, or another one is to be called here.
func (r *run) enter(ctx context.Context, name string, inLine bool) (id stepID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
		return "", errOver
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case name == "" || strings.HasPrefix(name, "."):
		return "", errName
	case inLine && r.inLine:
		return "", errConcurrent
	}
	id = pawl.StepIDOf(name)
	c := r.calls[id]
	if c.busy || c.done {
		return "", errors.New("duplicate name: each step of a run needs its own")
	}
	if c.past, err = r.replay(id, inLine); err != nil {
		return "", err
	}
	delete(r.failed, id)
	r.acceptErrors()
	c.busy, c.inLine = true, inLine
	r.calls[id] = c
	r.busy++
	r.inLine = r.inLine || inLine
	r.steps.Add(1)
	return id, nil
}

// replay compares a call with those of earlier performances. If the function went on after the step had failed, it returns that error
// as past. The caller holds r.mu.
func (r *run) replay(id stepID, inLine bool) (past, err error) {
	if at := slices.Index(r.done, id); at >= 0 {
		r.done = slices.Delete(r.done, at, at+1)
		return nil, nil
	}
	st := r.state.Steps[id]
	switch {
	case st.Tolerated():
		return errors.New(st.Why), nil
	case len(r.done) == 0 || !inLine, st != nil && st.Status == pawl.Done: // done before the call: by a signal
		return nil, nil
	}
	return nil, fmt.Errorf("the journal has step %q here: %w", r.titleOf(r.done[0]), ErrNondeterministic)
}

// acceptErrors makes the errors that the function got final with the next event of the run: the function continues after them. The caller
// holds r.mu.
func (r *run) acceptErrors() {
	for id, err := range r.failed {
		r.survived = append(r.survived, pawl.StepFailed{Step: id, Why: oneLine(err.Error()), Continued: true})
		c := r.calls[id]
		c.done = true
		r.calls[id] = c
	}
	clear(r.failed)
}

// got notes that the function got an error from a step.
func (r *run) got(id stepID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[id]; !c.done && c.past == nil && r.within.Err() == nil {
		r.failed[id] = err
	}
}

// exit records the end of a step.
func (r *run) exit(id stepID, err error) {
	r.mu.Lock()
	c := r.calls[id]
	inLine := c.inLine
	r.inLine = r.inLine && !inLine
	c.busy, c.inLine = false, false
	c.done = err == nil || c.past != nil
	r.calls[id] = c
	r.busy--
	r.mu.Unlock()
	if inLine && err != nil {
		r.got(id, err)
	}
	r.steps.Done()
}

// before returns the state of a step before this performance, and how it is called in this one. c.tries is 0 in the first call.
func (r *run) before(id stepID) (st pawl.StepState, c call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.state.Steps[id]; known != nil {
		st = *known
	}
	return st, r.calls[id]
}

// nextAttempt returns a reference to the next attempt at a step.
func (r *run) nextAttempt(id stepID) pawl.AttemptRef {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	newest := 0
	if st := r.state.Steps[id]; st != nil {
		newest = st.Retries.Attempt
	}
	c.tries = max(c.tries, newest) + 1
	r.calls[id] = c
	return pawl.AttemptRef{Step: id, Attempt: c.tries}
}

// once does a step that was entered with do, unless an earlier performance did it, and returns its result. do gets the state of the step
// before this performance, and how often it was tried in this one.
func (r *run) once(id stepID, do func(before pawl.StepState, tries int) ([]byte, error)) (result []byte, err error) {
	err = errPanicked
	defer func() { r.exit(id, err) }()
	before, c := r.before(id)
	switch {
	case c.past != nil:
		return nil, c.past
	case before.Status == pawl.Done:
		return recorded(r.log, id, &before)
	}
	return do(before, c.tries)
}

// step is once for work that is tried again after an error, and whose result do makes durable.
func (r *run) step(ctx context.Context, id stepID, name string, retry Retry, work func(context.Context) ([]byte, error)) ([]byte, error) {
	return r.once(id, func(before pawl.StepState, tries int) ([]byte, error) {
		failures := 0
		if last := before.Retries.Last; last != nil && last.Outcome == pawl.Failed && !last.RetryAt.IsZero() && tries == 0 {
			failures = before.Retries.Failures
			if err := sleepUntil(ctx, last.RetryAt); err != nil {
				return nil, err
			}
		}
		for {
			a := &attempt{run: r, name: name, began: time.Now(), ref: r.nextAttempt(id)}
			result, err := a.do(ctx, work)
			if err == nil {
				return result, a.done(ctx, result)
			}
			failures++
			var again time.Time
			if failures < retry.Attempts && ctx.Err() == nil && (retry.If == nil || retry.If(err)) {
				again = time.Now().UTC().Add(retry.after(failures))
			}
			if unrecorded := a.failed(ctx, err, again); unrecorded != nil {
				return nil, errors.Join(err, fmt.Errorf("durable step %q: %w", name, unrecorded))
			}
			switch {
			case again.IsZero() && failures > 1:
				return nil, fmt.Errorf("durable step %q: failed %d times: %w", name, failures, err)
			case again.IsZero():
				return nil, err
			}
			if err := sleepUntil(ctx, again); err != nil {
				return nil, err
			}
		}
	})
}

// recorded returns the result in the step's step.done event, or in its blob. The state may come from a wrong cache, so the
// event has to be there.
func recorded(log *journal.Log, id stepID, st *pawl.StepState) ([]byte, error) {
	if st == nil {
		return []byte("null"), nil
	}
	event, err := log.Event(st.Done)
	var payload pawl.Payload
	if err == nil {
		payload, err = event.Payload()
	}
	if err != nil {
		return nil, fmt.Errorf("result of durable step %s: %w", id, err)
	}
	done, ok := payload.(pawl.StepDone)
	switch {
	case !ok || done.Step != id:
		return nil, fmt.Errorf("event %d: want step.done of step %s, found %s %s", st.Done, id, event.Type, done.Step)
	case done.Blob != "":
		return log.Blob(done.Blob)
	case done.Result == nil:
		return []byte("null"), nil
	}
	return done.Result, nil
}

// withResult adds a result to the event of a step, in a blob if it is large.
func withResult(log *journal.Log, done pawl.StepDone, data []byte) (_ pawl.StepDone, err error) {
	if len(data) > maxResult {
		done.Blob, err = log.PutBlob(data)
	} else {
		done.Result = data
	}
	return done, err
}

// attempt is one attempt at a step.
type attempt struct {
	run   *run
	name  string
	began time.Time

	mu    sync.Mutex      // guards the fields below while the work is running
	ref   pawl.AttemptRef // has a token once it is announced
	ended bool
}

// do does the work, and announces the attempt if that takes long.
func (a *attempt) do(ctx context.Context, work func(context.Context) ([]byte, error)) ([]byte, error) {
	timer := time.AfterFunc(announceAfter, func() { a.announce(ctx) })
	defer func() {
		timer.Stop()
		a.mu.Lock() // waits for a running announcement
		defer a.mu.Unlock()
		a.ended = true
	}()
	inside := &within{key: string(a.run.id) + "/" + string(a.ref.Step)}
	return work(context.WithValue(context.WithValue(ctx, runKey{}, (*run)(nil)), withinKey{}, inside))
}

// announce records in the journal that the attempt is running. It ignores errors: the end of the step reports problems
// of the journal.
func (a *attempt) announce(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	ref := a.ref
	ref.Token = pawl.Token(disk.RandomHex(8))
	if a.run.record(context.WithoutCancel(ctx), pawl.AttemptStarted{AttemptRef: ref}) == nil {
		a.ref = ref
	}
}

// done makes the result durable, even if ctx has ended.
func (a *attempt) done(ctx context.Context, result []byte) error {
	event := pawl.StepDone{
		Step: a.ref.Step, Attempt: a.ref.Attempt, Token: a.ref.Token, Summary: summaryOf(a.ref.Step, a.name),
		Stats: &pawl.AttemptStats{Seconds: time.Since(a.began).Seconds()},
	}
	if event.Token == "" {
		event.Started = a.began
	}
	event, err := withResult(a.run.log, event, result)
	if err == nil {
		err = a.run.record(context.WithoutCancel(ctx), event)
	}
	if err != nil {
		return fmt.Errorf("durable step %q: the step finished, but its result was not recorded: %w", a.name, err)
	}
	return nil
}

// summaryOf returns the name of a step if its id does not say it.
func summaryOf(id stepID, name string) string {
	if name == string(id) {
		return ""
	}
	return oneLine(name)
}

// failed records why the attempt failed, and when the next one begins.
func (a *attempt) failed(ctx context.Context, why error, again time.Time) error {
	outcome := pawl.Failed
	if ctx.Err() != nil {
		outcome = pawl.Aborted
	}
	var events []pawl.Payload
	if a.ref.Token == "" {
		a.ref.Token = pawl.Token(disk.RandomHex(8))
		events = append(events, pawl.AttemptStarted{AttemptRef: a.ref})
	}
	events = append(events, pawl.AttemptEnded{
		AttemptRef: a.ref, Outcome: outcome, Why: oneLine(why.Error()), RetryAt: again,
		Stats: &pawl.AttemptStats{Seconds: time.Since(a.began).Seconds()},
	})
	return a.run.record(context.WithoutCancel(ctx), events...)
}

// oneLine shortens a text to its first line.
func oneLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), 500)], "")
}
