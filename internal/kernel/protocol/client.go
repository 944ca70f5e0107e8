package protocol

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// Conn is a connection to a kernel.
type Conn interface {
	// Send sends a message on a channel. After an error the kernel gets nothing of it.
	Send(channel, kind, id string, content any) error

	// Mark makes the connection call Client.MarkBack with a request, after everything that it has now is delivered.
	Mark(request string)
}

// Client executes cells in one kernel. Its driver makes the connections, one after the other, gives the client each message that they
// receive, and says when the kernel is dead.
type Client struct {
	emit     func(kernel.Message)
	silence  time.Duration
	requests Requests
	ready    chan struct{} // closed when the kernel is ready
	done     chan struct{} // closed when it is dead
	refused  int           // messages that were refused; of the goroutine that delivers

	mu        sync.Mutex // guards the following
	info      kernel.Info
	conn      Conn          // nil while there is none
	changed   chan struct{} // closed when conn changes
	answered  bool          // a request for information
	published bool          // something about such a request
	cell      *execution    // the running cell
	probe     string        // id of the newest probe
	death     kernel.Death
}

// execution is a running cell.
type execution struct {
	kernel.Cell
	progress Progress
	sent     bool          // a connection has its newest request, or is taking it
	remark   string        // what else is to say about its end
	changed  chan struct{} // has room for one
	over     chan struct{} // closed when ending is set
	ending   kernel.Ending
}

// NewClient returns a client without a connection. The kernel's answer completes info.
func NewClient(spec kernel.Spec, info kernel.Info, emit func(kernel.Message)) *Client {
	return &Client{
		emit: emit, silence: spec.Silence, info: info, requests: Requests{Tag: disk.RandomHex(4)},
		ready: make(chan struct{}), done: make(chan struct{}), changed: make(chan struct{}),
	}
}

// Info describes the kernel.
func (c *Client) Info() kernel.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

// Done is closed when the kernel is dead.
func (c *Client) Done() <-chan struct{} { return c.done }

// Death returns how the kernel died. It is the zero value until Done is closed.
func (c *Client) Death() kernel.Death {
	if !isClosed(c.done) {
		return kernel.Death{}
	}
	return c.death
}

// IsReady reports whether the kernel is, or was, ready for cells.
func (c *Client) IsReady() bool { return isClosed(c.ready) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// RequestID returns the id of a request that belongs to no cell.
func (c *Client) RequestID(purpose string) string { return c.requests.ID(purpose, "") }

// Connected notes a new connection; nil: the connection is lost. Behind a cell that an earlier connection took, a probe shows when it is
// over, in case its end got lost.
func (c *Client) Connected(conn Conn) {
	c.mu.Lock()
	c.conn = conn
	close(c.changed)
	c.changed = make(chan struct{})
	probes := conn != nil && isClosed(c.ready)
	if probes {
		c.probe = c.RequestID(PurposeProbe)
		if c.cell != nil && c.cell.sent {
			c.cell.progress.Reconnected()
			c.wake()
		}
	}
	probe := c.probe
	c.mu.Unlock()
	if probes {
		_ = conn.Send("shell", "kernel_info_request", probe, struct{}{}) // if it is lost, too, the next connection sends another one
	}
}

// askEvery is how often a starting kernel is asked whether it is ready. It ignores what comes before it listens.
const askEvery = 500 * time.Millisecond

// AwaitReady waits until the kernel has answered a request, and published something about a request. Before that, output could get lost.
// It calls check now and then, and gives up if that returns an error.
func (c *Client) AwaitReady(ctx context.Context, check func() error) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		if err := c.send(ctx, "kernel_info_request", c.RequestID(PurposeInfo), struct{}{}, nil); err != nil && !errors.Is(err, kernel.ErrDead) {
			return err
		}
		select {
		case <-c.ready:
			return nil
		case <-c.done:
			return fmt.Errorf("%w: %s", kernel.ErrDead, c.death.Why)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if err := check(); err != nil {
			return err
		}
	}
}

// Ready notes that the kernel is ready, although it has not said so.
func (c *Client) Ready() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered, c.published = true, true
	c.becomeReady()
}

// becomeReady closes ready once there are both signs of it. The caller holds mu.
func (c *Client) becomeReady() {
	if c.answered && c.published && !isClosed(c.ready) {
		close(c.ready)
	}
}

// End notes that the kernel is dead, and all that it said is delivered.
func (c *Client) End(death kernel.Death) {
	c.Tell("dead: " + death.Why)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.death = death
	close(c.done)
}

// send sends a request on the shell channel. While there is no connection it waits for one. What a connection did not take has not
// reached the kernel, so the next one sends it. x is the cell to which the request belongs; nil: to none.
func (c *Client) send(ctx context.Context, kind, id string, content any, x *execution) error {
	for {
		c.mu.Lock()
		conn, changed := c.conn, c.changed
		if x != nil {
			x.sent = conn != nil
		}
		c.mu.Unlock()
		if conn != nil {
			if conn.Send("shell", kind, id, content) == nil {
				return nil
			}
			c.notSent(x)
		}
		select {
		case <-changed:
		case <-c.done:
			return kernel.ErrDead
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *Client) notSent(x *execution) {
	if x == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x.sent = false
	x.progress.NotSent()
}

// Execute implements kernel.Kernel.
func (c *Client) Execute(ctx context.Context, what kernel.Cell) (kernel.Ending, error) {
	x := &execution{Cell: what, changed: make(chan struct{}, 1), over: make(chan struct{})}
	if err := c.begin(x); err != nil {
		return kernel.Ending{}, fmt.Errorf("execute cell %s: %w", what.ID, err)
	}
	if err := c.request(ctx, x); err != nil {
		c.finish(x, kernel.Ending{})
		return kernel.Ending{}, fmt.Errorf("execute cell %s: %w", what.ID, err)
	}
	go c.follow(context.WithoutCancel(ctx), x)
	select {
	case <-x.over:
		return x.ending, nil
	case <-ctx.Done():
		return kernel.Ending{}, context.Cause(ctx)
	}
}

func (c *Client) begin(x *execution) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case isClosed(c.done):
		return kernel.ErrDead
	case c.cell != nil:
		return fmt.Errorf("%w: %s", kernel.ErrBusy, c.cell.ID)
	}
	x.progress.Python = c.info.Language == "python"
	c.cell = x
	return nil
}

// request sends the cell.
func (c *Client) request(ctx context.Context, x *execution) error {
	id := c.requests.ID(PurposeCell, x.ID)
	c.mu.Lock()
	x.progress.Sent(id)
	c.mu.Unlock()
	return c.send(ctx, "execute_request", id, Execute(x.Cell), x)
}

// follow waits until the cell is over.
func (c *Client) follow(ctx context.Context, x *execution) {
	for {
		c.mu.Lock()
		next := x.progress.Next(time.Now(), c.silence)
		c.mu.Unlock()
		if next.Over {
			c.finish(x, next.Ending)
			return
		}
		if next.Again {
			_ = c.request(ctx, x) // it fails only for a dead kernel
		}
		if next.Mark {
			c.sendMark(x)
		}
		if !c.await(x, next.Wait) {
			c.mu.Lock()
			ending := x.progress.Dead(c.death)
			c.mu.Unlock()
			c.finish(x, ending)
			return
		}
	}
}

// sendMark sends a mark. If the connection is lost, the next one gets another mark.
func (c *Client) sendMark(x *execution) {
	c.mu.Lock()
	conn, request := c.conn, x.progress.Request()
	if conn != nil {
		x.progress.MarkSent()
	}
	c.mu.Unlock()
	if conn != nil {
		conn.Mark(request)
	}
}

// await waits until something about the cell has changed, or for a time. It returns false if the kernel is dead.
func (c *Client) await(x *execution, wait time.Duration) bool {
	var timer <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-x.changed:
		return true
	case <-timer:
		return true
	case <-c.done:
		select {
		case <-x.changed: // what came last comes first
			return true
		default:
			return false
		}
	}
}

// finish ends a cell, and makes room for the next one.
func (c *Client) finish(x *execution, ending kernel.Ending) {
	c.mu.Lock()
	c.cell = nil
	if ending.Why == "" {
		ending.Why = x.remark
	} else if x.remark != "" {
		ending.Why += "; " + x.remark
	}
	c.mu.Unlock()
	x.ending = ending
	close(x.over)
}

// update changes the running cell, if a request is its newest.
func (c *Client) update(request string, change func(*execution)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cell == nil || c.cell.progress.Request() != request {
		return
	}
	change(c.cell)
	c.wake()
}

// wake lets the cell look at its progress. The caller holds mu.
func (c *Client) wake() {
	select {
	case c.cell.changed <- struct{}{}:
	default:
	}
}

// Running returns the cell that runs, and whether there is one.
func (c *Client) Running() (kernel.CellID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cell == nil {
		return "", false
	}
	return c.cell.ID, true
}

// Interrupted notes that the driver interrupts the running cell. It returns false if no cell runs.
func (c *Client) Interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cell != nil {
		c.cell.progress.Interrupted()
	}
	return c.cell != nil
}
