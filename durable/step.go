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
	// announceAfter is how long a step runs before the journal says so. That costs a sync, which short steps are spared.
	announceAfter = time.Second
	// maxResult is how large a result an event holds; a larger one is kept in a file beside the journal.
	maxResult = 48 << 10
)

// call is what has become of a step in this Run.
type call struct {
	tries      int
	busy, done bool
}

// enter lets a step begin, unless its name was used in this Run. It counts its tries.
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
		return 0, errors.New("it needs a name")
	case c.busy || c.done:
		return 0, errors.New("the name is used twice in this run: it stands for one step")
	}
	c.tries++
	c.busy = true
	r.calls[id] = c
	r.busy++
	r.steps.Add(1)
	return c.tries, nil
}

// exit takes note of the end of a step that entered.
func (r *run) exit(id pawl.StepID, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	c.busy, c.done = false, done
	r.calls[id] = c
	r.busy--
	r.steps.Done()
}

// step does the work of the step with this name and makes its result durable, unless an earlier Run has: then it
// returns the result of that.
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
		remembered, err = r.remembered(before.Done)
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
		return nil, fmt.Errorf("durable step %q: it was done, but that cannot be remembered: %w", name, err)
	}
	finished = true
	return nil, nil
}

// remembered returns the result that a step.done holds or names.
func (r *run) remembered(seq pawl.Seq) ([]byte, error) {
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
		return nil, fmt.Errorf("event %d is no step.done but %s", seq, event.Type)
	case done.Blob != "":
		return r.log.Blob(done.Blob)
	case done.Result == nil:
		return []byte("null"), nil
	}
	return done.Result, nil
}

// attempt is one try of a step.
type attempt struct {
	run   *run
	name  string
	began time.Time

	mu    sync.Mutex      // guards all below until the work has ended
	ref   pawl.AttemptRef // with a token once it is announced
	ended bool
}

// do does the work, and announces the attempt where that takes long.
func (a *attempt) do(ctx context.Context, work func(context.Context) ([]byte, error)) ([]byte, error) {
	timer := time.AfterFunc(announceAfter, func() { a.announce(ctx) })
	defer func() {
		timer.Stop()
		a.mu.Lock() // an announcement under way is over then
		defer a.mu.Unlock()
		a.ended = true
	}()
	return work(context.WithValue(ctx, runKey{}, (*run)(nil)))
}

// announce says in the journal that the attempt is under way. Where that fails nothing was announced; that the journal
// is in trouble will be heard at the step's end.
func (a *attempt) announce(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	ref := a.ref
	ref.Token = pawl.Token(disk.RandomHex(8))
	if a.run.say(context.WithoutCancel(ctx), pawl.AttemptStarted{AttemptRef: ref}) == nil {
		a.ref = ref
	}
}

// done makes the result durable, also where ctx has ended meanwhile.
func (a *attempt) done(ctx context.Context, result []byte) error {
	said := pawl.StepDone{
		Step: a.ref.Step, Attempt: a.ref.Attempt, Token: a.ref.Token, Result: result,
		Stats: &pawl.AttemptStats{Seconds: time.Since(a.began).Seconds()},
	}
	if a.name != string(a.ref.Step) {
		said.Summary = oneLine(a.name)
	}
	if said.Token == "" {
		said.Started = a.began
	}
	if len(result) > maxResult {
		blob, err := a.run.log.PutBlob(result)
		if err != nil {
			return err
		}
		said.Result, said.Blob = nil, blob
	}
	return a.run.say(context.WithoutCancel(ctx), said)
}

// failed has the journal say why the attempt came to nothing, and returns that.
func (a *attempt) failed(ctx context.Context, why error) error {
	outcome := pawl.Failed
	if ctx.Err() != nil {
		outcome = pawl.Aborted
	}
	var said []pawl.Payload
	if a.ref.Token == "" {
		a.ref.Token = pawl.Token(disk.RandomHex(8))
		said = append(said, pawl.AttemptStarted{AttemptRef: a.ref})
	}
	said = append(said, pawl.AttemptEnded{
		AttemptRef: a.ref, Outcome: outcome, Why: oneLine(why.Error()),
		Stats: &pawl.AttemptStats{Seconds: time.Since(a.began).Seconds()},
	})
	if err := a.run.say(context.WithoutCancel(ctx), said...); err != nil {
		return errors.Join(why, fmt.Errorf("durable step %q: %w", a.name, err))
	}
	return why
}

// oneLine cuts a text to what people are shown of it.
func oneLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), 500)], "")
}
