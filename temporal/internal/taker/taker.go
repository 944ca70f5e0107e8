// Package taker takes tasks from the queues of a Temporal server, has them performed, and reports.
//
// For each task it writes a record before the step starts, and removes it when Temporal has the report. So after a kill a new process on
// the same machine finds the tasks of the old one: it joins their steps, goes on with the heartbeats under the same task token, and
// reports, if Temporal still accepts that.
//
// Whoever can start activities in the namespace can put anything into a queue. A task is refused unless its ID, queue and size fit, it is
// the first try of an activity without a workflow, and its parts are valid. Whether the step may run is decided by what performs it.
package taker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/temporal/internal/carrier"
)

// retry is the time between attempts to reach a server that is away.
const retry = time.Second

// callLimit is the longest time of a call.
const callLimit = 5 * time.Second

// Taker takes tasks.
type Taker struct {
	Client   client.Client
	Settings config.Temporal
	Queues   []string
	Parallel int    // tasks of each queue at a time
	Folder   string // of records; one process uses it at a time
	Log      io.Writer

	// Perform performs a task; see dispatch.Alive.
	Perform func(ctx context.Context, task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error)
}

// record is a task that this machine has, until Temporal has its report.
type record struct {
	Task  json.RawMessage `json:"task"`
	Token []byte          `json:"token"` // with which Temporal accepts heartbeats and the report
}

// Run takes tasks until ctx ends. Steps then run on under their supervisors, for the next process.
func (t *Taker) Run(ctx context.Context) error {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.reach(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var joined sync.WaitGroup
	defer joined.Wait()
	if err := t.join(ctx, &joined); err != nil {
		return err
	}
	for _, queue := range t.Queues {
		w := worker.New(t.Client, queue, worker.Options{
			MaxConcurrentActivityExecutionSize: t.Parallel, DisableWorkflowWorker: true, DisableEagerActivities: true,
			OnFatalError: func(err error) { stop(fmt.Errorf("the Temporal server at %s: %w", t.Settings.Address, err)) },
		})
		w.RegisterActivityWithOptions(func(attempt context.Context, data json.RawMessage) (json.RawMessage, error) {
			return t.take(ctx, activity.GetInfo(attempt), queue, data)
		}, activity.RegisterOptions{Name: carrier.ActivityType})
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	fmt.Fprintf(t.Log, "taking tasks of %s from Temporal at %s\n", strings.Join(t.Queues, ", "), t.Settings.Address)
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != context.Canceled {
		return cause
	}
	return nil
}

// reach waits until the server answers, and checks that it has what pawl needs.
func (t *Taker) reach(ctx context.Context) error {
	said := false
	for {
		err := carrier.Check(ctx, t.Client, t.Settings)
		if !errors.Is(err, dispatch.ErrUnreachable) || ctx.Err() != nil {
			return err
		}
		if !said {
			fmt.Fprintf(t.Log, "waiting for the server: %v\n", err)
			said = true
		}
		if !wait(ctx, retry) {
			return ctx.Err()
		}
	}
}

// lock makes the folder and locks it.
func (t *Taker) lock() (unlock func(), err error) {
	if err := disk.MakeFolders(t.Folder); err != nil {
		return nil, err
	}
	path := filepath.Join(t.Folder, "lock")
	if !disk.Exists(path) {
		if err := disk.Put(path, nil); err != nil {
			return nil, err
		}
	}
	file, err := disk.OpenWritable(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, &pawl.Error{Kind: pawl.KindHeld, Err: errors.New("another pawl-temporal worker of these queues runs on this machine"), Hint: "pawl-temporal worker --parallel N"}
	}
	return func() { file.Close() }, nil
}

// join goes on with the tasks that an earlier process had.
func (t *Taker) join(ctx context.Context, joined *sync.WaitGroup) error {
	paths, err := disk.Glob(t.Folder, "*.json")
	if err != nil {
		return err
	}
	for _, path := range paths {
		data, err := disk.ReadFile(path, 2*dispatch.MaxTask+64<<10)
		if err != nil {
			return err
		}
		var r record
		task, err := parse(data, &r)
		if err != nil { // written when the machine stopped; Temporal reports the task as lost
			fmt.Fprintf(t.Log, "%s: %v\n", path, err)
			if err := disk.Remove(path); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(t.Log, "joining %s\n", task.ID())
		joined.Go(func() { t.carry(ctx, task, r) })
	}
	return nil
}

func parse(data []byte, r *record) (dispatch.Task, error) {
	if err := json.Unmarshal(data, r); err != nil {
		return dispatch.Task{}, err
	}
	return dispatch.ParseTask(r.Task)
}

// take performs a task that Temporal gives out, and reports it itself. So the SDK has nothing to report, unless the task is refused.
func (t *Taker) take(ctx context.Context, info activity.Info, queue string, data []byte) (json.RawMessage, error) {
	task, err := dispatch.ParseTask(data)
	if err == nil {
		err = fits(task, info, queue)
	}
	if err != nil {
		return json.Marshal(dispatch.Report{Outcome: dispatch.Refused, Why: err.Error()})
	}
	if info.Attempt > 1 { // pawl allows one
		return json.Marshal(dispatch.Report{Outcome: dispatch.Lost, Why: "Temporal gave the task out a second time"})
	}
	r := record{Task: data, Token: info.TaskToken}
	content, err := json.Marshal(r)
	if err == nil {
		err = disk.Put(t.path(task), content)
	}
	if err != nil {
		return json.Marshal(dispatch.Report{Outcome: dispatch.Refused, Why: err.Error()})
	}
	t.carry(ctx, task, r)
	return nil, activity.ErrResultPending
}

// fits returns an error unless an activity is one that a carrier started for a task.
func fits(task dispatch.Task, info activity.Info, queue string) error {
	switch {
	case info.ActivityID != task.ID():
		return fmt.Errorf("the activity has another ID than its task: %q", info.ActivityID)
	case task.Queue != queue:
		return fmt.Errorf("the task is for queue %s", task.Queue)
	case info.WorkflowExecution.ID != "":
		return errors.New("a workflow started the activity")
	}
	return nil
}

func (t *Taker) path(task dispatch.Task) string { return filepath.Join(t.Folder, string(task.Token)+".json") }

// carry performs a task to its end and reports it. When ctx ends, the record stays.
func (t *Taker) carry(ctx context.Context, task dispatch.Task, r record) {
	report, err := t.Perform(ctx, task, func(ctx context.Context) error { return t.alive(ctx, r.Token) })
	if err == nil {
		err = t.report(ctx, r.Token, report)
	}
	if ctx.Err() != nil && !errors.Is(err, dispatch.ErrLost) && err != nil {
		return
	}
	if err != nil {
		fmt.Fprintf(t.Log, "%s: %v\n", task.ID(), err)
	}
	if err := disk.Remove(t.path(task)); err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(t.Log, "%s: %v\n", task.ID(), err)
	}
}

// alive sends a heartbeat.
func (t *Taker) alive(ctx context.Context, token []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err := t.Client.RecordActivityHeartbeat(ctx, token)
	if _, ok := errors.AsType[*temporal.CanceledError](err); ok {
		return dispatch.ErrCanceled
	}
	return lost(err)
}

// report reports how a task ended, until the server answers.
func (t *Taker) report(ctx context.Context, token []byte, report dispatch.Report) error {
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	for {
		call, cancel := context.WithTimeout(ctx, callLimit)
		err := lost(t.Client.CompleteActivity(call, token, json.RawMessage(data), nil))
		cancel()
		if !carrier.Away(err) {
			return err
		}
		if !wait(ctx, retry) {
			return ctx.Err()
		}
	}
}

// lost returns dispatch.ErrLost for the answer of a server that no longer accepts a task token.
func lost(err error) error {
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return fmt.Errorf("%w: %w", dispatch.ErrLost, err)
	}
	return err
}

// wait waits, and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
