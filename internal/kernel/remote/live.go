package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

// live is a running kernel.
type live struct {
	driver   Driver
	api      *api
	spec     kernel.Spec
	emit     func(kernel.Message)
	life     context.Context // ends with the kernel
	end      context.CancelFunc
	requests protocol.Requests

	id       string // of the kernel on the server
	attached bool   // the kernel ran before
	busy     bool   // it was busy then

	info  kernel.Info   // once ready is closed
	ready chan struct{} // closed when the kernel is ready
	done  chan struct{}

	mu        sync.Mutex    // guards the following
	socket    *socket       // nil while there is no connection
	relinked  chan struct{} // closed when socket changes
	answered  bool          // a request for information
	published bool          // something about such a request
	session   string        // of the kernel's process; empty: it uses that of requests, or several
	cell      *cell
	death     kernel.Death
	dying     bool // death is set
	closed    bool // it was deleted on the server

	refused int // messages that were refused; used by carry only
}

// cell is a running cell.
type cell struct {
	kernel.Cell
	progress protocol.Progress
	dropped  string        // what the server says about output that it dropped
	changed  chan struct{} // has room for one
	over     chan struct{} // closed when ending is set
	ending   kernel.Ending
}

// Info implements kernel.Kernel.
func (k *live) Info() kernel.Info { return k.info }

// Done implements kernel.Kernel.
func (k *live) Done() <-chan struct{} { return k.done }

// Stacks implements kernel.Kernel: a server has no way to get them.
func (k *live) Stacks(context.Context) (string, error) { return "", nil }

// Signal implements kernel.Kernel.
func (k *live) Signal(kernel.Signal) error {
	return fmt.Errorf("send a signal to a remote kernel: %w", errors.ErrUnsupported)
}

// Death implements kernel.Kernel.
func (k *live) Death() kernel.Death {
	if !isClosed(k.done) {
		return kernel.Death{}
	}
	return k.death
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// die notes that the kernel is dead. Nothing is sent from now on. carry then closes done.
func (k *live) die(why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.dying {
		k.dying, k.death = true, kernel.Death{Why: why}
		k.end()
	}
}

func (k *live) isDying() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dying
}

func (k *live) setSocket(s *socket) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.socket = s
	close(k.relinked)
	k.relinked = make(chan struct{})
}

// send sends a request on the shell channel. While there is no connection it waits for one. A message that was not written as a whole
// has no effect, so it is sent again on the next connection.
func (k *live) send(ctx context.Context, kind, id string, content any) error {
	for {
		k.mu.Lock()
		s, changed, dying := k.socket, k.relinked, k.dying
		k.mu.Unlock()
		if dying {
			return kernel.ErrDead
		}
		if s != nil {
			data, err := encode(s.conn.Subprotocol(), "shell", k.spec.Session, kind, id, content)
			if err != nil {
				return err
			}
			if s.conn.Write(k.life, messageType(s.conn.Subprotocol()), data) == nil {
				return nil
			}
		}
		select {
		case <-changed:
		case <-k.life.Done():
			return kernel.ErrDead
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func messageType(subprotocol string) websocket.MessageType {
	if subprotocol == v1 {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}

// Execute implements kernel.Kernel.
func (k *live) Execute(ctx context.Context, what kernel.Cell) (kernel.Ending, error) {
	c := &cell{Cell: what, changed: make(chan struct{}, 1), over: make(chan struct{})}
	c.progress.Python = k.info.Language == "python"
	if err := k.begin(c); err != nil {
		return kernel.Ending{}, fmt.Errorf("execute cell %s: %w", what.ID, err)
	}
	if err := k.request(ctx, c); err != nil {
		k.finish(c, kernel.Ending{})
		return kernel.Ending{}, fmt.Errorf("execute cell %s: %w", what.ID, err)
	}
	go k.follow(c)
	select {
	case <-c.over:
		return c.ending, nil
	case <-ctx.Done():
		return kernel.Ending{}, context.Cause(ctx)
	}
}

func (k *live) begin(c *cell) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.dying || k.closed:
		return kernel.ErrDead
	case k.cell != nil:
		return fmt.Errorf("%w: %s", kernel.ErrBusy, k.cell.ID)
	}
	k.cell = c
	return nil
}

// request sends the cell.
func (k *live) request(ctx context.Context, c *cell) error {
	id := k.requests.ID(protocol.PurposeCell, c.ID)
	k.mu.Lock()
	c.progress.Sent(id)
	k.mu.Unlock()
	return k.send(ctx, "execute_request", id, protocol.Execute(c.Cell))
}

// follow waits until the cell is over.
func (k *live) follow(c *cell) {
	for {
		k.mu.Lock()
		next := c.progress.Next(time.Now(), k.spec.Silence)
		k.mu.Unlock()
		if next.Over {
			k.finish(c, next.Ending)
			return
		}
		if next.Again {
			if err := k.request(k.life, c); err != nil && !errors.Is(err, kernel.ErrDead) {
				k.finish(c, kernel.Ending{Status: kernel.Aborted, Why: "the kernel aborted the cell; send it again: " + err.Error()})
				return
			}
		}
		if next.Mark {
			k.sendMark(c)
		}
		if !k.await(c, next.Wait) {
			k.mu.Lock()
			ending := c.progress.Dead(k.death)
			k.mu.Unlock()
			k.finish(c, ending)
			return
		}
	}
}

// sendMark sends a ping. The server answers it after what it has already sent, and the answer is read after that was delivered.
func (k *live) sendMark(c *cell) {
	k.mu.Lock()
	s := k.socket
	if s != nil {
		c.progress.MarkSent()
	}
	k.mu.Unlock()
	if s == nil {
		return // the next connection gets another one
	}
	go func() {
		if s.conn.Ping(k.life) != nil {
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.cell == c {
			c.progress.MarkBack()
			k.wake()
		}
	}()
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
	if c.dropped != "" {
		ending.Why = joinWhy(ending.Why, c.dropped)
	}
	k.mu.Unlock()
	c.ending = ending
	close(c.over)
}

func joinWhy(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// update changes the cell that a request belongs to, if that request is its newest.
func (k *live) update(request string, change func(*cell)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cell == nil || k.cell.progress.Request() != request {
		return
	}
	change(k.cell)
	k.wake()
}

// wake lets the cell look at its progress. The caller holds mu.
func (k *live) wake() {
	select {
	case k.cell.changed <- struct{}{}:
	default:
	}
}

// Interrupt implements kernel.Kernel.
func (k *live) Interrupt(ctx context.Context) error {
	k.mu.Lock()
	idle := k.cell == nil || k.dying
	if !idle {
		k.cell.progress.Interrupted()
	}
	k.mu.Unlock()
	if idle {
		return nil
	}
	if err := k.api.call(ctx, http.MethodPost, nil, nil, "kernels", k.id, "interrupt"); err != nil && !errors.Is(err, errNotFound) {
		return fmt.Errorf("interrupt the remote kernel: %w", err)
	}
	return nil
}

const (
	deleteTries = 3
	deleteLimit = 20 * time.Second // in all, also if the caller's context has ended: else the kernel would stay on the server
)

// Close implements kernel.Kernel. It deletes the kernel on the server, also one that the server has restarted.
func (k *live) Close(ctx context.Context) error {
	k.mu.Lock()
	closed := k.closed
	k.closed = true
	k.mu.Unlock()
	var err error
	if !closed {
		err = k.remove(ctx)
	}
	k.die("shut down")
	<-k.done
	k.api.client.CloseIdleConnections()
	if err != nil {
		k.mu.Lock()
		k.closed = false // the next call tries again
		k.mu.Unlock()
		return fmt.Errorf("kernel %s may still run on the Jupyter server at %s: %w", k.id, k.api.base, err)
	}
	return nil
}

func (k *live) remove(ctx context.Context) (err error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteLimit)
	defer cancel()
	for pause, try := time.Duration(0), 0; try < deleteTries; pause, try = 4*pause+100*time.Millisecond, try+1 {
		select {
		case <-limited.Done():
			return err
		case <-time.After(pause):
		}
		err = k.api.call(limited, http.MethodDelete, nil, nil, "kernels", k.id)
		if err == nil || errors.Is(err, errNotFound) {
			return nil
		}
	}
	return err
}
