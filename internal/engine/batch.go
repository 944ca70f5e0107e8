package engine

import (
	"context"
	"errors"
	"slices"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/dispatch"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// emit adds events to the next batch.
func (e *Engine) emit(payloads ...pawl.Payload) {
	e.emitBy(pawl.Author{Kind: pawl.ByEngine}, payloads...)
}

// emitBy adds events of another author to the next batch.
func (e *Engine) emitBy(by pawl.Author, payloads ...pawl.Payload) {
	for _, p := range payloads {
		event, err := redact.OfProcess().Event(by, p)
		if err != nil {
			panic("payloads are plain data: " + err.Error())
		}
		e.pending = append(e.pending, event)
	}
}

// cacheEvery is how many events may pass before the state is cached again. The cache speeds up the next engine.
const cacheEvery = 2000

// flush makes the batch durable, folds it together with events of other writers, and runs the scheduled side effects. If another engine has
// taken the run over, it runs none: nothing that the batch intended has begun.
func (e *Engine) flush(ctx context.Context) error {
	fence := e.fence()
	batch, effects := e.pending, e.afterFlush
	e.pending, e.afterFlush = nil, nil
	var err error
	if len(batch) > 0 {
		err = e.append(ctx, batch, e.log.Append)
	} else {
		err = e.log.Sync(ctx)
	}
	if err != nil {
		return e.refused(fence, err)
	}
	told := e.untold
	e.untold = nil
	e.tell(ctx, told)
	news, err := e.log.NewEvents()
	if err != nil {
		return err
	}
	if err := runs.CheckNews(e.cfg.Project, e.run, news); err != nil {
		return errors.Join(err, callAll(effects)) // the attempts of the batch are journaled
	}
	for i, event := range news {
		e.state.Apply(event)
		e.tell(ctx, news[i:i+1])
	}
	if told = append(told, news...); len(told) > 0 {
		e.mirrorDue = e.mirror.Changed(ctx, e.state, e.plan.Plan, told)
	}
	if err := fence.Check(news); err != nil {
		return err
	}
	if e.state.Seq >= e.cached+cacheEvery {
		e.cached = e.state.Seq
		_ = e.cacheState()
	}
	return callAll(effects) // each attempt of the batch has its intent journaled and its lock taken
}

// flushLater journals and folds the batch, but does not wait until it is durable. Nobody is told about it, and its side effects wait, until
// the next flush. So the end of an attempt and the intent of the next one share a sync.
func (e *Engine) flushLater(ctx context.Context) error {
	fence := e.fence()
	batch := e.pending
	e.pending = nil
	if err := e.append(ctx, batch, e.log.AppendLater); err != nil {
		return e.refused(fence, err)
	}
	news, err := e.log.NewEvents()
	if err == nil {
		err = runs.CheckNews(e.cfg.Project, e.run, news)
	}
	if err != nil {
		return err
	}
	for _, event := range news {
		e.state.Apply(event)
	}
	e.untold = append(e.untold, news...)
	return fence.Check(news)
}

// onlyDone reports whether the batch only says that steps and items are done.
func (e *Engine) onlyDone() bool {
	return len(e.pending) > 0 && !slices.ContainsFunc(e.pending, func(event pawl.Event) bool {
		return event.Type != pawl.StepDone{}.Event() && event.Type != pawl.ItemDone{}.Event()
	})
}

// onlyIntents reports whether actions only start attempts of scripts, at once.
func onlyIntents(actions []decide.Action) bool {
	return len(actions) > 0 && !slices.ContainsFunc(actions, func(a decide.Action) bool {
		return a.Kind != decide.Start || a.Step.Run == "" || len(a.Step.Inputs) > 0 || a.Step.Service != nil || dispatch.QueueOf(a.Step) != ""
	})
}

// tell reports durable events to the user and the tracer.
func (e *Engine) tell(ctx context.Context, news []pawl.Event) {
	for _, event := range news {
		e.cfg.Notify(event)
		e.cfg.Tracer.Record(ctx, event, e.state, e.plan.Plan)
	}
}

func (e *Engine) fence() runs.Fence {
	return runs.Fence{Project: e.cfg.Project, Run: e.run, Epoch: e.epoch, Live: e.state.Live()}
}

// refused returns the error of a batch that was not journaled.
func (e *Engine) refused(fence runs.Fence, err error) error {
	if !errors.Is(err, pawl.ErrFenced) {
		return err
	}
	news, errNews := e.log.NewEvents()
	return errors.Join(fence.Refused(err, news), errNews)
}

func callAll(effects []func() error) error {
	var failed []error
	for _, effect := range effects {
		failed = append(failed, effect())
	}
	return errors.Join(failed...)
}
