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
func (e *Engine) flush(ctx context.Context) error { return e.write(ctx, false) }

// write is flush. With later it does not wait until the batch is durable: its events are reported, and its side effects run, after the next
// flush. So the end of an attempt and the intent of the next one share a sync.
func (e *Engine) write(ctx context.Context, later bool) (err error) {
	fence := runs.Fence{Project: e.cfg.Project, Run: e.run, Epoch: e.epoch, Live: e.state.Live()}
	batch, told := e.pending, e.untold
	var effects []func() error
	read := e.log.Appended
	if e.pending, e.untold = nil, nil; !later {
		effects, e.afterFlush = e.afterFlush, nil
	}
	switch {
	case later:
		err = e.append(ctx, batch, e.log.AppendLater)
	case len(batch) > 0:
		err = e.append(ctx, batch, e.log.Append)
	default:
		err, read = e.log.Sync(ctx), e.log.NewEvents
	}
	if err != nil {
		return fence.Failed(err, e.log)
	}
	for _, event := range told {
		e.tell(ctx, event)
	}
	news, err := read()
	if err != nil {
		return err
	}
	if err := runs.CheckNews(e.cfg.Project, e.run, news); err != nil {
		return errors.Join(err, callAll(effects)) // the attempts of the batch are journaled
	}
	for _, event := range news {
		if e.state.Apply(event); !later {
			e.tell(ctx, event)
		}
	}
	if told = append(told, news...); later {
		e.untold = told
		return fence.Check(news)
	}
	if len(told) > 0 {
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

// tell reports a durable event to the user and the tracer.
func (e *Engine) tell(ctx context.Context, event pawl.Event) {
	e.cfg.Notify(event)
	e.cfg.Tracer.Record(ctx, event, e.state, e.plan.Plan)
}

func callAll(effects []func() error) error {
	var failed []error
	for _, effect := range effects {
		failed = append(failed, effect())
	}
	return errors.Join(failed...)
}
