package enginetest

import (
	"context"
	"errors"
	"time"

	"pawl/internal/engine"
)

// Engine is a running engine.
type Engine struct {
	Notes []string // after Wait

	project     *Project
	soft, leave context.CancelFunc
	ended       chan error
}

// carryOn runs an engine in the background and closes it.
func (p *Project) carryOn(opened *engine.Engine) *Engine {
	e := &Engine{project: p, ended: make(chan error, 1)}
	soft, cancelSoft := context.WithCancel(context.WithoutCancel(p.Context()))
	leave, cancelLeave := context.WithCancel(context.WithoutCancel(p.Context()))
	e.soft, e.leave = cancelSoft, cancelLeave
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		err := opened.Run(soft, leave, "test")
		e.Notes = opened.Notes()
		e.ended <- errors.Join(err, opened.Close())
	}()
	p.Cleanup(func() {
		e.Interrupt()
		deadline := time.NewTimer(patience)
		defer deadline.Stop()
		select {
		case <-gone:
		case <-deadline.C:
			p.Error("the engine was interrupted, and does not stop")
		}
	})
	return e
}

// Wait returns why the engine stopped, nil for completed.
func (e *Engine) Wait() error {
	e.project.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case err := <-e.ended:
		return err
	case <-deadline.C:
		e.project.Fatalf("the engine does not stop; newest events: %v", e.project.newest())
		return nil
	}
}

// patience is the timeout of every wait.
const patience = 30 * time.Second

// Interrupt acts like one Ctrl-C: the engine starts nothing more, and ends its attempts.
func (e *Engine) Interrupt() { e.soft() }

// Leave acts like two: the engine leaves its attempts running.
func (e *Engine) Leave() {
	e.soft()
	e.leave()
}
