package jupyter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

// live is a running kernel.
type live struct {
	spec     kernel.Spec
	found    *kernelSpec
	command  command
	leader   *leader
	emit     func(kernel.Message)
	requests protocol.Requests
	python   string // interpreter of the helper

	// Of the goroutine that runs carry.
	refused int       // messages that were refused
	lost    time.Time // when the connection was lost last

	info  kernel.Info   // once ready is closed
	ready chan struct{} // closed when the kernel is ready
	done  chan struct{}

	mu        sync.Mutex    // guards the following
	link      *link         // nil while there is none
	relinked  chan struct{} // closed when link changes
	answered  bool          // a request for information
	published bool          // something about such a request
	cell      *cell
}

// cell is a running cell.
type cell struct {
	kernel.Cell
	progress protocol.Progress
	sent     bool          // a helper has taken it
	changed  chan struct{} // has room for one
	over     chan struct{} // closed when ending is set
	ending   kernel.Ending
}

func newLive(spec kernel.Spec, found *kernelSpec, c command, l *leader, emit func(kernel.Message)) *live {
	return &live{
		spec: spec, found: found, command: c, leader: l, emit: emit, requests: protocol.Requests{Tag: disk.RandomHex(4)},
		ready: make(chan struct{}), done: make(chan struct{}), relinked: make(chan struct{}),
	}
}

func (k *live) Info() kernel.Info     { return k.info }
func (k *live) Done() <-chan struct{} { return k.done }
func (k *live) isDead() bool          { return closed(k.done) }
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Death returns how the kernel died.
func (k *live) Death() kernel.Death {
	if !k.isDead() {
		return kernel.Death{}
	}
	return k.leader.death
}

// send sends a request on the shell channel. While there is no connection it waits for one. What a helper did not take has not reached
// the kernel, so the next helper sends it.
func (k *live) send(ctx context.Context, kind, id string, content any) error {
	for {
		k.mu.Lock()
		l, changed := k.link, k.relinked
		k.mu.Unlock()
		if l != nil && l.send("shell", kind, id, content) == nil {
			return nil
		}
		select {
		case <-changed:
		case <-k.done:
			return kernel.ErrDead
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Execute runs a cell.
func (k *live) Execute(ctx context.Context, what kernel.Cell) (kernel.Ending, error) {
	c := &cell{Cell: what, changed: make(chan struct{}, 1), over: make(chan struct{})}
	c.progress.Python = k.info.Language == "python"
	k.mu.Lock()
	if k.cell != nil {
		k.mu.Unlock()
		return kernel.Ending{}, kernel.ErrBusy
	}
	k.cell = c
	k.mu.Unlock()
	if k.isDead() {
		k.finish(c, c.progress.Dead(k.Death()))
		return kernel.Ending{}, kernel.ErrDead
	}
	if err := k.request(ctx, c); err != nil {
		k.finish(c, kernel.Ending{})
		return kernel.Ending{}, fmt.Errorf("send the cell: %w", err)
	}
	go k.follow(context.WithoutCancel(ctx), c)
	select {
	case <-c.over:
		return c.ending, nil
	case <-ctx.Done():
		return kernel.Ending{}, context.Cause(ctx)
	}
}

// request sends the cell.
func (k *live) request(ctx context.Context, c *cell) error {
	id := k.requests.ID(protocol.PurposeCell, c.ID)
	k.mu.Lock()
	c.progress.Sent(id)
	k.mu.Unlock()
	if err := k.send(ctx, "execute_request", id, protocol.Execute(c.Cell)); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c.sent = true
	return nil
}

// follow waits until the cell is over.
func (k *live) follow(ctx context.Context, c *cell) {
	for {
		k.mu.Lock()
		next := c.progress.Next(time.Now(), k.spec.Silence)
		k.mu.Unlock()
		if next.Over {
			next.Ending.Peak = peak(k.leader.pid)
			k.finish(c, next.Ending)
			return
		}
		if next.Again {
			if err := k.request(ctx, c); err != nil {
				k.finish(c, kernel.Ending{Status: kernel.Aborted, Why: "the kernel aborted the cell; send it again: " + err.Error()})
				return
			}
		}
		if next.Mark {
			k.sendMark(c)
		}
		if !k.await(c, next.Wait) {
			k.mu.Lock()
			ending := c.progress.Dead(k.Death())
			k.mu.Unlock()
			k.finish(c, ending)
			return
		}
	}
}

// sendMark sends a mark through the helper. If that dies, the next one gets another mark.
func (k *live) sendMark(c *cell) {
	k.mu.Lock()
	l, id := k.link, c.progress.Request()
	if l != nil {
		c.progress.MarkSent()
	}
	k.mu.Unlock()
	if l != nil {
		_ = l.command(request{Op: "mark", ID: id})
	}
}

// await waits until something about the cell has changed, or for a time. It returns false if the kernel is dead.
func (k *live) await(c *cell, wait time.Duration) bool {
	var timer <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-c.changed:
		return true
	case <-timer:
		return true
	case <-k.done:
		select {
		case <-c.changed: // what came last comes first
			return true
		default:
			return false
		}
	}
}

// finish ends a cell, and makes room for the next one.
func (k *live) finish(c *cell, ending kernel.Ending) {
	k.mu.Lock()
	k.cell = nil
	k.mu.Unlock()
	c.ending = ending
	close(c.over)
}

// update changes the progress of the cell that a request belongs to, if that request is its newest.
func (k *live) update(request string, change func(*protocol.Progress)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cell == nil || k.cell.progress.Request() != request {
		return
	}
	change(&k.cell.progress)
	k.wake()
}

// wake lets the cell look at its progress. The caller holds mu.
func (k *live) wake() {
	select {
	case k.cell.changed <- struct{}{}:
	default:
	}
}

// controlLimit is how long a request of the control channel may take. Some kernels answer none, or none while they are busy.
const controlLimit = time.Second

// Interrupt interrupts the running cell: with a message if the kernelspec says so and the kernel answers, else with a signal.
func (k *live) Interrupt(ctx context.Context) error {
	k.mu.Lock()
	l, idle := k.link, k.cell == nil
	if !idle {
		k.cell.progress.Interrupted()
	}
	k.mu.Unlock()
	if idle || !k.leader.alive() { // some kernels would end if nothing runs
		return nil
	}
	if k.found.InterruptMode == "message" && l != nil {
		limited, cancel := context.WithTimeout(ctx, controlLimit)
		defer cancel()
		if _, err := l.ask(limited, "interrupt_request", k.requests.ID("interrupt", ""), struct{}{}); err == nil {
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
		k.mu.Lock()
		if k.cell != nil {
			k.cell.progress.Interrupted()
		}
		k.mu.Unlock()
	}
	return k.leader.signal(map[kernel.Signal]syscall.Signal{
		kernel.SIGINT: syscall.SIGINT, kernel.SIGTERM: syscall.SIGTERM, kernel.SIGKILL: syscall.SIGKILL,
	}[sig])
}

// closeLimit is how long a kernel may take to shut down.
const closeLimit = 5 * time.Second

// Close asks the kernel to shut down, waits, and then kills it and all its processes.
func (k *live) Close(ctx context.Context) error {
	k.mu.Lock()
	l := k.link
	k.mu.Unlock()
	if l != nil && k.leader.alive() {
		k.leader.excuse("shut down")
		k.shutDown(ctx, l)
	}
	k.discard("shut down")
	return nil
}

// shutDown asks the kernel to end, in the end by SIGTERM, and waits.
func (k *live) shutDown(ctx context.Context, l *link) {
	whole, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	limited, cancel := context.WithTimeout(whole, controlLimit)
	defer cancel()
	if _, err := l.ask(limited, "shutdown_request", k.requests.ID("shutdown", ""), map[string]bool{"restart": false}); err != nil {
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
	<-k.done
}

// describe sets what is known of the kernel, from its kernel_info_reply.
func (k *live) describe(w wire) error {
	info, err := protocol.Described(w.message())
	if err != nil {
		return err
	}
	info.Driver, info.Name, info.DisplayName = kernel.Jupyter, k.found.name, k.found.DisplayName
	info.Interpreter, info.PID = k.command.interpreter, k.leader.pid
	k.info = info
	return nil
}
