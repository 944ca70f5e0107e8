package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// bySignal begins the reason in the event of a step that a signal finished. The key of the signal follows.
const bySignal = "signal"

// signaled reports whether a signal has finished a step.
func signaled(st *pawl.StepState) bool { return strings.HasPrefix(st.Adopted, bySignal) }

// within counts the signals that a step's function sends, so that they are the same ones if it is tried again.
type within struct {
	key  string
	sent atomic.Int64
}

type withinKey struct{}

// signal is a signal on its way.
type signal struct {
	project *project.Project
	run     string
	name    string
	key     string // of a step that sends it; empty: it is sent as often as it is asked for
	value   json.RawMessage
}

// Signal sends a value to the newest run with a name. When it returns nil, the signal is on disk, and exactly one call of Await in that
// run gets it. The run may be active, interrupted or failed; one that has completed gives ErrEnded. Signals with the same key count once,
// and so does the signal of a step, however often the step is tried.
func (e *Engine) Signal(ctx context.Context, run, name string, value any, key ...string) error {
	return signal{project: e.project, run: run, name: name}.sendBy(ctx, value, key, func(s signal) error {
		e.mu.Lock()
		a := e.active[run]
		e.mu.Unlock()
		if a != nil {
			select {
			case <-a.opened:
				if err := s.send(ctx, a.run); err == nil {
					a.run.wake()
					return nil
				}
			case <-a.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return s.sendToNewest(ctx, e.runsLike(run), e.commits.Open) // the run has just been left
	})
}

// Signal is Engine.Signal for another process than that of the engine, or for a project without one.
func Signal(ctx context.Context, dir, run, name string, value any, key ...string) error {
	p, err := project.Find(dir)
	if err == nil {
		err = p.Trusted()
	}
	if err != nil {
		return err
	}
	return signal{project: p, run: run, name: name}.sendBy(ctx, value, key, func(s signal) error {
		known, err := runsBySlug(p)
		if err != nil {
			return err
		}
		return s.sendToNewest(ctx, known[pawl.RunID(pawl.SlugOf(run))], func(id pawl.RunID) (*journal.Log, error) { return journal.Open(p.Runs(), id) })
	})
}

// sendBy completes the signal and sends it.
func (s signal) sendBy(ctx context.Context, value any, key []string, send func(signal) error) (err error) {
	if in, ok := ctx.Value(withinKey{}).(*within); ok {
		s.key = fmt.Sprintf(" %s %d", in.key, in.sent.Add(1))
	}
	for _, given := range key {
		s.key = " " + given
	}
	if s.value, err = json.Marshal(map[string]any{"value": value}); err == nil && (s.name == "" || strings.HasPrefix(s.name, ".")) {
		err = errName
	}
	if err == nil {
		err = send(s)
	}
	if err != nil {
		return fmt.Errorf("durable signal %q to run %q: %w", s.name, s.run, err)
	}
	return nil
}

// sendToNewest sends the signal to the first of these runs that has the name.
func (s signal) sendToNewest(ctx context.Context, like []pawl.RunID, open func(pawl.RunID) (*journal.Log, error)) error {
	for _, id := range like {
		log, state, err := folded(id, s.run, open, func(log *journal.Log) (*pawl.State, error) { return log.State(ctx) })
		if err != nil {
			return err
		}
		if log != nil {
			return errors.Join(s.send(ctx, &run{id: id, log: log, state: state}), log.Close())
		}
	}
	return pawl.ErrNoRun
}

// send finishes the first step with the name of the signal that is not finished.
func (s signal) send(ctx context.Context, r *run) error {
	return project.WithFolderLock(s.project.RunDir(r.id), func() error {
		var title string
		var ended, sent bool
		if err := r.refreshBy(func(state *pawl.State) {
			ended = state.Status == pawl.StatusCompleted
			title, sent = s.next(state)
		}); err != nil || sent {
			return err
		}
		if ended {
			return ErrEnded
		}
		step := pawl.StepIDOf(title)
		done := pawl.StepDone{Step: step, Summary: summaryOf(step, title), Adopted: bySignal + oneLine(s.key), Started: time.Now().UTC()}
		done, err := withResult(r.log, done, s.value)
		if err != nil {
			return err
		}
		return appendTo(ctx, r.log, 0, bySignal, done) // whoever has taken over the run
	})
}

// next returns the name of the first step with the name of the signal that is not finished, and whether the signal has been sent before.
func (s signal) next(state *pawl.State) (title string, sent bool) {
	for n := 1; ; n++ {
		title = nth(s.name, n)
		st := state.Steps[pawl.StepIDOf(title)]
		if !st.Finished() {
			return title, false
		}
		if s.key != "" && st.Adopted == bySignal+oneLine(s.key) {
			return title, true
		}
	}
}
