package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"pawl"
	"pawl/internal/kernel"
)

// client is a connection.
type client struct {
	conn net.Conn
	by   string
}

// maxRequest is the maximum size of a request in bytes, as in Gyoshu's bridge.
const maxRequest = 10 << 20

// serve answers the requests of a connection, one after another, until it is closed.
func (h *host) serve(ctx context.Context, conn net.Conn) {
	c := &client{conn: conn, by: "another client"}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { conn.Close() })
	defer h.release(c)
	lines := bufio.NewReaderSize(&limited{conn: conn}, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var req Request
		if err := json.Unmarshal(line, &req); err != nil {
			c.send(failure(&pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("request: %w", err)}))
			return
		}
		reply := Reply{}
		if done, err := h.answer(ctx, c, req); err != nil {
			reply = failure(err)
		} else {
			reply.Done = done
		}
		if c.send(reply) != nil {
			return
		}
	}
}

// limited is a connection that gives at most maxRequest bytes between two replies.
type limited struct {
	conn net.Conn
	read int
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.conn.Read(p)
	if l.read += n; n > 0 && p[n-1] == '\n' {
		l.read = 0
	}
	if l.read > maxRequest {
		return 0, errors.New("the request is too large")
	}
	return n, err
}

func failure(err error) Reply {
	return Reply{Error: &pawlError{Kind: pawl.KindOf(err), Text: err.Error()}}
}

func (c *client) send(r Reply) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = c.conn.Write(append(data, '\n'))
	return err
}

// answer carries out a request.
func (h *host) answer(ctx context.Context, c *client, req Request) (*Done, error) {
	switch req.Op {
	case OpAcquire:
		return &Done{}, h.acquire(ctx, c, req.By, time.Duration(req.Wait))
	case OpStatus:
		return &Done{Status: h.status()}, nil
	case OpReady:
		return &Done{}, h.ready(ctx)
	case OpInterrupt:
		stopped := h.interrupt(ctx, "", time.Duration(req.Grace))
		return &Done{Stopped: &stopped}, nil
	case OpBase:
		base, seed, err := h.base(req)
		return &Done{Base: base, Seed: seed}, err
	case OpResults:
		return &Done{Results: h.results(req.Keys)}, nil
	}
	if err := h.acquire(ctx, c, c.by, queueWait); err != nil {
		return nil, err
	}
	switch req.Op {
	case OpPrepare:
		p, err := h.prepare(ctx, req)
		return &Done{Prepared: p}, err
	case OpEnviron:
		return &Done{}, h.environ(ctx, req.Env)
	case OpExecute:
		return h.stream(ctx, c, req.Cell)
	case OpRestart:
		p, err := h.restart(ctx, !req.Empty)
		return &Done{Prepared: p}, err
	case OpVariables:
		list, err := h.variables(ctx)
		return &Done{Variables: list}, err
	case OpSave:
		id, note, err := h.saveNow(ctx)
		return &Done{Saved: id, Note: note}, err
	}
	return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("unknown request %q", req.Op)}
}

// acquire reserves the kernel for a client. If another one has it for longer than the limit, the error is of KindHeld.
func (h *host) acquire(ctx context.Context, c *client, by string, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		h.mu.Lock()
		if h.holder == nil || h.holder == c {
			h.holder, c.by = c, by
			h.mu.Unlock()
			return nil
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			return h.held()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// release frees the kernel when a client is gone. Its cell keeps running.
func (h *host) release(c *client) {
	c.conn.Close()
	h.set(func() {
		if h.holder == c {
			h.holder = nil
			h.endIfBroken()
		}
	})
}

// ready waits until a kernel is there, and tries again to start one that failed.
func (h *host) ready(ctx context.Context) error {
	if err := h.lockKernel(ctx, 2*kernel.DefaultStartLimit); err != nil {
		return err
	}
	defer h.releaseKernel()
	h.mu.Lock()
	alive, err := h.k != nil, h.startErr
	h.mu.Unlock()
	switch {
	case alive:
		return nil
	case err != nil:
		return err
	}
	return errDead
}

// base returns where the variables stood after the newest of the earlier steps, and the seed of the step.
func (h *host) base(req Request) (base Key, seed string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	base = Root
	for _, id := range req.After {
		key, ok := h.history.last[id]
		if !ok {
			return "", "", &pawl.Error{Kind: pawl.KindDamaged, Hint: "pawl retry " + string(id),
				Err: fmt.Errorf("this kernel has never executed step %s, so its variables are not here: rerun that step", id)}
		}
		base = key
	}
	return base, h.history.seeds[req.Step], nil
}

// results returns where the messages of finished cells are.
func (h *host) results(keys []Key) []Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Result
	for _, key := range keys {
		if c, ok := h.history.at[key]; ok {
			list = append(list, Result{Key: key, From: c.offset, Begin: *c.begin, End: *c.end})
		}
	}
	return list
}

func (h *host) status() *Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Status{State: h.state, Running: h.running, At: h.at, Cells: h.history.next, PID: os.Getpid()}
	if h.k != nil {
		s.Info = h.k.Info()
	}
	if h.running != nil {
		s.From = h.running.offset
	}
	if h.holder != nil {
		s.By = h.holder.by
	}
	return s
}

// notifyInterval is the shortest time between two notices about the log.
const notifyInterval = 5 * time.Millisecond

// stream executes a cell, or re-attaches to it, and tells the client how far it can read the log, until the cell has ended.
func (h *host) stream(ctx context.Context, c *client, x *Execution) (*Done, error) {
	if x == nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("execute: no cell")}
	}
	b, err := h.begin(ctx, x)
	if errors.Is(err, errDead) && x.Key != "" {
		return &Done{End: &End{Ending: kernel.Ending{Status: kernel.Lost, Why: "the kernel died before the cell was sent"}}}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := c.send(Reply{Cell: b.Cell, From: b.offset}); err != nil {
		return nil, err
	}
	pace := time.NewTicker(notifyInterval)
	defer pace.Stop()
	told := int64(0)
	for {
		h.mu.Lock()
		end, size, changed := h.endOf(b), h.log.size, h.changed
		h.mu.Unlock()
		if size > told {
			if err := c.send(Reply{Upto: size}); err != nil {
				return nil, err
			}
			told = size
		}
		if end != nil {
			return &Done{End: end}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if h.over(b) {
			continue // the end is not delayed
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
}

// endOf returns the end of a cell; nil: it is running. The caller holds mu.
func (h *host) endOf(b *Begin) *End {
	if end := h.ends[b.Cell]; end != nil {
		return end
	}
	if c, ok := h.history.at[b.Key]; ok && c.begin.Cell == b.Cell {
		return c.end
	}
	return nil
}

func (h *host) over(b *Begin) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endOf(b) != nil
}
