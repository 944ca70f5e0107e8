package engine

import (
	"context"
	"errors"

	"pawl"
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
	fence := runs.Fence{Project: e.cfg.Project, Run: e.run, Epoch: e.epoch, Live: e.state.Live()}
	batch, effects := e.pending, e.afterFlush
	e.pending, e.afterFlush = nil, nil
	if len(batch) > 0 {
		if err := e.append(ctx, batch); errors.Is(err, pawl.ErrFenced) {
			news, errNews := e.log.NewEvents()
			return errors.Join(fence.Refused(err, news), errNews)
		} else if err != nil {
			return err
		}
	}
	news, err := e.log.NewEvents()
	if err != nil {
		return err
	}
	if err := runs.CheckNews(e.cfg.Project, e.run, news); err != nil {
		return errors.Join(err, callAll(effects)) // the attempts of the batch are journaled
	}
	for _, event := range news {
		e.state.Apply(event)
		e.cfg.Notify(event)
		e.cfg.Tracer.Record(ctx, event, e.state, e.plan.Plan)
	}
	if len(news) > 0 {
		e.mirrorDue = e.mirror.Changed(ctx, e.state, e.plan.Plan, news)
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

func callAll(effects []func() error) error {
	var failed []error
	for _, effect := range effects {
		failed = append(failed, effect())
	}
	return errors.Join(failed...)
}
