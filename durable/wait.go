package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// Sleep is a step that waits. The time of its end is recorded: a run that is resumed sleeps for the rest, or not at all.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	r, id, err := enter(ctx, name, true)
	if err != nil {
		return err
	}
	return r.wait(id, name, nil, func() error {
		at, err := r.deadline(ctx, id, max(d, 1), "sleeps")
		if err == nil {
			err = sleepUntil(ctx, at)
		}
		if err != nil {
			return err
		}
		return r.record(context.WithoutCancel(ctx), pawl.StepDone{Step: id, Summary: summaryOf(id, name)})
	})
}

// wait does a step that was entered: it waits with until, which returns once the answer is in the journal, and decodes the answer. A
// recorded timeout or rejection is an error.
func (r *run) wait(id stepID, title string, value any, until func() error) error {
	data, err := r.once(id, func(pawl.StepState, int) ([]byte, error) {
		err := until()
		if err == nil {
			err = r.refresh()
		}
		if err != nil {
			return nil, err
		}
		st, _ := r.before(id)
		return recorded(r.log, id, &st)
	})
	var a answer
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	switch {
	case err != nil:
	case a.Late:
		err = ErrTimeout
	case a.Rejected != "":
		err = fmt.Errorf("%w: %s", ErrRejected, a.Rejected)
	case value != nil:
		err = json.Unmarshal(a.Value, value)
	}
	if err != nil {
		return fmt.Errorf("durable step %q: %w", title, err)
	}
	return nil
}

// maxNap is the longest time for which a timer is set: timers stand still while the machine is suspended.
const maxNap = time.Minute

// nap waits until at, unless that is zero, or until news is closed, but not longer than maxNap. It reports whether it is at.
func nap(ctx context.Context, at time.Time, news <-chan struct{}) (over bool, err error) {
	left := maxNap
	if !at.IsZero() {
		left = min(left, time.Until(at.Round(0)))
	}
	if left <= 0 {
		return true, nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return false, nil
}

// sleepUntil waits until a time of day.
func sleepUntil(ctx context.Context, at time.Time) (err error) {
	for over := at.IsZero(); !over && err == nil; {
		over, err = nap(ctx, at, nil)
	}
	return err
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
	for over := false; !ok && !over && err == nil; {
		var news chan struct{}
		if err = r.refreshBy(func(s *pawl.State) { news, ok = r.news, ready(s) }); err == nil && !ok {
			over, err = nap(ctx, at, news)
		}
	}
	return ok, err
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
	Rejected string          `json:"rejected,omitempty"` // why a person rejected it
}

// Await is a step that waits for a signal with this name, for a limited time or, with 0, for ever; see [Engine.Signal]. The first call
// with a name gets the first signal with that name, the second call the second one, and so on. A signal may come before the
// call. If none comes in time, the error is ErrTimeout, and the next signal is for the next call.
func Await[T any](ctx context.Context, name string, limit time.Duration) (value T, err error) {
	r, id, title, err := enterNext(ctx, name)
	if err == nil {
		err = r.wait(id, title, &value, func() error { return r.await(ctx, id, title, limit) })
	}
	if err != nil {
		return *new(T), err
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
		for n := 2; r.calls[pawl.StepIDOf(title)].done; n++ {
			title = nth(name, n)
		}
		r.mu.Unlock()
	}
	r, id, err = enter(ctx, title, true)
	return r, id, title, err
}

// await waits for a signal, which finishes the step, or records that none came.
func (r *run) await(ctx context.Context, id stepID, title string, limit time.Duration) error {
	came := func(s *pawl.State) bool { return s.Steps[id].Finished() }
	var at time.Time
	ok, err := r.unless(came, func() (err error) {
		at, err = r.deadline(ctx, id, limit, "waits for a signal")
		return err
	})
	if err == nil && !ok {
		ok, err = r.waitFor(ctx, at, came)
	}
	if err == nil && !ok {
		_, err = r.unless(came, func() error {
			late := pawl.StepDone{Step: id, Summary: summaryOf(id, title), Result: []byte(`{"late":true}`)}
			return r.record(context.WithoutCancel(ctx), late)
		})
	}
	return err
}

// unless calls do if no signal came, and none can come meanwhile.
func (r *run) unless(came func(*pawl.State) bool, do func() error) (ok bool, err error) {
	err = project.WithFolderLock(r.engine.project.RunDir(r.id), func() error {
		if err := r.refreshBy(func(s *pawl.State) { ok = came(s) }); err != nil || ok {
			return err
		}
		return do()
	})
	return ok, err
}
