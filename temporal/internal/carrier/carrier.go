package carrier

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/oneline"
)

// Times of an activity, in the view of the server.
const (
	maxWaiting = 30 * 24 * time.Hour  // until a worker takes it
	maxRunning = 365 * 24 * time.Hour // the supervisor enforces the limits of the step; this only has to be finite
)

// awaitLimit is longer than the server holds a call that waits for a change.
const awaitLimit = 40 * time.Second

// Carrier implements dispatch.Carrier.
type Carrier struct {
	client   client.Client
	settings config.Temporal
	lease    time.Duration

	mu    sync.Mutex // guards known
	known map[string]execution
}

// execution is what is known of an activity.
type execution struct {
	run    string    // ID that Temporal gave it
	status dispatch.Status
	token  []byte    // of the status, to wait for the next one
	closed time.Time // when this process saw first that it has ended without a report
}

var _ dispatch.Carrier = (*Carrier)(nil)

// New returns the carrier of a server. A task whose worker is not heard of for a lease is lost; usually this is dispatch.Lease.
func New(c client.Client, settings config.Temporal, lease time.Duration) *Carrier {
	return &Carrier{client: c, settings: settings, lease: lease, known: map[string]execution{}}
}

// Submit starts the activity of a task, unless it was started before.
func (c *Carrier) Submit(ctx context.Context, task dispatch.Task) error {
	data, err := task.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, err = c.client.ExecuteActivity(ctx, client.StartActivityOptions{
		ID: task.ID(), TaskQueue: task.Queue, Summary: oneline.Clip(string(task.Step), 100),
		ScheduleToStartTimeout: maxWaiting, StartToCloseTimeout: maxRunning, HeartbeatTimeout: c.lease,
		RetryPolicy:              &temporal.RetryPolicy{MaximumAttempts: 1},
		ActivityIDConflictPolicy: enumspb.ACTIVITY_ID_CONFLICT_POLICY_USE_EXISTING,
		ActivityIDReusePolicy:    enumspb.ACTIVITY_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, ActivityType, json.RawMessage(data))
	if err == nil || is[*serviceerror.ActivityExecutionAlreadyStarted](err) {
		return nil
	}
	return explain(err, c.settings)
}

// Status asks the server about a task.
func (c *Carrier) Status(ctx context.Context, id string) (dispatch.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return c.describe(ctx, id, nil)
}

// Await asks the server about a task until the status is another one than seen. The server answers when the activity has changed, also
// for each heartbeat, or after 20 seconds.
func (c *Carrier) Await(ctx context.Context, id string, seen dispatch.Status) (dispatch.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	for {
		if err := c.waitForLease(ctx, id); err != nil {
			return seen, err
		}
		status, err := c.describe(ctx, id, &seen)
		if err != nil || status.State == "" {
			return seen, err
		}
		if different(status, seen) {
			return status, nil
		}
	}
}

func different(a, b dispatch.Status) bool {
	return a.State != b.State || a.Worker != b.Worker || a.Canceled != b.Canceled
}

// Cancel asks for the end of a task. The worker is told at its next heartbeat.
func (c *Carrier) Cancel(ctx context.Context, id, why string) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	handle := c.client.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: id})
	err := handle.Cancel(ctx, client.CancelActivityOptions{Reason: oneline.Clip(why, 200)})
	if err == nil || is[*serviceerror.NotFound](err) || is[*serviceerror.CancellationAlreadyRequested](err) || is[*serviceerror.FailedPrecondition](err) {
		return nil // it runs, has ended or was never there
	}
	return explain(err, c.settings)
}

// load returns what is known of an activity.
func (c *Carrier) load(id string) execution {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}

func (c *Carrier) store(id string, e execution) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[id] = e
}

// describe asks about an activity. If the status that this process knows is the one that was seen, it waits for a change; the answer has no
// State if there was none.
func (c *Carrier) describe(ctx context.Context, id string, seen *dispatch.Status) (dispatch.Status, error) {
	e := c.load(id)
	ask := &workflowservice.DescribeActivityExecutionRequest{Namespace: c.namespace(), ActivityId: id, RunId: e.run, IncludeOutcome: true}
	if seen != nil && e.closed.IsZero() && !different(*seen, e.status) {
		ask.LongPollToken = e.token
	}
	answer, err := c.client.WorkflowService().DescribeActivityExecution(ctx, ask)
	switch {
	case is[*serviceerror.NotFound](err) && e.run == "":
		return dispatch.Status{State: dispatch.Absent}, nil
	case is[*serviceerror.NotFound](err):
		return ended(dispatch.Lost, "", "Temporal no longer knows the activity"), nil
	case err != nil:
		return dispatch.Status{}, explain(err, c.settings)
	case answer.GetInfo() == nil:
		return dispatch.Status{}, nil
	}
	e.run, e.token = answer.GetInfo().GetRunId(), answer.GetLongPollToken()
	status, proven := statusOf(answer)
	if !proven {
		if e.closed.IsZero() {
			e.closed = time.Now()
		}
		if time.Since(e.closed) < c.lease {
			status = dispatch.Status{State: dispatch.Running, Worker: status.Worker, Canceled: status.Canceled}
		}
	}
	e.status = status
	c.store(id, e)
	return status, nil
}

// waitForLease waits until a worker that lost its task must have ended the step.
func (c *Carrier) waitForLease(ctx context.Context, id string) error {
	e := c.load(id)
	if e.closed.IsZero() {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.lease - time.Since(e.closed)):
		return nil
	}
}

func (c *Carrier) namespace() string { return cmp.Or(c.settings.Namespace, defaultNamespace) }
