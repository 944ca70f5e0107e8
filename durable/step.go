package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
)

const (
	// announceAfter is how long a step runs before it is announced in the journal. That costs a sync, which short steps
	// avoid.
	announceAfter = time.Second
	// maxResult is the maximum size of a result in an event, in bytes; a larger one is stored as a blob.
	maxResult = 48 << 10
)

// call is the use of a step in this Run.
type call struct {
	tries      int
	busy, done bool
}

// enter starts a step, unless its name was used in this Run. It counts the attempts.
func (r *run) enter(ctx context.Context, id pawl.StepID) (tries int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	switch {
	case r.over:
		return 0, errOver
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case id == "":
		return 0, errors.New("missing name")
	case c.busy || c.done:
		return 0, errors.New("duplicate name: each step of a run needs its own")
	}
	c.tries++
	c.busy = true
	r.calls[id] = c
	r.busy++
	r.steps.Add(1)
	return c.tries, nil
}

// exit records the end of a step.
func (r *run) exit(id pawl.StepID, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	c.busy, c.done = false, done
	r.calls[id] = c
	r.busy--
	r.steps.Done()
}

// step does the work of a step and makes its result durable. If an earlier Run has done the step, it returns the
// recorded result instead.
func (r *run) step(ctx context.Context, name string, work func(context.Context) ([]byte, error)) (remembered []byte, err error) {
	id := pawl.StepID("")
	if name != "" {
		id = pawl.StepIDOf(name)
	}
	tries, err := r.enter(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("durable step %q: %w", name, err)
	}
	finished := false
	defer func() { r.exit(id, finished) }()
	before := r.state.Steps[id]
	switch {
	case before == nil:
		before = &pawl.StepState{}
	case before.Status == pawl.Done:
		remembered, err = r.remembered(id, before.Done)
		finished = err == nil
		if err != nil {
			err = fmt.Errorf("durable step %q: %w", name, err)
		}
		return remembered, err
	}
	a := &attempt{run: r, name: name, began: time.Now(), ref: pawl.AttemptRef{Step: id, Attempt: before.Retries.Attempt + tries}}
	result, err := a.do(ctx, work)
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	if err := a.done(ctx, result); err != nil {
		return nil, fmt.Errorf("durable step %q: the step finished, but its result was not recorded: %w", name, err)
	}
	finished = true
	return nil, nil
}

// remembered returns the result in the step's step.done event, or in its blob. The state may come from a wrong cache, so the
// event has to be there.
func (r *run) remembered(id pawl.StepID, seq pawl.Seq) ([]byte, error) {
	event, err := r.log.Event(seq)
	if err != nil {
		return nil, err
	}
	payload, err := event.Payload()
	if err != nil {
		return nil, err
	}
	done, ok := payload.(pawl.StepDone)
	switch {
	case !ok:
		return nil, fmt.Errorf("event %d: want step.done, found %s", seq, event.Type)
	case done.Step != id:
		return nil, fmt.Errorf("event %d: want step.done of step %s, found that of step %s", seq, id, done.Step)
	case done.Blob != "":
		return r.log.Blob(done.Blob)
	case done.Result == nil:
		return []byte("null"), nil
	}
	return done.Result, nil
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
	return work(context.WithValue(ctx, runKey{}, (*run)(nil)))
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
	events := pawl.StepDone{
		Step: a.ref.Step, Attempt: a.ref.Attempt, Token: a.ref.Token, Result: result,
		Stats: &pawl.AttemptStats{Seconds: time.Since(a.began).Seconds()},
	}
	if a.name != string(a.ref.Step) {
		events.Summary = oneLine(a.name)
	}
	if events.Token == "" {
		events.Started = a.began
	}
	if len(result) > maxResult {
		blob, err := a.run.log.PutBlob(result)
		if err != nil {
			return err
		}
		events.Result, events.Blob = nil, blob
	}
	return a.run.record(context.WithoutCancel(ctx), events)
}

// failed records why the attempt failed, and returns that.
func (a *attempt) failed(ctx context.Context, why error) error {
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
		AttemptRef: a.ref, Outcome: outcome, Why: oneLine(why.Error()),
		Stats: &pawl.AttemptStats{Seconds: time.Since(a.began).Seconds()},
	})
	if err := a.run.record(context.WithoutCancel(ctx), events...); err != nil {
		return errors.Join(why, fmt.Errorf("durable step %q: %w", a.name, err))
	}
	return why
}

// oneLine shortens a text to its first line.
func oneLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), 500)], "")
}
