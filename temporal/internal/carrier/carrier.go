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

// remembered is how long Temporal certainly knows an ended activity: a namespace keeps them for an hour at least.
const remembered = 50 * time.Minute

// Carrier implements dispatch.Carrier.
type Carrier struct {
	client   client.Client
	settings config.Temporal
	lease    time.Duration

	mu    sync.Mutex // guards what follows
	known map[string]execution
	asked map[string]*question
}

// execution is what is known of an activity.
type execution struct {
	run    string // ID that Temporal gave it
	old    bool   // it may have been submitted so long ago that Temporal has forgotten it
	status dispatch.Status
	token  []byte    // of the status, to wait for the next one
	closed time.Time // when this process saw first that it has ended without a report
}

var _ dispatch.Carrier = (*Carrier)(nil)

// New returns the carrier of a server. A task whose worker is not heard of for a lease is lost; usually this is dispatch.Lease.
func New(c client.Client, settings config.Temporal, lease time.Duration) *Carrier {
	return &Carrier{client: c, settings: settings, lease: lease, known: map[string]execution{}, asked: map[string]*question{}}
}

// Submit starts the activity of a task, unless it was started before. A task that may have been submitted long ago, and that Temporal does
// not know, may have ended meanwhile. It is not started again, and counts as lost.
func (c *Carrier) Submit(ctx context.Context, task dispatch.Task) error {
	data, err := task.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if !task.Time.IsZero() && time.Since(task.Time) > remembered {
		c.store(task.ID(), execution{old: true})
		_, err := c.describe(ctx, task.ID(), nil)
		return err
	}
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
// for each heartbeat, or after 20 seconds. When ctx ends before, the question stays, and the next Await gets the answer: couriers look
// every second.
func (c *Carrier) Await(ctx context.Context, id string, seen dispatch.Status) (dispatch.Status, error) {
	for {
		question := c.ask(id, seen)
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-question.done:
		}
		c.answered(id)
		if question.err != nil || question.status.State == "" {
			return seen, question.err
		}
		if different(question.status, seen) {
			return question.status, nil
		}
	}
}

// question is a call that waits for a change of an activity.
type question struct {
	done   chan struct{} // closed when the rest is set
	status dispatch.Status
	err    error
}

// ask returns the question about an activity, which may have been asked before.
func (c *Carrier) ask(id string, seen dispatch.Status) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.asked[id]
	if q == nil {
		q = &question{done: make(chan struct{})}
		c.asked[id] = q
		go func() {
			defer close(q.done)
			c.waitForLease(id)
			ctx, cancel := context.WithTimeout(context.Background(), awaitLimit)
			defer cancel()
			q.status, q.err = c.describe(ctx, id, &seen)
		}()
	}
	return q
}

func (c *Carrier) answered(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, id)
}

func different(a, b dispatch.Status) bool {
	return a.State != b.State || a.Worker != b.Worker || a.Canceled != b.Canceled
}

// Cancel asks for the end of a task. The worker learns that from its next heartbeat.
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
	case is[*serviceerror.NotFound](err) && e.run == "" && !e.old:
		return dispatch.Status{State: dispatch.Absent}, nil
	case is[*serviceerror.NotFound](err):
		return ended(dispatch.Lost, "", "Temporal does not know the activity any more"), nil
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

// waitForLease waits, for a while, until a worker that lost its task must have ended the step.
func (c *Carrier) waitForLease(id string) {
	if e := c.load(id); !e.closed.IsZero() {
		time.Sleep(min(c.lease-time.Since(e.closed), awaitLimit/2))
	}
}

func (c *Carrier) namespace() string { return cmp.Or(c.settings.Namespace, DefaultNamespace) }
