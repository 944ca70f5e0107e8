package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// Files in the folder of a task.
const (
	taskFile    = "task.json" // begun; written before anything else of the task
	orderFile   = "order.json"
	startedFile = "started.json" // started; written before the supervisor starts
	workFolder  = "work"
)

// started is what a worker must know of the supervisor that it has started.
type started struct {
	Seal string `json:"seal"`           // public key
	Base []byte `json:"base,omitempty"` // commit record of the files before, as this machine sees them. Defaults to the order's input.
	Boot string `json:"boot"`           // ID of the system's last boot
}

func parseStarted(data []byte) (s started, err error) {
	err = json.Unmarshal(data, &s)
	if err == nil && s.Seal == "" {
		err = errors.New("it has no seal")
	}
	return s, err
}

// performance is a task that is performed.
type performance struct {
	worker *Worker
	task   dispatch.Task
	dir    string
	store  remote.Store
	order  *order.Order
	nonce  string        // of the claim
	told   chan struct{} // closed when the carrier knows that the task is performed, or was not reached

	mu       sync.Mutex // guards what follows
	canceled string     // why the script is to end; "" if it is not
	silent   bool       // the carrier was not reached for too long
}

func (p *performance) work() string { return filepath.Join(p.dir, workFolder) }

// attemptDir is the folder of the attempt, where programs of the script expect it.
func (p *performance) attemptDir() string {
	ref := p.order.AttemptRef
	return filepath.Join(p.work(), disk.Guarded, "runs", string(p.task.Run), "steps", filepath.FromSlash(ref.Name()), fmt.Sprint(ref.Attempt))
}

// attend tells the carrier that the task is performed, now and until stop is called. It closes p.told when the carrier has answered once. The
// context that it returns ends with ErrLost as its cause when the task is not the worker's own any more.
func (p *performance) attend(ctx context.Context, alive dispatch.Alive) (attended context.Context, stop func()) {
	attended, cancel := context.WithCancelCause(ctx)
	last := time.Now()
	tell := func() {
		err := alive(attended)
		switch {
		case err == nil:
			last = time.Now()
		case errors.Is(err, dispatch.ErrCanceled):
			last = time.Now()
			p.endScript(dispatch.ErrCanceled.Error(), false)
		case errors.Is(err, dispatch.ErrLost):
			cancel(dispatch.ErrLost)
		case time.Since(last) > p.worker.giveUp():
			p.endScript(fmt.Sprintf("the worker could not reach the queue for %s", p.worker.giveUp()), true)
		}
	}
	over := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tell()
		close(p.told)
		ticker := time.NewTicker(p.worker.beat())
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				tell()
			case <-over:
				return
			case <-attended.Done():
				return
			}
		}
	})
	return attended, func() {
		close(over)
		cancel(context.Canceled)
		ended.Wait()
	}
}

// endScript asks for the end of the script.
func (p *performance) endScript(why string, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = p.silent || silent
	if p.canceled == "" {
		p.canceled = why
	}
}

// ending returns why the script is to end.
func (p *performance) ending() (why string, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.canceled, p.silent
}

// errLost means that the script may have been started and what it did is unknown.
var errLost = errors.New("the worker does not know what the step did")

func lost(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errLost, fmt.Errorf(format, args...))
}

// perform performs the task and returns the hash of the result.
func (p *performance) perform(ctx context.Context) (sum string, err error) {
	if !validProject.MatchString(p.task.Project) {
		return "", refused("invalid project %q", p.task.Project)
	}
	if p.store, err = p.worker.accept(p.task); err != nil {
		return "", err
	}
	if err := p.begin(); err != nil {
		return "", err
	}
	err = p.retry(ctx, func() (err error) {
		p.order, err = p.readOrder(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	objects, err := p.worker.openStore(ctx, p.work())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	begun, running, err := p.start(ctx, objects)
	if errors.Is(err, errClaimed) {
		return p.resultOfOther(ctx)
	}
	if err != nil {
		return "", err
	}
	if err := p.await(ctx, running); err != nil {
		return "", err
	}
	exit, err := p.exit(begun.Seal)
	if err != nil {
		return "", err
	}
	err = p.retry(ctx, func() (err error) {
		sum, err = p.deliver(ctx, objects, begun.Base, *exit)
		return err
	})
	return sum, err
}

// retryPause is the pause before something is tried again that needs the remote.
const retryPause = time.Second

// retry calls do until it succeeds, refuses, or finds damage. The script is not running meanwhile.
func (p *performance) retry(ctx context.Context, do func() error) error {
	for {
		err := do()
		_, isRefused := errors.AsType[errRefused](err)
		switch {
		case err == nil || isRefused || errors.Is(err, errLost) || errors.Is(err, errClaimed) || errors.Is(err, dispatch.ErrLost):
			return err
		case pawl.KindOf(err) == pawl.KindDamaged && !p.hasStarted():
			return errRefused{err}
		}
		if why, _ := p.ending(); why != "" && !p.hasStarted() {
			return refused("%s, and before that: %w", why, err)
		}
		p.worker.log("task %s: %v; trying again", p.task.ID(), err)
		timer := time.NewTimer(retryPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (p *performance) hasStarted() bool { return disk.Exists(filepath.Join(p.dir, startedFile)) }

// start starts the script, or joins it.
func (p *performance) start(ctx context.Context, objects *snapshot.Store) (before started, running *supervise.Running, err error) {
	data, err := disk.ReadFile(filepath.Join(p.dir, startedFile), disk.RecordLimit)
	if err == nil {
		if before, err = parseStarted(data); err != nil {
			return before, nil, lost("%s is damaged: %w", startedFile, err)
		}
	}
	switch {
	case err == nil && (before.Boot == "" || before.Boot != process.BootID()): // what was written to the workspace may be gone
		return before, nil, lost("the machine of worker %s was started again", p.worker.Name)
	case err == nil:
		status, err := supervise.Probe(p.attemptDir())
		if err != nil || status.State != supervise.NotBegun {
			return before, supervise.Attach(p.attemptDir()), err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return before, nil, err
	}
	job, err := p.job()
	if err != nil {
		return before, nil, err
	}
	if before.Base, err = p.ready(ctx, objects); err != nil {
		return before, nil, err
	}
	if _, err := disk.MakePassingFolders(p.attemptDir()); err != nil {
		return before, nil, err
	}
	lock, err := supervise.Prepare(p.attemptDir())
	if err != nil {
		return before, nil, err
	}
	key := supervise.NewSeal()
	before.Seal, before.Boot = key.Public(), process.BootID()
	if data, err = json.Marshal(before); err == nil {
		err = disk.Put(filepath.Join(p.dir, startedFile), data)
	}
	if err != nil {
		return before, nil, errors.Join(err, lock.Release())
	}
	running, err = supervise.Start(lock, job, key)
	return before, running, err
}

// ready fills the workspace, and returns when the script may start: the task is claimed, and the carrier has answered.
func (p *performance) ready(ctx context.Context, objects *snapshot.Store) (base []byte, err error) {
	claimed := make(chan error, 1)
	go func() { claimed <- p.retry(ctx, func() error { return p.claim(ctx) }) }()
	err = p.retry(ctx, func() (err error) {
		base, err = p.fill(ctx, objects)
		return err
	})
	if errClaim := <-claimed; errClaim != nil {
		return nil, errClaim
	}
	select {
	case <-p.told:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if why, _ := p.ending(); why != "" && err == nil {
		err = refused("%s", why)
	}
	return base, err
}

// fill writes the files of the order into a new workspace, and returns the commit record of a snapshot of that, if it has other files than
// the order's: here may be no git, and other files are ignored. What the script changes is what differs from this one. The workspace need
// not survive a power failure: an attempt does not survive it.
func (p *performance) fill(ctx context.Context, objects *snapshot.Store) (base []byte, err error) {
	if err := disk.RemoveTree(p.work()); err != nil {
		return base, err
	}
	record, err := snapshot.ParseRecord(p.order.Input, p.task.Run)
	if err != nil {
		return base, err
	}
	has, err := objects.HasTree(record)
	if err == nil && !has {
		_, err = order.Receive(ctx, remote.NewReader(p.store, p.worker.cache(p.task.Remote), p.order.Packs), objects, p.order.Input, p.task.Run)
	}
	if err != nil {
		return base, err
	}
	if err := snapshot.MarkUnfinished(p.work()); err != nil {
		return base, err
	}
	if _, err := objects.FillPassing(ctx, record, p.work()); err != nil {
		return base, err
	}
	_, base, err = p.take(ctx, objects, "before", record.Tree)
	return base, err
}

// await returns when the script has ended.
func (p *performance) await(ctx context.Context, running *supervise.Running) error {
	copying, stop := context.WithCancel(ctx)
	var copied sync.WaitGroup
	copied.Go(func() { p.sendOutput(copying) })
	defer copied.Wait()
	defer stop()
	over := make(chan error, 1)
	go func() { over <- running.Wait(ctx) }()
	ticker := time.NewTicker(endCheck)
	defer ticker.Stop()
	for asked := false; ; {
		select {
		case err := <-over:
			return err
		case <-ticker.C:
		}
		if why, _ := p.ending(); why != "" && !asked {
			asked = true
			if err := supervise.RequestAbort(p.attemptDir(), pawl.Abort{Reason: pawl.ReasonAbort, Why: why}); err != nil {
				p.worker.log("task %s: %v", p.task.ID(), err)
			}
		}
	}
}

// endCheck is how often a worker looks whether a script is to end.
const endCheck = 100 * time.Millisecond

// end ends what runs of the task, and waits for that.
func (p *performance) end(why string) error {
	if p.order == nil {
		p.order = p.knownOrder()
	}
	if p.order == nil || !p.hasStarted() {
		return nil
	}
	if _, err := supervise.End(p.attemptDir(), why); err != nil {
		return err
	}
	_, _, err := supervise.Sweep(p.attemptDir(), p.task.Token)
	return err
}

// exit returns the exit record of the script.
func (p *performance) exit(seal string) (*pawl.Exit, error) {
	status, err := supervise.Probe(p.attemptDir())
	if err != nil {
		return nil, err
	}
	exit, why := status.ExitSealed(seal), ""
	if exit != nil && exit.Token == p.task.Token {
		silence, silent := p.ending()
		switch {
		case exit.Reason == pawl.ReasonAbort && silent:
			why = silence + ", and ended the step"
		case exit.Reason == pawl.ReasonOrphaned:
			why = fmt.Sprintf("no process of worker %s was there for %s, so the step was ended", p.worker.Name, p.worker.giveUp())
		default:
			return exit, nil
		}
	}
	if _, _, err := supervise.Sweep(p.attemptDir(), p.task.Token); err != nil {
		return nil, err
	}
	if why != "" {
		return nil, lost("%s", why)
	}
	return nil, lost("its supervisor on worker %s died", p.worker.Name)
}
