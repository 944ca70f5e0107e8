// Package courier brings an attempt at a step to a worker, and its result back into the project; see package dispatch.
//
// A courier can be killed at any moment. The next one for the attempt reads in the attempt's folder what was done, joins the task, and
// changes only files that were not changed yet.
package courier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/executor/events"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
	"pawl/internal/supervise"
)

// Verb is the hidden command that runs a courier.
const Verb = "courier"

// Courier carries one attempt.
type Courier struct {
	Job     pawl.Job
	Dir     string // folder of the attempt
	Project string // ID
	Open    func(context.Context) (dispatch.Carrier, error)
	Remote  func(context.Context) (Remote, error)
	Objects *snapshot.Store // of the project

	Out, Err io.Writer     // get the output of the step
	Events   events.Writer // gets progress
	Pause    time.Duration // between tries, and between two looks at the output. Defaults to 1s.

	carrier dispatch.Carrier
	remote  Remote
	state   state
	said    string
}

// Remote is the remote of the run.
type Remote struct {
	ID    string
	Store remote.Store
	Cache remote.Cache
}

// stateFile has what a courier of the attempt has done.
const stateFile = "courier.json"

// state is the content of stateFile.
type state struct {
	Token     pawl.Token       `json:"token"`
	Submitted *dispatch.Task   `json:"submitted,omitempty"` // durable before it is submitted
	Copied    map[string]int64 `json:"copied,omitempty"`    // bytes of each file that the project has
}

// Run carries the attempt, until the attempt's folder says how it ended. ctx ends when the step is no longer wanted: Run then cancels the
// task, and still waits for its end. An error means that the end of the step is unknown, and that Run is to be called again.
func (c *Courier) Run(ctx context.Context) error {
	if supervise.Delivered(c.Dir, c.Job.Token) != nil {
		return nil
	}
	if err := c.readState(); err != nil {
		return err
	}
	err := c.connect(ctx)
	if err == nil {
		err = c.settleEarlier(ctx)
	}
	if err == nil && c.state.Submitted == nil {
		err = c.persist(ctx, func() error { return c.prepare(ctx) })
	}
	switch {
	case c.state.Submitted == nil && ctx.Err() != nil:
		return c.deliver(pawl.ReasonAbort, "it was stopped before a worker had it")
	case c.state.Submitted == nil && errors.Is(err, errNoInput): // nobody has submitted it, and no older engine can
		return c.deliver(pawl.ReasonLost, err.Error())
	case c.state.Submitted == nil && err != nil:
		return c.deliver(pawl.ReasonError, err.Error())
	case err != nil:
		return err
	}
	return c.follow(ctx)
}

// readState reads the state in the folder of an attempt.
func readState(dir string) (s state, err error) {
	data, err := disk.ReadFile(filepath.Join(dir, stateFile), disk.RecordLimit)
	if err == nil {
		s, err = parseState(data)
	}
	return s, err
}

func parseState(data []byte) (s state, err error) {
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s is damaged: %w", stateFile, err)
	}
	for name, n := range s.Copied {
		if n < 0 {
			return s, fmt.Errorf("%s is damaged: %d bytes of %s", stateFile, n, name)
		}
	}
	return s, nil
}

func (c *Courier) readState() (err error) {
	c.state, err = readState(c.Dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && c.state.Token != c.Job.Token {
		c.state, err = state{Token: c.Job.Token}, nil
	}
	if c.state.Copied == nil {
		c.state.Copied = map[string]int64{}
	}
	return err
}

func (c *Courier) writeState(write func(string, []byte) error) error {
	data, err := json.Marshal(c.state)
	if err != nil {
		return err
	}
	return write(filepath.Join(c.Dir, stateFile), data)
}

// deliver records an end that no worker has reported.
func (c *Courier) deliver(reason pawl.EndReason, why string) error {
	now := time.Now().UTC()
	return supervise.Deliver(c.Dir, pawl.Exit{Token: c.Job.Token, Reason: reason, Why: why, Started: now, Ended: now})
}

// tell reports progress, unless it was reported last.
func (c *Courier) tell(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != c.said {
		c.said = text
		c.Events.Progress(pawl.Progress{Text: text})
	}
}

func (c *Courier) connect(ctx context.Context) (err error) {
	err = c.persist(ctx, func() (err error) { // first: it may connect meanwhile
		c.carrier, err = c.Open(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return c.persist(ctx, func() (err error) {
		c.remote, err = c.Remote(ctx)
		return err
	})
}

func (c *Courier) pause() time.Duration {
	if c.Pause == 0 {
		return time.Second
	}
	return c.Pause
}

// persist calls do until the carrier and the remote answer.
func (c *Courier) persist(ctx context.Context, do func() error) error {
	for {
		err := do()
		switch {
		case errors.Is(err, dispatch.ErrUnreachable):
			c.tell("waiting for queue %s, which does not answer: %v", c.Job.Away.Queue, err)
		case errors.Is(err, remote.ErrUnreachable):
			c.tell("waiting for the remote, which does not answer: %v", err)
		default:
			return err
		}
		timer := time.NewTimer(c.pause())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// settleEarlier ends the tasks of earlier attempts at the same work, which an engine may have left. Two never run at a time.
func (c *Courier) settleEarlier(ctx context.Context) error {
	for n := 1; n < c.Job.Attempt; n++ {
		dir := filepath.Join(filepath.Dir(c.Dir), fmt.Sprint(n))
		earlier, err := readState(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read what attempt %d has submitted: %w", n, err)
		}
		if earlier.Submitted == nil || supervise.Delivered(dir, earlier.Token) != nil {
			continue
		}
		c.tell("waiting for the end of attempt %d, which a worker may still carry out", n)
		if err := c.end(ctx, earlier.Submitted.ID(), "a newer attempt takes its place"); err != nil {
			return err
		}
	}
	return nil
}

// end cancels a task, and returns when it has ended.
func (c *Courier) end(ctx context.Context, id, why string) error {
	var seen dispatch.Status
	err := c.persist(ctx, func() (err error) {
		seen, err = c.carrier.Status(ctx, id)
		return err
	})
	for err == nil && seen.State != dispatch.Absent && seen.State != dispatch.Ended {
		err = c.persist(ctx, func() error { return c.carrier.Cancel(ctx, id, why) })
		if err == nil {
			err = c.persist(ctx, func() (err error) {
				seen, err = c.carrier.Await(ctx, id, seen)
				return err
			})
		}
	}
	return err
}

// prepare stores the order, and records the task. From then on the task may have been submitted.
func (c *Courier) prepare(ctx context.Context) error {
	content, err := c.storeOrder(ctx)
	if err != nil {
		return err
	}
	task := dispatch.Task{
		Queue: c.Job.Away.Queue, Project: c.Project, Run: c.Job.Run, Step: c.Job.Step, Item: c.Job.Item, Attempt: c.Job.Attempt, Token: c.Job.Token,
		Epoch: c.Job.Away.Epoch, Remote: c.remote.ID, Order: order.SumOf(content), Timeout: c.Job.Timeout, Time: time.Now().UTC(),
	}
	data, err := task.Encode()
	if err != nil {
		return err
	}
	if task, err = dispatch.ParseTask(data); err != nil {
		return err
	}
	o, err := order.ParseOrder(content, task)
	if err == nil && (o.Script != c.Job.Script || pack.IDOf(o.Input).String() != c.Job.Away.Input) {
		err = errors.New("the order on the remote is not that of this attempt")
	}
	if err != nil {
		return err
	}
	if err := c.checkSent(ctx, o.Packs); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.state.Submitted = &task
	err = c.writeState(disk.Replace)
	if err != nil {
		c.state.Submitted = nil
	}
	return err
}

// storeOrder stores the order on the remote, unless a courier of the attempt, perhaps on another machine, has stored it, and returns its content.
func (c *Courier) storeOrder(ctx context.Context) (content []byte, err error) {
	key := order.OrderKey(c.Job.Run, c.Job.Token)
	if content, err = order.Find(ctx, c.remote.Store, key); err != nil || content != nil {
		return content, err
	}
	c.tell("sending the files to the remote")
	o, err := c.order(ctx)
	if err != nil {
		return nil, err
	}
	if content, _, err = o.Encode(); err != nil {
		return nil, err
	}
	if content, err = order.CreateOrRead(ctx, c.remote.Store, key, content); err != nil {
		err = fmt.Errorf("store the order on the remote: %w", err)
	}
	return content, err
}

// errNoInput means that this project does not have the files of the attempt, which an engine elsewhere started.
var errNoInput = errors.New("this project does not have the files with which the step was started")

// follow submits the task, and waits for its end.
func (c *Courier) follow(wanted context.Context) error {
	ctx, task := context.WithoutCancel(wanted), *c.state.Submitted
	seen := dispatch.Status{}
	err := c.persist(ctx, func() (err error) {
		if err = c.carrier.Submit(ctx, task); err == nil {
			seen, err = c.carrier.Status(ctx, task.ID())
		}
		return err
	})
	if errors.Is(err, dispatch.ErrFenced) {
		return c.deliver(pawl.ReasonAbort, err.Error())
	}
	if err != nil {
		return err
	}
	for canceled := false; seen.State != dispatch.Ended; {
		c.show(ctx, seen)
		if !canceled && wanted.Err() != nil {
			if err := c.persist(ctx, func() error { return c.carrier.Cancel(ctx, task.ID(), "the step was stopped") }); err != nil {
				return err
			}
			canceled = true
		}
		seen, err = c.await(ctx, wanted, task.ID(), seen, canceled)
		if err != nil {
			return err
		}
	}
	return c.conclude(ctx, task, seen)
}

// await waits until the status of the task is another one, until there may be more output, or until the step is no longer wanted.
func (c *Courier) await(ctx, wanted context.Context, id string, seen dispatch.Status, canceled bool) (dispatch.Status, error) {
	limited, cancel := context.WithTimeout(ctx, c.pause())
	defer cancel()
	if !canceled {
		defer context.AfterFunc(wanted, cancel)()
	}
	now, err := c.carrier.Await(limited, id, seen)
	switch {
	case limited.Err() != nil:
		return seen, nil
	case errors.Is(err, dispatch.ErrUnreachable):
		c.tell("waiting for queue %s, which does not answer: %v", c.Job.Away.Queue, err)
		<-limited.Done()
		return seen, nil
	case err == nil && now.State == dispatch.Absent:
		return now, fmt.Errorf("queue %s has lost task %s", c.Job.Away.Queue, id)
	}
	return now, err
}

// show reports where the task is, and copies what the step has written so far.
func (c *Courier) show(ctx context.Context, seen dispatch.Status) {
	switch seen.State {
	case dispatch.Waiting:
		c.tell("waiting for a worker of queue %s", c.Job.Away.Queue)
	case dispatch.Running:
		c.tell("running on worker %s", seen.Worker)
		c.copyLive(ctx)
	}
}

// conclude takes the result of a task that has ended.
func (c *Courier) conclude(ctx context.Context, task dispatch.Task, seen dispatch.Status) error {
	report := seen.Report
	if report == nil {
		return fmt.Errorf("task %s ended without a report", task.ID())
	}
	switch report.Outcome {
	case dispatch.Finished:
		return c.persist(ctx, func() error { return c.take(ctx, task, report.Result) })
	case dispatch.Refused:
		return c.deliver(pawl.ReasonError, report.Why)
	case dispatch.Canceled:
		return c.deliver(pawl.ReasonAbort, "it was stopped before a worker had it")
	case dispatch.Lost:
		return c.deliver(pawl.ReasonLost, fmt.Sprintf("worker %s: %s", report.Worker, report.Why))
	}
	return fmt.Errorf("task %s ended as %q, which this pawl does not know", task.ID(), report.Outcome)
}
