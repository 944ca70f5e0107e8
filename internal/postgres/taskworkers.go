package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/internal/dispatch"
)

// TaskWorker performs the tasks of a queue.
type TaskWorker struct {
	Tasks    *Tasks
	Queue    string
	Name     string // no other process that runs has it
	Parallel int
	Left     []dispatch.Task // that an earlier process with the name began and did not forget
	Perform  dispatch.Perform
	Forget   func(dispatch.Task)              // called when the report of a task is stored, or does not count. Defaults to no call.
	Log      func(format string, args ...any) // Defaults to no call.
}

// Serve performs tasks of a queue until ctx ends, and then waits for those that it performs.
func (t *Tasks) Serve(ctx context.Context, queue, name string, parallel int, perform dispatch.Perform) error {
	return TaskWorker{Tasks: t, Queue: queue, Name: name, Parallel: parallel, Perform: perform}.Run(ctx)
}

// Run performs the tasks that an earlier process with the name began, and then others, until ctx ends. Then it waits for those that it
// performs.
func (w TaskWorker) Run(ctx context.Context) error {
	if w.Forget == nil {
		w.Forget = func(dispatch.Task) {}
	}
	if w.Log == nil {
		w.Log = func(string, ...any) {}
	}
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, w.Parallel)
	heard, stop := w.Tasks.store.notices.Hear(ctx, w.Tasks.store.dsn, queueKey(w.Queue))
	defer stop()
	begin := func(task dispatch.Task) {
		all.Go(func() {
			defer func() { <-places }()
			w.perform(context.WithoutCancel(ctx), task)
		})
	}
	left, err := w.left(ctx)
	for errors.Is(err, dispatch.ErrUnreachable) && ctx.Err() == nil {
		w.Log("%v; trying again", err)
		if wait(ctx, nil, time.Second) == nil {
			left, err = w.left(ctx)
		}
	}
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	for _, task := range w.Left { // those that have ended meanwhile are only forgotten
		if !slices.ContainsFunc(left, func(t dispatch.Task) bool { return t.ID() == task.ID() }) {
			left = append(left, task)
		}
	}
	for _, task := range left {
		places <- struct{}{}
		begin(task)
	}
	return w.claims(ctx, heard, places, begin)
}

// ignoreEnd returns nil for an error after the end of ctx.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// claims claims tasks until ctx ends.
func (w TaskWorker) claims(ctx context.Context, heard <-chan struct{}, places chan struct{}, begin func(dispatch.Task)) error {
	var swept time.Time
	for {
		if time.Since(swept) > time.Hour {
			swept = time.Now()
			w.sweep(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case places <- struct{}{}:
		}
		task, err := w.claim(ctx)
		switch {
		case err == nil && task != nil:
			begin(*task)
			continue
		case err != nil && !errors.Is(err, dispatch.ErrUnreachable) && ctx.Err() == nil:
			return err
		case err != nil:
			w.Log("%v; trying again", err)
		}
		<-places
		pause := w.Tasks.poll
		if err != nil {
			pause = min(pause, time.Second)
		}
		if wait(ctx, heard, pause) != nil {
			return nil
		}
	}
}

// left returns the tasks that an earlier process with the name claimed and did not finish.
func (w TaskWorker) left(ctx context.Context) (tasks []dispatch.Task, err error) {
	rows, err := w.Tasks.store.pool.Query(ctx, `select task from pawl.task where worker = $1 and queue = $2 and state = 'running'`, w.Name, w.Queue)
	if err != nil {
		return nil, unreached("find the tasks of this worker", err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, unreached("find the tasks of this worker", err)
	}
	for _, text := range texts {
		task, err := dispatch.ParseTask([]byte(text))
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// claim claims the task of the queue that waits longest; nil if there is none. A task that cannot be parsed is refused.
func (w TaskWorker) claim(ctx context.Context) (*dispatch.Task, error) {
	for {
		var id, text string
		err := w.Tasks.store.pool.QueryRow(ctx, `
			update pawl.task set state = 'running', worker = $2, lease_until = clock_timestamp() + $3::interval, updated_at = clock_timestamp()
			where number = (select number from pawl.task where queue = $1 and state = 'waiting' order by number for update skip locked limit 1)
			returning id, task`, w.Queue, w.Name, w.Tasks.lease).Scan(&id, &text)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, unreached("claim a task", err)
		}
		w.Tasks.announce(ctx, taskKey(id))
		task, err := dispatch.ParseTask([]byte(text))
		if err == nil && (task.ID() != id || task.Queue != w.Queue) {
			err = fmt.Errorf("task %s is that of %s", id, task.ID())
		}
		if err == nil {
			return &task, nil
		}
		w.Log("%v", err)
		if err := w.finish(ctx, id, dispatch.Report{Outcome: dispatch.Refused, Worker: w.Name, Why: err.Error()}); err != nil {
			return nil, err
		}
	}
}

// alive renews the lease of a task.
func (w TaskWorker) alive(ctx context.Context, id string) error {
	var canceled bool
	err := w.Tasks.store.pool.QueryRow(ctx, `
		update pawl.task set lease_until = clock_timestamp() + $3::interval where id = $1 and worker = $2 and state = 'running' returning canceled`,
		id, w.Name, w.Tasks.lease).Scan(&canceled)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return dispatch.ErrLost
	case err != nil:
		return unreached("renew the lease of a task", err)
	case canceled:
		return dispatch.ErrCanceled
	}
	return nil
}

// perform performs a task, and stores the report.
func (w TaskWorker) perform(ctx context.Context, task dispatch.Task) {
	id := task.ID()
	w.Log("begins task %s", id)
	alive := func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, w.Tasks.lease/4) // whoever waits longer would not notice the end of the lease
		defer cancel()
		err := w.alive(limited, id)
		if err != nil && limited.Err() != nil {
			err = fmt.Errorf("%w: %w", dispatch.ErrUnreachable, err)
		}
		return err
	}
	report, err := w.Perform(ctx, task, alive)
	for err == nil {
		if err = w.finish(ctx, id, report); err == nil {
			w.Log("task %s: %s", id, report.Outcome)
			w.Forget(task)
			return
		}
		if errors.Is(err, dispatch.ErrUnreachable) {
			w.Log("task %s: %v; trying again", id, err)
			err = wait(ctx, nil, time.Second)
		}
	}
	w.Log("task %s: %v", id, err)
	if errors.Is(err, dispatch.ErrLost) {
		w.Forget(task)
	}
}

// finish ends a task. The error wraps ErrLost if it is not the worker's own.
func (w TaskWorker) finish(ctx context.Context, id string, report dispatch.Report) error {
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	done, err := w.Tasks.store.pool.Exec(ctx, `
		update pawl.task set state = 'ended', lease_until = null, report = $3, updated_at = clock_timestamp() where id = $1 and worker = $2 and state = 'running'`,
		id, w.Name, string(data))
	if err != nil {
		return unreached("finish a task", err)
	}
	if done.RowsAffected() == 1 {
		w.Tasks.announce(ctx, taskKey(id))
		return nil
	}
	now, err := w.Tasks.Status(ctx, id) // an earlier try may have succeeded
	if err == nil && (now.Worker != w.Name || now.Report == nil || *now.Report != report) {
		err = fmt.Errorf("finish task %s: %w", id, dispatch.ErrLost)
	}
	return err
}

// sweep deletes tasks that ended long ago.
func (w TaskWorker) sweep(ctx context.Context) {
	_, err := w.Tasks.store.pool.Exec(ctx, `delete from pawl.task where state = 'ended' and updated_at < clock_timestamp() - interval '30 days'`)
	if err != nil && ctx.Err() == nil {
		w.Log("%v", unreached("delete old tasks", err))
	}
}
