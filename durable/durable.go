// Package durable runs a Go function whose finished steps are remembered: after a crash, a kill or a power cut the next
// [Run] of the same name goes on where the last one stopped.
//
// A step's name is its identity. When [Step] returns nil its result is on disk, as one event of a journal, and the step
// never runs again in this run; a step that was cut off runs again. So a step runs at least once, and what it does to
// the outside must bear that. What stands between steps runs every time, so the way from step to step must not depend
// on what can differ the next time, such as the clock, other than through a step's result.
//
// Results are JSON. A Step returns what the journal holds, also the first time: what JSON leaves out is gone at once,
// not only after a crash.
//
// Runs live in a project's .pawl folder, where `pawl status`, `pawl log` and `pawl verify` see them. Nothing supervises
// a step and nothing of its files is kept: its limits are those of its context. One Run works in a project at a time, in
// whatever process; another is refused with an error of kind "held" that says who is in the way.
package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

var (
	errOutside = errors.New("it needs the context that durable.Run gives")
	errInside  = errors.New("it stands inside another step")
)

// Run calls fn, whose steps are remembered under name in the project that dir lies in; where there is none, dir becomes
// one. It goes on with the unfinished run of that name, else begins a new one.
//
// When fn returns nil the run is finished. When it returns an error, Run returns that, and the run stays unfinished;
// so it does when fn panics. fn must not return before its steps have. The context that fn is given ends with ctx, and
// when the run was taken over by somebody else.
func Run(ctx context.Context, dir, name string, fn func(context.Context) error) (err error) {
	r, err := open(ctx, dir, name)
	if err != nil {
		return fmt.Errorf("durable run %q: %w", name, err)
	}
	within, cancel := context.WithCancelCause(ctx)
	r.cancel = cancel
	returned := false
	defer func() {
		busy := r.stop()
		if returned {
			err = r.leave(ctx, err, busy)
		}
		if closing := r.close(); closing != nil { // else err stays the very error that fn returned
			err = errors.Join(err, closing)
		}
	}()
	err = fn(context.WithValue(within, runKey{}, r))
	returned = true
	return err
}

// Step returns the result of the step with this name: the remembered one where the step is finished, else what fn
// returns, once that is remembered. An error of fn is returned, and the step is not finished: it can be tried again, by
// another Step or the next Run. A name stands for one step of a run, and no step stands inside another. Steps may run
// side by side in several goroutines.
//
// A step that has run for a second is announced in the journal, so that people see it.
func Step[T any](ctx context.Context, name string, fn func(context.Context) (T, error)) (T, error) {
	var none, result T
	r, ok := ctx.Value(runKey{}).(*run)
	switch {
	case !ok:
		return none, fmt.Errorf("durable step %q: %w", name, errOutside)
	case r == nil:
		return none, fmt.Errorf("durable step %q: %w", name, errInside)
	}
	remembered, err := r.step(ctx, name, func(ctx context.Context) (data []byte, err error) {
		value, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		if data, err = json.Marshal(value); err == nil {
			err = json.Unmarshal(data, &result) // what cannot be read back must not be remembered
		}
		if err != nil {
			return nil, fmt.Errorf("durable step %q: a %T cannot be remembered: %w", name, value, err)
		}
		return data, nil
	})
	if err != nil {
		return none, err
	}
	if remembered == nil {
		return result, nil
	}
	if err := json.Unmarshal(remembered, &result); err != nil {
		return none, fmt.Errorf("durable step %q: what is remembered of it is no %T: %w", name, none, err)
	}
	return result, nil
}

// runKey is the key of the run in its context; inside a step that is nil.
type runKey struct{}
