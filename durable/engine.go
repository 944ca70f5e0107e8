package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// Engine runs durable functions in a project. Its methods may be called concurrently.
type Engine struct {
	project *project.Project
	key     []byte // the project's secret key
	lock    *project.Lock
	commits *journal.Commits

	running sync.WaitGroup // runs; Add is called under mu, and only while not closed

	mu        sync.Mutex // guards the fields below
	closed    bool
	active    map[string]*active          // runs by name
	known     map[pawl.RunID][]pawl.RunID // see runsBySlug
	workflows map[string]func(spec) *spec // fills a spec in, by the name of the workflow
}

// active is a run that this engine runs.
type active struct {
	opened chan struct{} // closed when run is set
	run    *run
	done   chan struct{} // closed when the run has been left, and the fields below are set
	out    []byte        // JSON
	err    error
}

// spec is what is to be run.
type spec struct {
	name     string
	workflow string     // empty: the function Run
	input    []byte     // JSON
	parent   pawl.RunID // of a child run
	repeats  bool       // a finished run is followed by a new one, instead of giving its result again
	fn       func(ctx context.Context, input []byte) (output []byte, err error)
}

// Open makes this process the engine of the project that contains dir; if there is none, dir becomes one. If the project has an
// engine, in this process or another one, the error is of the kind "held" and names it.
func Open(dir string) (*Engine, error) {
	p, err := project.Find(dir)
	if errors.Is(err, pawl.ErrNoProject) {
		p, err = project.Init(dir)
	}
	e := &Engine{project: p, active: map[string]*active{}, workflows: map[string]func(spec) *spec{}}
	if err == nil {
		e.lock, err = p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC()})
	}
	if err != nil {
		return nil, fmt.Errorf("durable: open %s: %w", dir, err)
	}
	e.commits, err = journal.OpenCommits(p.Runs())
	if err == nil {
		e.key, err = p.SecretKey()
	}
	if err == nil {
		e.known, err = runsBySlug(p)
	}
	if err != nil {
		return nil, errors.Join(err, e.lock.Unlock())
	}
	return e, nil
}

// runsBySlug returns the runs of a project by the part of their ids before the time, newest first.
func runsBySlug(p *project.Project) (map[pawl.RunID][]pawl.RunID, error) {
	ids, err := journal.Runs(p.Runs())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ids, newestFirst)
	known := map[pawl.RunID][]pawl.RunID{}
	for _, id := range ids {
		known[slugOf(id)] = append(known[slugOf(id)], id)
	}
	return known, nil
}

// Close interrupts the runs, waits until their functions have returned, and lets other engines into the project.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	for _, a := range e.active {
		if a.run != nil { // otherwise perform does it
			a.run.cancel(ErrClosed)
		}
	}
	e.mu.Unlock()
	e.running.Wait()
	return errors.Join(e.commits.Close(), e.lock.Unlock())
}

// Wait waits until no run is active.
func (e *Engine) Wait() { e.running.Wait() }

// claim returns the active run with this name; mine is true if the caller must perform it.
func (e *Engine) claim(name string) (a *active, mine bool, err error) {
	if name == "" {
		return nil, false, errNoName
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, false, ErrClosed
	}
	if a := e.active[name]; a != nil {
		return a, false, nil
	}
	a = &active{opened: make(chan struct{}), done: make(chan struct{})}
	e.active[name] = a
	e.running.Add(1)
	return a, true, nil
}

// perform runs a claimed run to its end, in this goroutine. After a panic of its function, the run counts as interrupted.
func (e *Engine) perform(ctx context.Context, a *active, s spec) {
	a.err = errors.New("the function of the run panicked")
	defer func() {
		e.mu.Lock()
		delete(e.active, s.name)
		e.mu.Unlock()
		close(a.done)
		e.running.Done()
	}()
	r, out, err := e.open(ctx, s)
	if err != nil {
		err = fmt.Errorf("durable run %q: %w", s.name, err)
	}
	if r == nil { // it cannot be opened, or has ended before
		a.out, a.err = out, err
		return
	}
	e.mu.Lock()
	a.run = r
	close(a.opened)
	if e.closed {
		r.cancel(ErrClosed)
	}
	e.mu.Unlock()
	a.out, a.err = r.perform(ctx, s.fn)
}

// background performs a claimed run in a goroutine. A panic of its function becomes the run's error.
func (e *Engine) background(ctx context.Context, a *active, s spec) {
	fn := s.fn
	s.fn = func(ctx context.Context, input []byte) (out []byte, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = panicError(p)
			}
		}()
		return fn(ctx, input)
	}
	go e.perform(ctx, a, s)
}

func panicError(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

// runsLike returns the runs whose ids match this name or a similar one, newest first.
func (e *Engine) runsLike(name string) []pawl.RunID {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.known[pawl.RunID(pawl.SlugOf(name))])
}

// add makes a new run known.
func (e *Engine) add(id pawl.RunID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known[slugOf(id)] = slices.Insert(e.known[slugOf(id)], 0, id)
}

// Workflow is a function with a name, whose runs are durable.
type Workflow[In, Out any] struct {
	engine *Engine
	name   string
	fn     func(context.Context, In) (Out, error)
}

// Register names a function, so that Recover finds it. Register all of them before Recover. A name that is registered twice panics.
func Register[In, Out any](e *Engine, name string, fn func(ctx context.Context, in In) (Out, error)) *Workflow[In, Out] {
	w := &Workflow[In, Out]{engine: e, name: name, fn: fn}
	e.mu.Lock()
	defer e.mu.Unlock()
	if name == "" || e.workflows[name] != nil {
		panic(fmt.Sprintf("durable: workflow %q is registered twice, or has no name", name))
	}
	e.workflows[name] = w.fill
	return w
}

// fill adds the workflow to a spec.
func (w *Workflow[In, Out]) fill(s spec) *spec {
	what := fmt.Sprintf("durable run %q", s.name)
	s.workflow, s.fn = w.name, func(ctx context.Context, input []byte) ([]byte, error) {
		in, err := decode[In](input, what)
		if err != nil {
			return nil, err
		}
		out, err := w.fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return encode(out, what)
	}
	return &s
}

// Run runs the workflow under a name, and returns its result. The name identifies the run. If it is finished, Run returns the recorded
// result; if it is running, Run waits for it; if it was interrupted or has failed, Run resumes it. in counts only for a new run, and is
// recorded. The run is interrupted when ctx ends or the engine is closed. An error of the workflow fails the run.
//
// With the context of another run, it is a child run and a step of that run, with this name. The name of the run then begins with the
// id of its parent. A run that the parent's end interrupts resumes with its parent.
func (w *Workflow[In, Out]) Run(ctx context.Context, name string, in In) (Out, error) {
	if ctx.Value(runKey{}) != nil {
		return Step(ctx, name, w.child(ctx, name, in))
	}
	a, err := w.begin(ctx, spec{name: name}, in, w.engine.perform)
	return w.result(ctx, a, name, err)
}

// Start is Run in the background.
func (w *Workflow[In, Out]) Start(ctx context.Context, name string, in In) *Future[Out] {
	if ctx.Value(runKey{}) != nil {
		return Go(ctx, name, w.child(ctx, name, in))
	}
	f := newFuture[Out]()
	a, err := w.begin(ctx, spec{name: name}, in, w.engine.background)
	go func() { f.settle(w.result(context.WithoutCancel(ctx), a, name, err)) }()
	return f
}

// child returns the function of the step that is a child run.
func (w *Workflow[In, Out]) child(ctx context.Context, name string, in In) func(context.Context) (Out, error) {
	parent, _ := ctx.Value(runKey{}).(*run)
	return func(ctx context.Context) (Out, error) {
		name := string(parent.id) + "/" + name
		if parent.engine != w.engine {
			return *new(Out), fmt.Errorf("durable run %q: the workflow is registered with another engine", name)
		}
		a, err := w.begin(ctx, spec{name: name, parent: parent.id}, in, w.engine.perform)
		return w.result(ctx, a, name, err)
	}
}

// begin returns the active run with a name. If there is none, perform runs it.
func (w *Workflow[In, Out]) begin(ctx context.Context, s spec, in In, perform func(context.Context, *active, spec)) (a *active, err error) {
	if s.input, err = encode(in, fmt.Sprintf("durable run %q", s.name)); err != nil {
		return nil, err
	}
	a, mine, err := w.engine.claim(s.name)
	if err == nil && mine {
		perform(ctx, a, *w.fill(s))
	}
	return a, err
}

// result waits until an active run has been left, and decodes its result.
func (w *Workflow[In, Out]) result(ctx context.Context, a *active, name string, err error) (out Out, _ error) {
	if err != nil {
		return out, err
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
	if a.err != nil {
		return out, a.err
	}
	return decode[Out](a.out, fmt.Sprintf("durable run %q", name))
}

// Resumed is an interrupted run that Recover found.
type Resumed struct {
	Name     string // empty if it cannot be read
	Workflow string
	Run      pawl.RunID
	Err      error // why it was not resumed: it cannot be read, its workflow is not registered, or it crashed too often
}

// maxDeaths is how often a run may die before Recover leaves it alone.
const maxDeaths = 100

// Recover resumes, in the background, all runs of registered workflows that a crash or Close interrupted, and returns them. Workflow.Run
// and Start with the name of such a run wait for it. Runs that have failed are not resumed, and child runs resume with their parents.
func (e *Engine) Recover(ctx context.Context) ([]Resumed, error) {
	ids, err := journal.Runs(e.project.Runs())
	if err != nil {
		return nil, err
	}
	var all []Resumed
	for _, id := range ids {
		if e.ended(id) {
			continue
		}
		s, err := e.interrupted(ctx, id)
		if s == nil && err == nil {
			continue
		}
		found := Resumed{Run: id, Err: err}
		if s != nil {
			found.Name, found.Workflow = s.name, s.workflow
		}
		if err == nil {
			found.Err = e.resume(ctx, *s)
		}
		all = append(all, found)
	}
	return all, nil
}

// resume performs an interrupted run in the background.
func (e *Engine) resume(ctx context.Context, s spec) error {
	e.mu.Lock()
	fill := e.workflows[s.workflow]
	e.mu.Unlock()
	if fill == nil {
		return fmt.Errorf("workflow %q is not registered", s.workflow)
	}
	a, mine, err := e.claim(s.name)
	if err == nil && mine {
		e.background(ctx, a, *fill(s))
	}
	return err
}
