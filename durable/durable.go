// Package durable runs Go functions that resume after a crash. It records each finished step; after a crash, a kill or
// a power failure, the next [Run] of the same name continues where the last one stopped.
//
// A step is identified by its name. When [Step] returns nil, its result is on disk, as one event of a journal, and the
// step never runs again in this run. An interrupted step runs again, so a step runs at least once, and its effects must
// be idempotent. Code between steps runs every time, so it must be deterministic: anything that can differ, such as the
// clock, belongs in a step's result.
//
// Results are JSON. Step returns the recorded result even the first time, so fields that JSON omits are lost at once,
// and not only after a crash.
//
// Runs are stored in a project's .pawl folder, where `pawl status`, `pawl log` and `pawl verify` show them. Steps are
// not supervised, and no snapshots are taken; only their context limits them. Only one Run can be active in a project
// at a time, across all processes. Others fail with an error of kind "held" that names the holder.
package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

var (
	errOutside = errors.New("use the context that durable.Run passes to its function")
	errInside  = errors.New("steps cannot be nested")
)

// Run calls fn and records its steps under name, in the project that contains dir; if there is none, dir becomes one.
// It resumes the unfinished run of that name, or starts a new one.
//
// When fn returns nil the run is finished. When fn returns an error or panics, the run stays unfinished, and Run
// returns the error. fn must not return before its steps have. Its context ends with ctx, or when another process takes
// the run over.
func Run(ctx context.Context, dir, name string, fn func(context.Context) error) (err error) {
	r, err := open(ctx, dir, name)
	if err != nil {
		return fmt.Errorf("durable run %q: %w", name, err)
	}
	within, cancel := context.WithCancelCause(ctx)
	r.cancel = cancel
	r.verify(context.WithoutCancel(ctx))
	returned := false
	defer func() {
		busy := r.stop()
		_ = r.requireVerified() // leave returns its error
		if returned {
			err = r.leave(ctx, err, busy)
		}
		if closing := r.close(); closing != nil { // otherwise return exactly the error of fn
			err = errors.Join(err, closing)
		}
	}()
	err = fn(context.WithValue(within, runKey{}, r))
	returned = true
	return err
}

// Step returns the result of the step with this name: the recorded one if the step is finished, otherwise the result of
// fn after recording it. If fn fails, Step returns its error and the step can be retried, by another Step or the next
// Run. A name identifies one step of a run, and steps cannot be nested. Several goroutines may run steps concurrently.
//
// A step that runs for a second is announced in the journal, so that it is visible while it runs.
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
			err = json.Unmarshal(data, &result) // reject what cannot be decoded again
		}
		if err != nil {
			return nil, fmt.Errorf("durable step %q: record a result of type %T: %w", name, value, err)
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
		return none, fmt.Errorf("durable step %q: the recorded result has another type than %T: %w", name, none, err)
	}
	return result, nil
}

// runKey is the key of the run in its context; inside a step the value is nil.
type runKey struct{}
