package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
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

func newSignal(ctx context.Context, p *project.Project, run, name string, value any, key []string) (*signal, error) {
	data, err := json.Marshal(answer{Value: json.RawMessage("null")})
	if err == nil && value != nil {
		var encoded []byte
		if encoded, err = json.Marshal(value); err == nil {
			data, err = json.Marshal(answer{Value: encoded})
		}
	}
	if err == nil && (name == "" || strings.HasPrefix(name, ".")) {
		err = errors.New("missing or reserved name")
	}
	s := &signal{project: p, run: run, name: name, value: data}
	if in, ok := ctx.Value(withinKey{}).(*within); ok {
		s.key = fmt.Sprintf(" %s %d", in.key, in.sent.Add(1))
	}
	for _, given := range key {
		s.key = " " + given
	}
	return s, err
}

// Signal sends a value to the newest run with a name. When it returns nil, the signal is on disk, and exactly one call of Await in that
// run gets it. The run may be active, interrupted or failed; one that has completed gives ErrEnded. Signals with the same key count once,
// and so does the signal of a step, however often the step is tried.
func (e *Engine) Signal(ctx context.Context, run, name string, value any, key ...string) error {
	s, err := newSignal(ctx, e.project, run, name, value, key)
	if err != nil {
		return s.failed(err)
	}
	e.mu.Lock()
	a := e.active[run]
	e.mu.Unlock()
	if a != nil {
		select {
		case <-a.opened:
			if err := s.send(ctx, a.run.id, a.run.log, a.run.refreshBy); err == nil {
				a.run.wake()
				return nil
			}
		case <-a.done:
		case <-ctx.Done():
			return s.failed(context.Cause(ctx))
		}
	}
	return s.failed(s.sendToNewest(ctx, e.runsLike(run), e.commits.Open)) // the run has just been left
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
	s, err := newSignal(ctx, p, run, name, value, key)
	if err != nil {
		return s.failed(err)
	}
	like, err := journal.Runs(p.Runs())
	if err != nil {
		return s.failed(err)
	}
	slug := pawl.RunID(pawl.SlugOf(run))
	like = slices.DeleteFunc(like, func(id pawl.RunID) bool { return slugOf(id) != slug })
	slices.SortFunc(like, newestFirst)
	return s.failed(s.sendToNewest(ctx, like, func(id pawl.RunID) (*journal.Log, error) { return journal.Open(p.Runs(), id) }))
}

func (s *signal) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("durable signal %q to run %q: %w", s.name, s.run, err)
}

// sendToNewest sends the signal to the first of these runs that has the name.
func (s *signal) sendToNewest(ctx context.Context, like []pawl.RunID, open func(pawl.RunID) (*journal.Log, error)) error {
	for _, id := range like {
		if found, err := s.sendToNamed(ctx, id, open); found || err != nil {
			return err
		}
	}
	return pawl.ErrNoRun
}

func (s *signal) sendToNamed(ctx context.Context, id pawl.RunID, open func(pawl.RunID) (*journal.Log, error)) (found bool, err error) {
	log, err := open(id)
	if errors.Is(err, pawl.ErrNoRun) { // it was archived
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	state, err := log.State(ctx)
	if errors.Is(err, journal.ErrEmpty) {
		return false, nil
	}
	if err != nil || state.Kind != pawl.DurableRun || state.Name != s.run {
		return false, err
	}
	return true, s.send(ctx, id, log, func(then func(*pawl.State)) error {
		news, err := log.NewEvents()
		for _, event := range news {
			state.Apply(event)
		}
		then(state)
		return err
	})
}

// send finishes the first step with the name of the signal that is not finished. refresh calls its argument with the present state.
func (s *signal) send(ctx context.Context, id pawl.RunID, log *journal.Log, refresh func(func(*pawl.State)) error) error {
	return project.WithFolderLock(s.project.RunDir(id), func() error {
		var title string
		var ended, sent bool
		if err := refresh(func(state *pawl.State) {
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
		done, err := withResult(log, done, s.value)
		if err != nil {
			return err
		}
		event, err := redact.OfProcess().Event(pawl.Author{Kind: pawl.ByEngine, Name: bySignal}, done)
		if err == nil {
			_, err = log.Append(ctx, 0, event)
		}
		return err
	})
}

// next returns the name of the first step with the name of the signal that is not finished, and whether the signal has been sent before.
func (s *signal) next(state *pawl.State) (title string, sent bool) {
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
