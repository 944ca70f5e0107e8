// Package taker takes tasks from a queue of a Temporal server, has them performed, and reports.
//
// It reports by the ID of the activity, which is the task's. So after a kill a new process on the same machine joins the tasks of the old
// one, continues the heartbeats, and reports, if Temporal still accepts that.
//
// Whoever can start activities in the namespace can put anything into a queue. A task is refused unless its ID, queue and size fit, it is
// an activity without a workflow, and its parts are valid. Whether the step may run is decided by what performs it: also Temporal may give an
// activity out again, although pawl asks for one try.
package taker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/temporal/internal/carrier"
)

// Times of calls.
const (
	callLimit = 5 * time.Second
	retry     = time.Second // between attempts to reach a server that is away
	drain     = 365 * 24 * time.Hour
)

// Taker takes tasks.
type Taker struct {
	Client   client.Client
	Settings config.Temporal
	Queue    string
	Parallel int             // tasks at a time, without those that were left
	Left     []dispatch.Task // that an earlier process has left on this machine
	Log      func(format string, args ...any)

	Perform dispatch.Perform
	Forget  func(dispatch.Task) error // is called when Temporal has the report of a task, or accepts none
}

// Run takes tasks until ctx ends, and then waits for those that it performs.
func (t *Taker) Run(ctx context.Context) error {
	if err := t.reach(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var joined sync.WaitGroup
	defer joined.Wait()
	for _, task := range t.Left {
		t.Log("joining %s", task.ID())
		joined.Go(func() { t.carry(context.WithoutCancel(ctx), task) })
	}
	w := worker.New(t.Client, t.Queue, worker.Options{
		MaxConcurrentActivityExecutionSize: t.Parallel, DisableWorkflowWorker: true, DisableEagerActivities: true, WorkerStopTimeout: drain,
		OnFatalError: func(err error) { stop(fmt.Errorf("the Temporal server at %s: %w", t.Settings.Address, err)) },
	})
	w.RegisterActivityWithOptions(func(attempt context.Context, data json.RawMessage) (json.RawMessage, error) {
		return t.take(context.WithoutCancel(ctx), activity.GetInfo(attempt), data)
	}, activity.RegisterOptions{Name: carrier.ActivityType})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	t.Log("performing steps of queue %s from Temporal at %s", t.Queue, t.Settings.Address)
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != context.Canceled {
		return cause
	}
	return nil
}

// reach waits until the server answers, and checks that it has what pawl needs.
func (t *Taker) reach(ctx context.Context) error {
	for said := false; ; said = true {
		err := carrier.Check(ctx, t.Client, t.Settings)
		if !errors.Is(err, dispatch.ErrUnreachable) || ctx.Err() != nil {
			return err
		}
		if !said {
			t.Log("waiting for the server: %v", err)
		}
		wait(ctx)
	}
}

// take performs a task that Temporal gives out, and reports it itself. So the SDK has nothing to report, unless the task is refused.
func (t *Taker) take(ctx context.Context, info activity.Info, data []byte) (json.RawMessage, error) {
	task, err := dispatch.ParseTask(data)
	if err == nil {
		err = fits(task, info, t.Queue)
	}
	if err != nil {
		t.Log("refused the activity %.200q: %v", info.ActivityID, err)
		return json.Marshal(dispatch.Report{Outcome: dispatch.Refused, Why: err.Error()})
	}
	t.carry(ctx, task)
	return nil, activity.ErrResultPending
}

// fits returns an error unless an activity is one that a carrier started for a task.
func fits(task dispatch.Task, info activity.Info, queue string) error {
	switch {
	case info.ActivityID != task.ID():
		return errors.New("the activity has another ID than its task")
	case task.Queue != queue:
		return fmt.Errorf("the task is for queue %s", task.Queue)
	case info.WorkflowExecution.ID != "":
		return errors.New("a workflow started the activity")
	}
	return nil
}

// carry performs a task to its end and reports it. When ctx ends before, the next process joins the task.
func (t *Taker) carry(ctx context.Context, task dispatch.Task) {
	report, err := t.Perform(ctx, task, func(ctx context.Context) error { return t.alive(ctx, task.ID()) })
	if err == nil {
		err = t.report(ctx, task.ID(), report)
	}
	if ctx.Err() != nil {
		return
	}
	if err = errors.Join(err, t.Forget(task)); err != nil {
		t.Log("%s: %v", task.ID(), err)
	}
}

// alive sends a heartbeat.
func (t *Taker) alive(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err := t.Client.RecordActivityHeartbeatByID(ctx, t.namespace(), "", "", id)
	if _, ok := errors.AsType[*temporal.CanceledError](err); ok {
		return dispatch.ErrCanceled
	}
	return lost(err)
}

// report reports how a task ended, until the server answers.
func (t *Taker) report(ctx context.Context, id string, report dispatch.Report) error {
	data, err := json.Marshal(report)
	for err == nil {
		call, cancel := context.WithTimeout(ctx, callLimit)
		err := lost(t.Client.CompleteActivityByActivityID(call, t.namespace(), id, "", json.RawMessage(data), nil))
		cancel()
		if !carrier.Away(err) || ctx.Err() != nil {
			return err
		}
		wait(ctx)
	}
	return err
}

func (t *Taker) namespace() string { return cmp.Or(t.Settings.Namespace, carrier.DefaultNamespace) }

// lost returns dispatch.ErrLost for the answer of a server that no longer has an activity.
func lost(err error) error {
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return fmt.Errorf("%w: %w", dispatch.ErrLost, err)
	}
	return err
}

// wait waits before the next attempt to reach the server.
func wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retry):
	}
}
