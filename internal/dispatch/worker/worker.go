// Package worker performs tasks: it fetches the files of an order, runs its script under a supervisor in a workspace of its own, and stores
// what that changed and how it ended.
//
// A worker runs what whoever writes to its queue orders, as its own user. So it performs tasks only for remotes and projects that it was
// started for, and gives scripts only those of its variables that it was told to give.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/lazyregexp"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
)

// Remote is a remote whose orders a worker accepts.
type Remote struct {
	ID    string
	Store remote.Store
}

// Worker performs tasks. Its methods may be called concurrently. No other process uses its folder.
type Worker struct {
	Name      string   // for people
	Folder    string   // absolute
	Lock      string   // the file in Folder that this process has locked while it works
	Remotes   []Remote // whose orders it accepts
	Projects  []string // IDs of the projects whose orders it accepts. Defaults to all that use these remotes.
	Variables []string // names of variables of Environ that scripts may get although they may hold secrets
	Environ   []string // its environment

	Beat   time.Duration // Defaults to dispatch.Beat.
	GiveUp time.Duration // Defaults to dispatch.GiveUp.
	Flush  time.Duration // how often the output of a script is sent. Defaults to 2s.
	Log    func(format string, args ...any)

	mu   sync.Mutex                      // guards what follows
	busy map[pawl.Token]*performanceOnce // what this process performs
}

func (w *Worker) beat() time.Duration   { return cmp.Or(w.Beat, dispatch.Beat) }
func (w *Worker) giveUp() time.Duration { return cmp.Or(w.GiveUp, dispatch.GiveUp) }
func (w *Worker) flush() time.Duration  { return cmp.Or(w.Flush, 2*time.Second) }

func (w *Worker) log(format string, args ...any) {
	if w.Log != nil {
		w.Log(format, args...)
	}
}

// errRefused is why a worker does not start a script.
type errRefused struct{ error }

func refused(format string, args ...any) error { return errRefused{fmt.Errorf(format, args...)} }

// Perform performs a task, or joins it where it was left, and returns the report for its carrier; see dispatch.Alive. When it returns a
// report, the script has ended, and the remote has the result of a finished task. If another worker has claimed the task and has stored no
// result, it returns dispatch.ErrLost at once: whether that worker still performs the task is for the carrier to find out.
func (w *Worker) Perform(ctx context.Context, task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
	once, first := w.enter(task)
	if !first {
		return once.join(ctx, task)
	}
	defer w.leave(once)
	once.report, once.err = w.perform(ctx, task, alive)
	return once.report, once.err
}

func (w *Worker) perform(ctx context.Context, task dispatch.Task, alive dispatch.Alive) (dispatch.Report, error) {
	p := &performance{worker: w, task: task, dir: w.taskDir(task.Token), told: make(chan struct{})}
	ctx, stop := p.attend(ctx, alive)
	defer stop()
	sum, err := p.perform(ctx)
	report := dispatch.Report{Outcome: dispatch.Finished, Result: sum, Worker: w.Name}
	if err == nil {
		return report, nil
	}
	if errors.Is(err, dispatch.ErrLost) {
		return dispatch.Report{}, err
	}
	if errors.Is(context.Cause(ctx), dispatch.ErrLost) {
		return dispatch.Report{}, errors.Join(dispatch.ErrLost, p.end("the lease of the task ended"))
	}
	if ctx.Err() != nil && !errors.Is(err, errLost) {
		return dispatch.Report{}, ctx.Err()
	}
	report.Outcome, report.Result, report.Why = dispatch.Lost, "", err.Error()
	if _, ok := errors.AsType[errRefused](err); ok {
		report.Outcome = dispatch.Refused
	}
	return report, nil
}

// Forget removes what is left of a task, once its carrier has the report or has given the task up. It does nothing while the task is
// performed, because the carrier has given it out again.
func (w *Worker) Forget(token pawl.Token) error {
	gone := w.taskDir(token) + ".gone" // Left removes what a crash leaves
	w.mu.Lock()
	var err error
	if w.busy[token] == nil && disk.Exists(w.taskDir(token)) {
		err = disk.Rename(w.taskDir(token), gone)
	}
	w.mu.Unlock()
	return errors.Join(err, disk.RemoveTree(gone))
}

// Left returns the tasks that an earlier process with this folder began and did not forget.
func (w *Worker) Left() ([]dispatch.Task, error) {
	entries, err := disk.ReadDir(filepath.Join(w.Folder, "tasks"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var tasks []dispatch.Task
	for _, entry := range entries {
		begun, readErr := readBegun(filepath.Join(w.Folder, "tasks", entry.Name()))
		if readErr == nil && string(begun.Token) == entry.Name() {
			tasks = append(tasks, begun.Task)
			continue
		}
		err = errors.Join(err, disk.RemoveTree(filepath.Join(w.Folder, "tasks", entry.Name()))) // its task was never written: nothing began
	}
	return tasks, err
}

func (w *Worker) taskDir(token pawl.Token) string {
	return filepath.Join(w.Folder, "tasks", string(token))
}

// accept returns the remote of a task that the worker may perform.
func (w *Worker) accept(task dispatch.Task) (remote.Store, error) {
	if len(w.Projects) > 0 && !slices.Contains(w.Projects, task.Project) {
		return nil, refused("worker %s does not work for project %s; start it with --project %s", w.Name, task.Project, task.Project)
	}
	for _, r := range w.Remotes {
		if r.ID == task.Remote {
			return r.Store, nil
		}
	}
	return nil, refused("worker %s does not use the remote of the run; start it with --remote URL for the remote %s", w.Name, task.Remote)
}

// validProject matches IDs of projects, which come into messages.
var validProject = lazyregexp.New(`^[0-9A-Za-z-]{1,64}$`)

// openStore opens the objects that the worker has, for a workspace.
func (w *Worker) openStore(ctx context.Context, work string) (*snapshot.Store, error) {
	return snapshot.Open(ctx, snapshot.Config{Root: work, Dir: filepath.Join(w.Folder, "objects"), Quota: objectsQuota})
}

// objectsQuota is the size of the objects beyond which a worker performs no task.
const objectsQuota = 1 << 40

// cache is the folder of indexes of packs.
func (w *Worker) cache(id string) remote.Cache {
	return remote.Cache(filepath.Join(w.Folder, "indexes", id))
}

// knownOrder returns the order of a task if it was read before; else nil, and then the script was not started.
func (p *performance) knownOrder() *order.Order {
	data, err := disk.ReadFile(filepath.Join(p.dir, orderFile), disk.RecordLimit)
	if err != nil || order.SumOf(data) != p.task.Order {
		return nil
	}
	o, err := order.ParseOrder(data, p.task)
	if err != nil {
		return nil
	}
	return o
}

// readOrder reads the order of a task, from this machine if it was read before.
func (p *performance) readOrder(ctx context.Context) (*order.Order, error) {
	path := filepath.Join(p.dir, orderFile)
	if known := p.knownOrder(); known != nil {
		return known, nil
	}
	data, err := order.Read(ctx, p.store, order.OrderKey(p.task.Run, p.task.Token), p.task.Order)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refused("the remote has no order for task %s", p.task.ID())
	case pawl.KindOf(err) == pawl.KindDamaged:
		return nil, errRefused{err}
	case err != nil:
		return nil, err
	}
	o, err := order.ParseOrder(data, p.task)
	if err != nil {
		return nil, errRefused{err}
	}
	return o, disk.Put(path, data)
}
