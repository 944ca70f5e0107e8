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

	project    *Project
	soft, hard context.CancelFunc
	ended      chan error
}

// carryOn runs an engine in the background and closes it.
func (p *Project) carryOn(opened *engine.Engine) *Engine {
	e := &Engine{project: p, ended: make(chan error, 1)}
	soft, cancelSoft := context.WithCancel(context.WithoutCancel(p.Context()))
	hard, cancelHard := context.WithCancel(context.WithoutCancel(p.Context()))
	e.soft, e.hard = cancelSoft, cancelHard
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		err := opened.Run(soft, hard, "test")
		e.Notes = opened.Notes()
		e.ended <- errors.Join(err, opened.Close())
	}()
	p.Cleanup(func() {
		e.InterruptTwice()
		deadline := time.NewTimer(patience)
		defer deadline.Stop()
		select {
		case <-gone:
		case <-deadline.C:
			p.Error("the engine was interrupted twice, and does not stop")
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

// Interrupt acts like one Ctrl-C: the engine starts nothing more.
func (e *Engine) Interrupt() { e.soft() }

// InterruptTwice acts like two: the engine also ends its attempts.
func (e *Engine) InterruptTwice() {
	e.soft()
	e.hard()
}
