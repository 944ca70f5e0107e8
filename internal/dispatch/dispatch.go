// Package dispatch runs steps on other machines.
//
// The engine starts a step that is on a queue like any other: a supervisor of its machine runs a command. That command is a courier. It
// stores the order, which says what to run and on which files, on the run's remote, and gives a task to a Carrier. A worker gets the task
// from the carrier, performs the order under a supervisor of its own, and stores the result on the remote. The courier waits for that,
// changes the files of the project as the step did, and ends as the step did. So a courier is stateless: whenever one is started for an
// attempt, it joins the task of this attempt.
//
//	engine ── supervisor ── courier ──► Carrier ──► worker ── supervisor ── step
//	                           └──────► remote ◄──────┘
//
// What a task is known by contains the token of the attempt. For each token there is one order and at most one result: both are keys of
// the remote that are created once.
//
// A worker tells the carrier that it is alive every Beat. If it cannot, or is not told that the task is still its own, it ends the step
// after GiveUp. The carrier reports the task as lost after Lease. So at that time the step has ended, unless the worker's machine stood
// still meanwhile; its result then counts no more. A lost task is never given to another worker: a retry is a verdict of the engine.
package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/lazyregexp"
)

// The times of a worker; see the package.
const (
	Beat   = 10 * time.Second
	GiveUp = 30 * time.Second
	Lease  = 60 * time.Second
)

// Errors of carriers and workers.
var (
	// ErrUnreachable means that the carrier does not answer now. What was asked for may have been done.
	ErrUnreachable = errors.New("the queue does not answer")
	// ErrFenced means that an engine with a newer epoch has submitted tasks of the run. Nothing was submitted.
	ErrFenced = errors.New("a newer engine works on this run")
	// ErrCanceled means that the worker is to end the task, because its engine no longer wants it.
	ErrCanceled = errors.New("the task was canceled")
	// ErrLost means that the task is no longer the worker's own. Its result does not count.
	ErrLost = errors.New("the task was lost: its lease ended")
)

// Task is what a carrier carries: where a worker finds the order. It has less than MaxTask bytes as JSON, and no secrets.
type Task struct {
	Format  int           `json:"format"`
	Queue   string        `json:"queue"`
	Project string        `json:"project"` // ID
	Run     pawl.RunID    `json:"run"`
	Step    pawl.StepID   `json:"step"`
	Item    pawl.ItemID   `json:"item,omitempty"`
	Attempt int           `json:"attempt"`
	Token   pawl.Token    `json:"token"`
	Epoch   pawl.Epoch    `json:"epoch"`             // of the engine that submits it
	Remote  string        `json:"remote"`            // ID of the remote that has the order
	Order   string        `json:"order"`             // SHA-256 of the order
	Timeout pawl.Duration `json:"timeout,omitempty"` // of the step, which its supervisor enforces; 0: none
	Time    time.Time     `json:"time,omitzero"`     // since when it may have been submitted
}

const (
	taskFormat = 1
	// MaxTask is the largest size of a Task, in bytes.
	MaxTask = 4 << 10
)

// ID is what carriers know the task by: run/step/token or run/step/item/token.
func (t Task) ID() string {
	ref := pawl.AttemptRef{Step: t.Step, Item: t.Item}
	return fmt.Sprintf("%s/%s/%s", t.Run, ref.Name(), t.Token)
}

// validQueue matches the names of queues, validRemote the IDs of remotes, validToken tokens, validSum a SHA-256.
var (
	validQueue  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	validRemote = lazyregexp.New(`^[0-9a-f]{32}$`)
	validToken  = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	validSum    = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// CheckQueue returns an error unless a name can be that of a queue.
func CheckQueue(name string) error {
	if !validQueue.MatchString(name) {
		return fmt.Errorf("invalid queue %q: use 1 to 64 letters, digits, '.', '_' or '-'; the first is a letter or digit", name)
	}
	return nil
}

// Credentials are the variables with which a courier reaches queues and remotes. The checks of a step do not get them from the courier.
var Credentials = []string{"PAWL_POSTGRES", "TEMPORAL_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}

// Local is the queue of steps that the engine's machine carries out.
const Local = "local"

// QueueOf returns the queue whose workers carry out a step; "" for the engine's machine.
func QueueOf(step *pawl.Step) string {
	if step.On.Queue == Local {
		return ""
	}
	return step.On.Queue
}

// Encode returns the task as JSON.
func (t Task) Encode() ([]byte, error) {
	t.Format = taskFormat
	data, err := json.Marshal(t)
	if err == nil {
		_, err = ParseTask(data)
	}
	return data, err
}

// ParseTask parses a task that a carrier has brought. Its parts are valid; nothing says yet that the worker may perform it.
func ParseTask(data []byte) (t Task, err error) {
	if len(data) > MaxTask {
		return t, fmt.Errorf("a task of %d bytes; at most %d", len(data), MaxTask)
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("invalid task: %w", err)
	}
	if t.Format != taskFormat {
		return t, fmt.Errorf("the task has format %d, and this pawl performs format %d", t.Format, taskFormat)
	}
	_, errRun := pawl.ParseRunID(string(t.Run))
	_, errStep := pawl.ParseStepID(string(t.Step))
	var errItem error
	if t.Item != "" {
		_, errItem = pawl.ParseStepID(string(t.Item)) // the same letters
	}
	if err := errors.Join(errRun, errStep, errItem, CheckQueue(t.Queue)); err != nil {
		return t, fmt.Errorf("invalid task: %w", err)
	}
	if !validToken.MatchString(string(t.Token)) || !validRemote.MatchString(t.Remote) || !validSum.MatchString(t.Order) || t.Attempt < 1 || t.Timeout < 0 {
		return t, fmt.Errorf("invalid task %q", t.ID())
	}
	return t, nil
}

// State is where a task is.
type State string

// The states of a task. It goes through them in this order.
const (
	Absent  State = "absent"  // never submitted
	Waiting State = "waiting" // no worker has it
	Running State = "running" // a worker has it, or had it when the carrier last heard of it
	Ended   State = "ended"   // for good; Status.Report says how
)

// Status is what a carrier knows about a task.
type Status struct {
	State    State   `json:"state"`
	Worker   string  `json:"worker,omitempty"` // who has or had it, for people
	Canceled bool    `json:"canceled,omitempty"`
	Report   *Report `json:"report,omitempty"` // how it ended
}

// Report is how a task ended.
type Report struct {
	Outcome Outcome `json:"outcome"`
	Result  string  `json:"result,omitempty"` // SHA-256 of the result on the remote, if the task is Finished
	Worker  string  `json:"worker,omitempty"`
	Why     string  `json:"why,omitempty"` // one line, unless the task is Finished
}

// ParseReport parses a report that a carrier has kept.
func ParseReport(data []byte) (*Report, error) {
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("invalid report: %w", err)
	}
	if r.Outcome == Finished && !validSum.MatchString(r.Result) {
		return nil, fmt.Errorf("invalid report: result %q", r.Result)
	}
	return r, nil
}

// Outcome says how a task ended.
type Outcome string

// The outcomes.
const (
	Finished Outcome = "finished" // the step has ended, well or not; the remote has its result
	Refused  Outcome = "refused"  // a worker did not start the step
	Canceled Outcome = "canceled" // before a worker had it
	Lost     Outcome = "lost"     // the step was or may have been started; what it did is unknown, and it has ended
)

// A Carrier brings tasks to workers, and reports back. Several processes on several machines may use one at a time.
//
// A method returns an error that wraps ErrUnreachable if the carrier does not answer; calling it again is always right.
type Carrier interface {
	// Submit gives a task to the workers of its queue. If the carrier knows a task with that ID, Submit changes nothing. When it returns
	// nil, the task survives the end of every process of the carrier; after an error it may be there or not. The error wraps ErrFenced,
	// where the carrier can tell, if a task of the run with a higher epoch was submitted.
	Submit(ctx context.Context, task Task) error
	// Status returns what the carrier knows about the task with an ID. A task is Absent only if it is certain that it was not submitted.
	Status(ctx context.Context, id string) (Status, error)
	// Await returns the status of a task when it is another one than seen, and also after a while, when it is not.
	Await(ctx context.Context, id string, seen Status) (Status, error)
	// Cancel asks for the end of a task: one that is waiting ends at once, a running one when its worker has ended the step and stored the
	// result. An absent or ended task stays what it is.
	Cancel(ctx context.Context, id, why string) error
}

// Alive tells the carrier that the worker still performs a task. Its error wraps ErrCanceled if the step is to be ended, ErrLost if the
// task is not the worker's own any more, and else says why the carrier could not be told.
//
// A carrier's worker calls worker.Worker.Perform(ctx, task, alive), which returns the report for the carrier. Perform may be called again for a
// task whose worker has died on this machine: it joins what is still running. It returns an error, and no report, only when ctx ends
// (the step then continues under its supervisor, and Perform can join it) or after ErrLost.
type Alive func(ctx context.Context) error

// Perform is the method of a worker; see Alive.
type Perform func(ctx context.Context, task Task, alive Alive) (Report, error)
