package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/supervise/process"
)

// A worker starts the script of a task only when the task's claim on the remote is its own. A carrier can give a task out again, for example
// after its data was restored from a backup. A claim is created once, so of the workers that get the task one starts the script, once.
//
// A claim is of one boot of the worker's machine. So what the worker knows of a task need not survive a power failure: after a restart
// of the machine the worker does not own the claim.

// begun is the content of taskFile.
type begun struct {
	dispatch.Task
	Nonce string `json:"nonce"` // of the claim
}

func readBegun(dir string) (b begun, err error) {
	data, err := disk.ReadFile(filepath.Join(dir, taskFile), dispatch.MaxTask+nonceSpace)
	if err != nil {
		return b, err
	}
	return parseBegun(data)
}

// nonceSpace is more than what begun has in addition to its task, in bytes.
const nonceSpace = 100

func parseBegun(data []byte) (b begun, err error) {
	if err := json.Unmarshal(data, &b); err != nil {
		return b, fmt.Errorf("%s is damaged: %w", taskFile, err)
	}
	content, err := b.Task.Encode()
	if err == nil {
		b.Task, err = dispatch.ParseTask(content)
	}
	return b, err
}

// begin makes the folder of the task, so that a later process finds it, and its claim.
func (p *performance) begin() error {
	there, err := readBegun(p.dir)
	switch {
	case err == nil && (there.ID() != p.task.ID() || there.Order != p.task.Order):
		return refused("task %s has the token of task %s", p.task.ID(), there.ID())
	case err == nil && there.Nonce != "" && process.BootID() != "":
		p.nonce = there.Nonce
		return nil
	}
	data, err := p.task.Encode()
	if err != nil {
		return errRefused{err}
	}
	own := begun{Nonce: disk.RandomHex(16)}
	if own.Task, err = dispatch.ParseTask(data); err != nil {
		return errRefused{err}
	}
	if data, err = json.Marshal(own); err != nil {
		return err
	}
	if _, err := disk.MakePassingFolders(p.dir); err != nil {
		return err
	}
	p.nonce = own.Nonce
	return disk.Put(filepath.Join(p.dir, taskFile), data)
}

// errClaimed means that another worker has claimed the task, or this one on another machine or before a boot.
var errClaimed = errors.New("another worker has claimed the task")

// claim claims the task, and returns nil if the claim is this worker's own.
func (p *performance) claim(ctx context.Context) error {
	own, err := order.Claim{Run: p.task.Run, Token: p.task.Token, Worker: p.worker.Name, Boot: process.BootID(), Nonce: p.nonce}.Encode()
	if err != nil {
		return err
	}
	there, err := order.CreateOrRead(ctx, p.store, order.ClaimKey(p.task.Run, p.task.Token), own)
	if err == nil && !bytes.Equal(there, own) {
		err = errClaimed
	}
	return err
}

// resultOfOther returns the hash of the result that another worker has stored. Without one, that worker may still perform the task: nothing
// is reported then, and the carrier waits for it until the lease ends.
func (p *performance) resultOfOther(ctx context.Context) (sum string, err error) {
	err = p.retry(ctx, func() error {
		content, err := order.ReadAny(ctx, p.store, order.ResultKey(p.task.Run, p.task.Token))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			_, err = order.ParseResult(content, p.task)
		}
		if err != nil {
			return fmt.Errorf("%w: %w: %w", dispatch.ErrLost, errClaimed, err)
		}
		sum = order.SumOf(content)
		return nil
	})
	if _, ok := errors.AsType[errRefused](err); ok { // the remote does not answer, and the task was canceled
		err = fmt.Errorf("%w: %w", dispatch.ErrLost, err)
	}
	return sum, err
}

// performanceOnce is a task that this process performs.
type performanceOnce struct {
	task   dispatch.Task
	over   chan struct{} // closed when the rest is set
	report dispatch.Report
	err    error
}

// enter returns what this process performs with the token of a task, and whether it has begun that now.
func (w *Worker) enter(task dispatch.Task) (once *performanceOnce, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[task.Token] != nil {
		return w.busy[task.Token], false
	}
	if w.busy == nil {
		w.busy = map[pawl.Token]*performanceOnce{}
	}
	once = &performanceOnce{task: task, over: make(chan struct{})}
	w.busy[task.Token] = once
	return once, true
}

func (w *Worker) leave(once *performanceOnce) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.busy, once.task.Token)
	close(once.over)
}

// join returns what the task that is performed is reported with.
func (o *performanceOnce) join(ctx context.Context, task dispatch.Task) (dispatch.Report, error) {
	if task.ID() != o.task.ID() || task.Order != o.task.Order {
		return dispatch.Report{Outcome: dispatch.Refused, Why: fmt.Sprintf("task %s has the token of task %s", task.ID(), o.task.ID())}, nil
	}
	select {
	case <-o.over:
		return o.report, o.err
	case <-ctx.Done():
		return dispatch.Report{}, ctx.Err()
	}
}
