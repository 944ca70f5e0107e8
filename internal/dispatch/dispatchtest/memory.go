// Package dispatchtest has what every carrier must do, as tests, and a carrier in memory.
package dispatchtest

import (
	"context"
	"sync"
	"time"

	"pawl/internal/dispatch"
)

// Memory is a carrier in the memory of one process.
type Memory struct {
	Lease time.Duration

	mu      sync.Mutex // guards what follows
	tasks   map[string]*entry
	order   []*entry
	changed chan struct{} // closed at the next change
	down    bool
}

type entry struct {
	task   dispatch.Task
	status dispatch.Status
	until  time.Time // of the lease
}

// NewMemory returns a carrier whose leases have this length.
func NewMemory(lease time.Duration) *Memory {
	return &Memory{Lease: lease, tasks: map[string]*entry{}, changed: make(chan struct{})}
}

// SetDown makes the carrier unreachable, or reachable again.
func (m *Memory) SetDown(down bool) { m.do(func() { m.down = down }) }

// do calls f, and wakes those who wait for a change.
func (m *Memory) do(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	close(m.changed)
	m.changed = make(chan struct{})
}

// Submit implements dispatch.Carrier.
func (m *Memory) Submit(_ context.Context, task dispatch.Task) (err error) {
	m.do(func() {
		if m.down {
			err = dispatch.ErrUnreachable
			return
		}
		if m.tasks[task.ID()] != nil {
			return
		}
		for _, e := range m.order {
			if e.task.Run == task.Run && e.task.Epoch > task.Epoch {
				err = dispatch.ErrFenced
				return
			}
		}
		e := &entry{task: task, status: dispatch.Status{State: dispatch.Waiting}}
		m.tasks[task.ID()], m.order = e, append(m.order, e)
	})
	return err
}

// Status implements dispatch.Carrier.
func (m *Memory) Status(_ context.Context, id string) (dispatch.Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status(id)
}

func (m *Memory) status(id string) (dispatch.Status, error) {
	if m.down {
		return dispatch.Status{}, dispatch.ErrUnreachable
	}
	e := m.tasks[id]
	if e == nil {
		return dispatch.Status{State: dispatch.Absent}, nil
	}
	if e.status.State == dispatch.Running && time.Now().After(e.until) {
		e.status.State = dispatch.Ended
		e.status.Report = &dispatch.Report{Outcome: dispatch.Lost, Worker: e.status.Worker, Why: "it no longer answers"}
	}
	return e.status, nil
}

// Await implements dispatch.Carrier.
func (m *Memory) Await(ctx context.Context, id string, seen dispatch.Status) (dispatch.Status, error) {
	limit := time.NewTimer(m.Lease / 2)
	defer limit.Stop()
	for {
		m.mu.Lock()
		now, err := m.status(id)
		changed := m.changed
		m.mu.Unlock()
		if err != nil || now.State != seen.State || now.Canceled != seen.Canceled {
			return now, err
		}
		select {
		case <-changed:
		case <-limit.C:
			return m.Status(ctx, id)
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// Cancel implements dispatch.Carrier.
func (m *Memory) Cancel(_ context.Context, id, why string) (err error) {
	m.do(func() {
		e := m.tasks[id]
		switch {
		case m.down:
			err = dispatch.ErrUnreachable
		case e == nil || e.status.State == dispatch.Ended:
		case e.status.State == dispatch.Waiting:
			e.status = dispatch.Status{State: dispatch.Ended, Canceled: true, Report: &dispatch.Report{Outcome: dispatch.Canceled, Why: why}}
		default:
			e.status.Canceled = true
		}
	})
	return err
}

// claim gives a waiting task of a queue to a worker.
func (m *Memory) claim(queue, worker string) (got *entry) {
	m.do(func() {
		for _, e := range m.order {
			if !m.down && e.task.Queue == queue && e.status.State == dispatch.Waiting {
				e.status.State, e.status.Worker, e.until = dispatch.Running, worker, time.Now().Add(m.Lease)
				got = e
				return
			}
		}
	})
	return got
}

// Serve performs tasks of a queue until ctx ends, and then waits for those that it performs.
func (m *Memory) Serve(ctx context.Context, queue, worker string, parallel int, perform dispatch.Perform) error {
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, parallel)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case places <- struct{}{}:
		}
		e := m.claim(queue, worker)
		if e == nil {
			<-places
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			continue
		}
		all.Go(func() {
			defer func() { <-places }()
			report, err := perform(context.WithoutCancel(ctx), e.task, func(context.Context) error { return m.alive(e) })
			if err == nil {
				m.finish(e, report)
			}
		})
	}
}

// Resume performs a task that a worker had, if it is still its own.
func (m *Memory) Resume(ctx context.Context, task dispatch.Task, perform dispatch.Perform) error {
	e := m.tasks[task.ID()]
	if err := m.alive(e); err != nil {
		return err
	}
	report, err := perform(ctx, task, func(context.Context) error { return m.alive(e) })
	if err == nil {
		m.finish(e, report)
	}
	return err
}

func (m *Memory) alive(e *entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, err := m.status(e.task.ID())
	switch {
	case err != nil:
		return err
	case now.State != dispatch.Running:
		return dispatch.ErrLost
	}
	e.until = time.Now().Add(m.Lease)
	if now.Canceled {
		return dispatch.ErrCanceled
	}
	return nil
}

func (m *Memory) finish(e *entry, report dispatch.Report) {
	m.do(func() {
		if now, err := m.status(e.task.ID()); err == nil && now.State == dispatch.Running {
			e.status.State, e.status.Report = dispatch.Ended, &report
		}
	})
}
