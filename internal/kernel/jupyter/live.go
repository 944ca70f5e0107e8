package jupyter

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

// live is a running kernel.
type live struct {
	*protocol.Client

	spec    kernel.Spec
	found   *kernelSpec
	command command
	leader  *leader
	emit    func(kernel.Message) // of the goroutine that runs carry
	python  string               // interpreter of the helper
	link    atomic.Pointer[link] // nil while there is none
	lost    time.Time            // when the connection was lost last; of the goroutine that runs carry
}

func newLive(spec kernel.Spec, found *kernelSpec, c command, l *leader, emit func(kernel.Message)) *live {
	info := kernel.Info{
		Driver: kernel.Jupyter, Name: found.name, DisplayName: found.DisplayName, Interpreter: c.interpreter, PID: l.pid,
	}
	return &live{Client: protocol.NewClient(spec, info, emit), spec: spec, found: found, command: c, leader: l, emit: emit}
}

// connected notes a new helper; nil: the helper is gone.
func (k *live) connected(l *link) {
	k.link.Store(l)
	if l == nil {
		k.Connected(nil)
	} else {
		k.Connected(l)
	}
}

// Execute runs a cell.
func (k *live) Execute(ctx context.Context, cell kernel.Cell) (kernel.Ending, error) {
	ending, err := k.Client.Execute(ctx, cell)
	if err == nil && ending.Peak == 0 {
		ending.Peak = peak(k.leader.pid)
	}
	return ending, err
}

// controlLimit is how long a request of the control channel may take. Some kernels answer none, or none while they are busy.
const controlLimit = time.Second

// Interrupt interrupts the running cell: with a message if the kernelspec says so and the kernel answers, else with a signal.
func (k *live) Interrupt(ctx context.Context) error {
	if !k.Interrupted() || !k.leader.alive() { // some kernels would end if nothing runs
		return nil
	}
	if l := k.link.Load(); k.found.InterruptMode == "message" && l != nil {
		limited, cancel := context.WithTimeout(ctx, controlLimit)
		defer cancel()
		if _, err := l.ask(limited, "interrupt_request", k.RequestID("interrupt"), struct{}{}); err == nil {
			return nil
		}
	}
	if err := k.leader.signal(syscall.SIGINT); !errors.Is(err, kernel.ErrDead) {
		return err
	}
	return nil
}

// Signal sends a signal to the process group of the kernel.
func (k *live) Signal(sig kernel.Signal) error {
	if sig == kernel.SIGINT {
		k.Interrupted()
	}
	return k.leader.signal(map[kernel.Signal]syscall.Signal{
		kernel.SIGINT: syscall.SIGINT, kernel.SIGTERM: syscall.SIGTERM, kernel.SIGKILL: syscall.SIGKILL,
	}[sig])
}

// closeLimit is how long a kernel may take to shut down.
const closeLimit = 5 * time.Second

// Close interrupts a running cell, so that its clean-up runs, asks the kernel to shut down, waits, and then kills it and all its processes.
func (k *live) Close(ctx context.Context) error {
	if l := k.link.Load(); l != nil && k.leader.alive() {
		k.leader.excuse("shut down")
		limit := controlLimit
		if _, busy := k.Running(); busy {
			limit = cleanUpLimit
		}
		_ = k.Interrupt(ctx) // the kernel is shut down all the same
		k.shutDown(ctx, l, limit)
	}
	k.discard("shut down")
	return nil
}

// cleanUpLimit is how long an interrupted cell may clean up before SIGTERM.
const cleanUpLimit = 3 * time.Second

// shutDown asks the kernel to end, after a limit by SIGTERM, and waits.
func (k *live) shutDown(ctx context.Context, l *link, limit time.Duration) {
	whole, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	limited, cancel := context.WithTimeout(whole, limit)
	defer cancel()
	if _, err := l.ask(limited, "shutdown_request", k.RequestID("shutdown"), map[string]bool{"restart": false}); err != nil {
		_ = k.leader.signal(syscall.SIGTERM) // it may be dead
	}
	select {
	case <-k.leader.dead:
	case <-whole.Done():
	}
}

// discard kills the kernel and waits until all its processes are gone.
func (k *live) discard(why string) {
	k.leader.kill(why)
	<-k.Done()
}
