package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// Sleep is a step that waits. The time of its end is recorded: a run that is resumed sleeps for the rest, or not at all.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	r, id, err := enter(ctx, name, true)
	if err != nil {
		return err
	}
	if err := r.sleep(ctx, id, name, d); err != nil {
		return fmt.Errorf("durable step %q: %w", name, err)
	}
	return nil
}

func (r *run) sleep(ctx context.Context, id stepID, name string, d time.Duration) (err error) {
	defer func() { r.exit(id, err) }()
	before, c := r.before(id)
	if before.Status == pawl.Done || c.past != nil {
		return c.past
	}
	at, err := r.deadline(ctx, id, max(d, 1), "sleeps")
	if err == nil {
		err = sleepUntil(ctx, at)
	}
	if err == nil {
		err = r.record(context.WithoutCancel(ctx), pawl.StepDone{Step: id, Summary: summaryOf(id, name)})
	}
	return err
}

// nap is the longest time for which a timer is set: timers stand still while the machine is suspended.
const nap = time.Minute

// sleepUntil waits until a time of day.
func sleepUntil(ctx context.Context, at time.Time) error {
	for {
		left := time.Until(at.Round(0))
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(min(left, nap)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// deadline records that a step waits, and for how long; 0 is for ever. It returns the end, which an earlier performance may have recorded.
func (r *run) deadline(ctx context.Context, id stepID, d time.Duration, why string) (at time.Time, err error) {
	if before, _ := r.before(id); before.Retries.Last != nil && before.Retries.Last.Outcome == pawl.WaitsFor {
		return before.Retries.Last.RetryAt, nil
	}
	if d > 0 {
		at = time.Now().UTC().Add(d)
	}
	ref := r.nextAttempt(id)
	ref.Token = pawl.Token(disk.RandomHex(8))
	ended := pawl.AttemptEnded{AttemptRef: ref, Outcome: pawl.WaitsFor, Why: why, RetryAt: at}
	return at, r.record(context.WithoutCancel(ctx), pawl.AttemptStarted{AttemptRef: ref}, ended)
}

// waitFor waits until ready returns true, which it asks whenever others may have appended to the journal. It returns false after at,
// unless that is zero.
func (r *run) waitFor(ctx context.Context, at time.Time, ready func(*pawl.State) bool) (ok bool, err error) {
	r.watch.Do(func() {
		changes := r.log.Watch(context.WithoutCancel(ctx)) // until the journal is closed
		go func() {
			for range changes {
				r.wake()
			}
		}()
	})
	for {
		var news chan struct{}
		if err := r.refreshBy(func(s *pawl.State) { news, ok = r.news, ready(s) }); err != nil || ok {
			return ok, err
		}
		left := time.Until(at.Round(0))
		if at.IsZero() {
			left = nap
		}
		if left <= 0 {
			return false, nil
		}
		timer := time.NewTimer(min(left, nap))
		select {
		case <-news:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// wake has all that wait look at the journal.
func (r *run) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.news)
	r.news = make(chan struct{})
}

// answer is the result of a step that waits for somebody.
type answer struct {
	Value    json.RawMessage `json:"value,omitempty"`
	Late     bool            `json:"late,omitempty"`     // nothing came in time
	Rejected *string         `json:"rejected,omitempty"` // why a person rejected it
}

// Await is a step that waits for a signal with this name, for a limited time or, with 0, for ever; see [Engine.Signal]. The first call
// with a name gets the first signal with that name, the second call the second one, and so on. A signal may come before the
// call. If none comes in time, the error is ErrTimeout, and the next signal is for the next call.
func Await[T any](ctx context.Context, name string, limit time.Duration) (value T, err error) {
	r, id, title, err := enterNext(ctx, name)
	if err != nil {
		return value, err
	}
	data, err := r.await(ctx, id, title, limit)
	if err == nil {
		if err = json.Unmarshal(data, &value); err != nil {
			err = fmt.Errorf("the signal has another type than %T: %w", value, err)
		}
	}
	if err != nil {
		return *new(T), fmt.Errorf("durable step %q: %w", title, err)
	}
	return value, nil
}

// nth returns the name of the step that is the n-th call of Await with a name.
func nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s (%d)", name, n)
}

// enterNext enters the step of the next call of Await with a name.
func enterNext(ctx context.Context, name string) (r *run, id stepID, title string, err error) {
	title = name
	if r, _ := ctx.Value(runKey{}).(*run); r != nil {
		r.mu.Lock()
		for n := 1; r.calls[pawl.StepIDOf(title)].done; {
			n++
			title = nth(name, n)
		}
		r.mu.Unlock()
	}
	r, id, err = enter(ctx, title, true)
	return r, id, title, err
}

func (r *run) await(ctx context.Context, id stepID, title string, limit time.Duration) (value []byte, err error) {
	defer func() { r.exit(id, err) }()
	came := func(s *pawl.State) bool { return s.Steps[id].Finished() }
	before, c := r.before(id)
	if c.past != nil {
		return nil, c.past
	}
	if before.Status != pawl.Done {
		var at time.Time
		ok := false
		err := project.WithFolderLock(r.engine.project.RunDir(r.id), func() error { // no signal comes between
			err := r.refreshBy(func(s *pawl.State) { ok = came(s) })
			if err == nil && !ok {
				at, err = r.deadline(ctx, id, limit, "waits for a signal")
			}
			return err
		})
		if err == nil && !ok {
			ok, err = r.waitFor(ctx, at, came)
		}
		if err == nil && !ok {
			err = r.late(ctx, id, title, came)
		}
		if err != nil {
			return nil, err
		}
		before, _ = r.before(id)
	}
	if err := r.requireVerified(); err != nil {
		return nil, err
	}
	a, err := answerOf(r.log, id, &before)
	return a.Value, err
}

// late records that no signal came in time, unless one came at the last moment.
func (r *run) late(ctx context.Context, id stepID, title string, came func(*pawl.State) bool) error {
	return project.WithFolderLock(r.engine.project.RunDir(r.id), func() error {
		ok := false
		if err := r.refreshBy(func(s *pawl.State) { ok = came(s) }); err != nil || ok {
			return err
		}
		done, err := r.result(pawl.StepDone{Step: id, Summary: summaryOf(id, title)}, []byte(`{"late":true}`))
		if err == nil {
			err = r.record(context.WithoutCancel(ctx), done)
		}
		return cmp.Or(err, r.refresh())
	})
}

// answerOf returns the recorded result of a step that waited. A recorded timeout or rejection is an error.
func answerOf(log *journal.Log, id stepID, st *pawl.StepState) (a answer, err error) {
	data, err := recorded(log, id, st)
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	switch {
	case err != nil:
	case a.Late:
		err = ErrTimeout
	case a.Rejected != nil && *a.Rejected != "":
		err = fmt.Errorf("%w: %s", ErrRejected, *a.Rejected)
	case a.Rejected != nil:
		err = ErrRejected
	}
	return a, err
}
