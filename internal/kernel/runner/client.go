package runner

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/supervise"
)

// Client is a connection to the runner of a session.
type Client struct {
	dir   string
	conn  net.Conn
	lines *bufio.Reader
	read  int64 // offset in the log up to which messages were delivered; 0: none
}

var (
	// ErrGone is the error of a session whose runner has ended.
	ErrGone = errors.New("the kernel's runner has ended unexpectedly")
	// ErrNotStarted is the error of a session whose runner has ended with an error of its own. Another one would, too.
	ErrNotStarted = errors.New("the kernel did not start")
)

// GoneExit is the exit code of a kernel step whose runner has ended unexpectedly. The engine starts a new runner and makes another attempt.
const GoneExit = 75

// failedExit is the exit code of a runner that ended with an error.
const failedExit = 1

// dialInterval is the interval between two tries to connect.
const dialInterval = 5 * time.Millisecond

// Dial connects to the runner of a session that was started, and waits until it listens. If no runner is alive, the error is ErrGone or
// ErrNotStarted.
func Dial(ctx context.Context, dir string) (*Client, error) {
	ticker := time.NewTicker(dialInterval)
	defer ticker.Stop()
	for {
		if conn, err := connect(ctx, dir); err == nil {
			return &Client{dir: dir, conn: conn, lines: bufio.NewReader(conn)}, nil
		}
		status, err := supervise.Probe(dir)
		if err != nil {
			return nil, err
		}
		if exit := status.Exit; exit != nil && exit.Reason == pawl.ReasonExited && exit.Exit != nil && *exit.Exit == failedExit {
			return nil, fmt.Errorf("%w: %s", ErrNotStarted, cmp.Or(LastError(dir), "its runner ended with an error"))
		}
		if status.State != supervise.Live {
			return nil, ErrGone
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// connect connects to the runner of a session once.
func connect(ctx context.Context, dir string) (net.Conn, error) {
	e, err := readEndpoint(dir)
	if err != nil {
		return nil, err
	}
	if !isRuntime(e.Runtime) {
		return nil, fmt.Errorf("%s is not the folder of a runner", e.Runtime)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(e.Runtime, socketName))
}

// Close closes the connection. A cell that runs keeps running.
func (c *Client) Close() error { return c.conn.Close() }

// Do sends a request and returns its outcome. progress gets the replies before the last; nil ignores them. If ctx ends, the connection is closed.
func (c *Client) Do(ctx context.Context, req Request, progress func(Reply) error) (*Done, error) {
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	data, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	if len(data) >= maxRequest {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("the code has %d bytes; a kernel accepts less than %d: move some of it into modules", len(data), maxRequest)}
	}
	if _, err := c.conn.Write(append(data, '\n')); err != nil {
		return nil, c.lost(ctx, err)
	}
	for {
		line, err := c.lines.ReadBytes('\n')
		if err != nil {
			return nil, c.lost(ctx, err)
		}
		var r Reply
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("the kernel's runner: %w", err)
		}
		switch {
		case r.Error != nil:
			return nil, &pawl.Error{Kind: r.Error.Kind, Err: errors.New(r.Error.Text)}
		case r.Done != nil:
			return r.Done, nil
		case progress != nil:
			if err := progress(r); err != nil {
				return nil, err
			}
		}
	}
}

// lost returns why a connection ended.
func (c *Client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w (%v)", ErrGone, err)
}

// Execute executes a cell, or re-attaches to it. It calls begun with its id, and each with its messages and those of all cells since the
// last call or Replay, in order: threads of earlier cells may still print. If the runner dies, the messages before its death are delivered,
// and the error is ErrGone.
func (c *Client) Execute(ctx context.Context, x Execution, begun func(kernel.CellID), each func(kernel.Message) error) (*End, error) {
	done, err := c.Do(ctx, Request{Op: OpExecute, Cell: &x}, func(p Reply) error {
		if p.Cell != "" {
			begun(p.Cell)
			if err := c.missed(p.Cell, p.From, each); err != nil {
				return err
			}
			c.read = cmp.Or(c.read, p.From)
		}
		return c.deliver(each)
	})
	if readErr := c.deliver(each); err == nil {
		err = readErr
	}
	if err != nil {
		return nil, err
	}
	return done.End, nil
}

// missed calls each with the messages of a running cell that Replay has passed.
func (c *Client) missed(cell kernel.CellID, from int64, each func(kernel.Message) error) (failed error) {
	if from >= c.read {
		return nil
	}
	_, err := readLog(filepath.Join(c.dir, LogFile), from, func(at int64, r Record) bool {
		if at < c.read && r.Message != nil && r.Message.Cell == cell {
			failed = each(*r.Message)
		}
		return failed == nil && at < c.read
	})
	return errors.Join(failed, err)
}

// deliver calls each with the messages that are new.
func (c *Client) deliver(each func(kernel.Message) error) error {
	if c.read == 0 {
		return nil
	}
	var failed error
	end, err := readLog(filepath.Join(c.dir, LogFile), c.read, func(_ int64, r Record) bool {
		if r.Message != nil && r.Message.Cell != "" {
			failed = each(*r.Message)
		}
		return failed == nil
	})
	c.read = end
	return errors.Join(failed, err)
}

// Replay calls each with the records of the log from an offset on.
func (c *Client) Replay(from int64, each func(Record) error) (failed error) {
	end, err := readLog(filepath.Join(c.dir, LogFile), from, func(_ int64, r Record) bool {
		failed = each(r)
		return failed == nil
	})
	c.read = end
	return errors.Join(failed, err)
}
