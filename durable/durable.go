// Package durable runs Go functions that resume after a crash. It records each finished step; after a crash, a kill or
// a power failure, the run continues where it stopped.
//
// [Open] opens a project, [Register] names a function, and [Workflow.Run] runs it under a name of its own: the name of a run is its
// idempotency key. A function consists of steps: [Step] and [Go] call a function and record its result, [Sleep] waits for a time, [Await]
// for a signal, [Ask] for a person, and [Workflow.Run] inside of a run for a child run. [Engine.Recover] resumes all runs that a crash
// interrupted. The function [Run] is all of this for one run without input and result.
//
// # Steps
//
// A step is identified by its name. When [Step] returns nil, its result is on disk, as one event of a journal, and the
// step never runs again in this run. An interrupted step runs again, so a step runs at least once, and its effects must
// be idempotent. Code between steps runs every time, so it must be deterministic: anything that can differ, such as the
// clock, belongs in a step's result.
//
// Results are JSON. Step returns the recorded result even the first time, so fields that JSON omits are lost at once,
// and not only after a crash.
//
// Steps are called one after another. Steps that run at the same time are started with [Go], or are steps of child runs. A function
// that, after a crash, calls a new step where the journal has another one gets [ErrNondeterministic], with both names.
//
// # Files
//
// Runs are stored in a project's .pawl folder, where `pawl status`, `pawl log` and `pawl verify` show them. Steps are
// not supervised, and no snapshots are taken; only their context limits them. Only one [Engine] can be open in a project at a time, across
// all processes. Others fail with an error of kind "held" that names the holder. It runs any number of runs at once: what they record at the
// same moment is made durable by one sync (group commit).
package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pawl"
)

// The errors that callers tell apart with errors.Is. Errors of other packages keep their kinds: an open project is refused with the
// kind "held", an unknown run is pawl.ErrNoRun, and a run that another process has taken over gets pawl.ErrFenced.
var (
	// ErrClosed means that the engine was closed. The runs that it interrupted can be recovered.
	ErrClosed = errors.New("durable: the engine is closed")
	// ErrNondeterministic means that a function did not call a step that it had called before the crash.
	ErrNondeterministic = errors.New("the function of the run is not deterministic, or was changed")
	// ErrTimeout means that no signal and no answer came in time. It is recorded, so that it stays so.
	ErrTimeout = errors.New("timed out")
	// ErrRejected means that a person rejected what Ask asked.
	ErrRejected = errors.New("rejected")
	// ErrEnded means that the run that gets a signal has ended.
	ErrEnded = errors.New("the run has ended")

	errNoName     = &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("durable run: missing name")}
	errName       = errors.New("missing name, or a reserved one: it begins with a dot")
	errOutside    = errors.New("use the context that the function of the run gets")
	errInside     = errors.New("steps cannot be nested")
	errPanicked   = errors.New("the step panicked")
	errConcurrent = errors.New("another step is running: start steps that run at the same time with Go")
)

// Run calls fn and records its steps under name, in the project that contains dir; if there is none, dir becomes one.
// It resumes the unfinished run of that name, or starts a new one. It opens an engine for the time of the run.
//
// When fn returns nil the run is finished, and the next Run of that name starts a new one. When fn returns an error, the run has failed;
// when it panics or ctx ends, the run is interrupted. Then the next Run resumes it. Run returns the error of fn. fn must not return before
// its steps have. Its context ends with ctx, or when another process takes the run over.
func Run(ctx context.Context, dir, name string, fn func(context.Context) error) (err error) {
	if name == "" {
		return errNoName
	}
	e, err := Open(dir)
	if err != nil {
		return fmt.Errorf("durable run %q: %w", name, err)
	}
	defer func() {
		if closing := e.Close(); closing != nil { // otherwise return exactly the error of fn
			err = errors.Join(err, closing)
		}
	}()
	a, _, err := e.claim(name)
	if err != nil {
		return err
	}
	e.perform(ctx, a, spec{name: name, repeats: true, fn: func(ctx context.Context, _ []byte) ([]byte, error) { return nil, fn(ctx) }})
	return a.err
}

// Step returns the result of the step with this name: the recorded one if the step is finished, otherwise the result of
// fn after recording it. If fn fails, Step returns its error and the step can be retried, by another Step or the next
// start of the run, or at once by a Retry. If the function of the run went on to later steps after the error, a resumed run returns an
// error with the same text, and does not run the step again.
//
// A name identifies one step of a run, names that begin with a dot are reserved, and steps cannot be nested. A step that runs for a
// second is announced in the journal, so that it is visible while it runs.
func Step[T any](ctx context.Context, name string, fn func(context.Context) (T, error), retry ...Retry) (T, error) {
	r, id, err := enter(ctx, name, true)
	if err != nil {
		var none T
		return none, err
	}
	return typed(r, ctx, id, name, fn, retry)
}

// Go starts a step, and returns without waiting for it. Its context and its Future end with the run, whose function must wait for the
// Future. A panic of fn becomes an error of the step.
func Go[T any](ctx context.Context, name string, fn func(context.Context) (T, error), retry ...Retry) *Future[T] {
	f := newFuture[T]()
	r, id, err := enter(ctx, name, false)
	if err != nil {
		f.settle(f.value, err)
		return f
	}
	f.got = func(err error) { r.got(id, err) }
	go func() {
		f.settle(typed(r, ctx, id, name, func(ctx context.Context) (value T, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = panicError(p)
				}
			}()
			return fn(ctx)
		}, retry))
	}()
	return f
}

// Future is the result of what runs in the background.
type Future[T any] struct {
	done  chan struct{}
	value T
	err   error
	got   func(error) // called when Wait returns the error; may be nil
}

func newFuture[T any]() *Future[T] { return &Future[T]{done: make(chan struct{})} }

func (f *Future[T]) settle(value T, err error) {
	f.value, f.err = value, err
	close(f.done)
}

// Wait returns the result once it is there, or the cause of the end of ctx.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		if f.err != nil && f.got != nil {
			f.got(f.err)
		}
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Retry says how a step is tried again after an error. Each failed attempt is recorded, with the time of the next one: a run that is
// resumed meanwhile waits for the rest of the pause, and does not begin to count again.
type Retry struct {
	Attempts int              // of the step, the first one included; defaults to 3
	Pause    time.Duration    // after the first attempt; defaults to a second
	Factor   float64          // by which the pause grows each time; defaults to 2
	Max      time.Duration    // of the pause; defaults to a minute
	If       func(error) bool // whether an error is worth another attempt; defaults to every error
}

func (t Retry) withDefaults() Retry {
	t.Attempts = cmp.Or(max(t.Attempts, 0), 3)
	t.Pause = cmp.Or(max(t.Pause, 0), time.Second)
	t.Max = cmp.Or(max(t.Max, 0), time.Minute)
	if t.Factor < 1 {
		t.Factor = 2
	}
	return t
}

// after returns the pause after so many failed attempts.
func (t Retry) after(failures int) time.Duration {
	pause := float64(t.Pause)
	for range failures - 1 {
		pause = min(pause*t.Factor, float64(t.Max))
	}
	return time.Duration(min(pause, float64(t.Max)))
}

// typed does a step that was entered, and decodes its result.
func typed[T any](r *run, ctx context.Context, id stepID, name string, fn func(context.Context) (T, error), retry []Retry) (result T, err error) {
	what := fmt.Sprintf("durable step %q", name)
	retry = append([]Retry{{Attempts: 1}}, retry...)
	data, err := r.step(ctx, id, name, retry[len(retry)-1].withDefaults(), func(ctx context.Context) ([]byte, error) {
		value, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		data, err := encode(value, what)
		if err == nil {
			_, err = decode[T](data, what) // reject what cannot be decoded again
		}
		return data, err
	})
	if err != nil {
		return result, err
	}
	return decode[T](data, what)
}

// encode returns what is recorded of a value.
func encode(value any, what string) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%s: record a value of type %T: %w", what, value, err)
	}
	return data, nil
}

// decode returns a recorded value.
func decode[T any](data []byte, what string) (value T, err error) {
	if err := json.Unmarshal(data, &value); err != nil {
		var none T
		return none, fmt.Errorf("%s: the recorded value has another type than %T: %w", what, none, err)
	}
	return value, nil
}
