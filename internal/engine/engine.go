// Package engine runs a run: it decides what happens next, starts supervisors, and journals the outcome.
//
// One goroutine owns the state. It folds only durable events, asks the pure function next what to do, journals the
// intents in one batch, and then acts. Slow work (waiting for a supervisor, hashing outputs, following an events file)
// runs in worker goroutines that send their results back.
//
// The engine may die at any moment. Attempts survive under their supervisors, and the next engine re-attaches them.
package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// An Executor turns a step into the command that a supervisor runs.
type Executor interface {
	// Does reports whether the executor handles the step.
	Does(step *pawl.Step) bool
	// Command returns the program and its arguments.
	Command(step *pawl.Step) ([]string, error)
}

// Config configures an engine. The zero value of each field is its default.
type Config struct {
	Project   *project.Project
	Executors []Executor
	Notify    func(pawl.Event) // called with each event once it is durable and folded; must not block. Defaults to no call.
	Notice    func(string)     // called with a line for the user, such as that the disk is full. Defaults to no call.
	Parallel  int              // maximum concurrent attempts. Defaults to the plan's limit, then to the number of CPUs.
	Watchdog  Watchdog
	OutputCap int64 // maximum size of each captured output file, in bytes. Defaults to pawl.DefaultOutputCap.

	PIDNamespace bool // run attempts in their own PID namespaces
	Snapshots    config.Snapshots
	Evaluator    Evaluator // decides what the recovery rules leave open. Defaults to none.

	// Mirror returns the mirror of a run, or nil for none. Defaults to none.
	Mirror func(*pawl.State, *journal.Log, *snapshot.Store) Mirror
}

// Watchdog sets how often attempts are checked and how long a supervisor may be silent.
type Watchdog struct {
	Heartbeat time.Duration // interval between checks. Defaults to 5m.
	Warning   time.Duration // silence that is reported. Defaults to 10m.
	Stalled   time.Duration // silence after which the supervisor is killed. Defaults to 30m.
}

func (c Config) withDefaults() Config {
	if c.Notify == nil {
		c.Notify = func(pawl.Event) {}
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	if c.Mirror == nil {
		c.Mirror = func(*pawl.State, *journal.Log, *snapshot.Store) Mirror { return nil }
	}
	if c.Watchdog.Heartbeat == 0 {
		c.Watchdog.Heartbeat = 5 * time.Minute
	}
	if c.Watchdog.Warning == 0 {
		c.Watchdog.Warning = 10 * time.Minute
	}
	if c.Watchdog.Stalled == 0 {
		c.Watchdog.Stalled = 30 * time.Minute
	}
	return c
}

// Engine runs one run. Only the goroutine that calls Run may touch its fields.
type Engine struct {
	cfg   Config
	run   pawl.RunID
	lock  *project.Lock
	log   *journal.Log
	state *pawl.State
	plan  *runs.Outline
	epoch pawl.Epoch

	results    chan func()            // from workers; Run's goroutine calls them
	workers    sync.WaitGroup         // every goroutine that sends to results
	watching   map[pawl.Token]bool    // attempts that a worker watches
	preparing  map[string]bool        // steps and items that a worker prepares
	prepared   map[string]preparation // results of those workers, for the next decision only
	pending    []pawl.Event           // events of the next batch
	afterFlush []func() error         // side effects for when the next batch is durable
	stopping   map[pawl.Token]bool    // attempts that were asked to terminate
	saver      *history.Saver
	saved      map[string]history.PendingCheckpoint // checkpoints of steps about to finish, for the next decision only
	saving     int                                  // number of checkpoints that workers are taking
	items      itemSaves
	views      *runs.ViewWriter
	mirror     Mirror
	mirrorDue  <-chan time.Time         // when to call the mirror again
	cached     pawl.Seq                 // Seq of the last cached state
	lists      map[pawl.StepID]workList // item lists, as journaled
	notes      []string                 // see Notes
	checkCache func(context.Context) error
	soft       <-chan struct{} // closed when Run is interrupted; nil when nothing may wait for space
	full       bool            // the user was told that the disk is full
	fatal      error           // an error from a worker that stops the engine
}

// Open takes the project's engine lock and opens the run. If another engine holds the lock, the error is of KindHeld.
func Open(ctx context.Context, cfg Config, run pawl.RunID) (*Engine, error) {
	e, err := openWith(ctx, cfg, func() (pawl.RunID, error) { return run, nil })
	if err != nil {
		return nil, err
	}
	if err := runs.RequireNoRollback(e.state); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// OpenNew is like Open but creates the run, after it has the lock.
func OpenNew(ctx context.Context, cfg Config, n runs.CreateOptions) (*Engine, error) {
	return openWith(ctx, cfg, func() (pawl.RunID, error) { return runs.Create(ctx, cfg.Project, n) })
}

func openWith(ctx context.Context, cfg Config, choose func() (pawl.RunID, error)) (*Engine, error) {
	holder := project.Holder{PID: os.Getpid(), Since: time.Now().UTC()}
	lock, err := cfg.Project.LockEngine(holder)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg.withDefaults(), lock: lock,
		results:  make(chan func()),
		watching: map[pawl.Token]bool{}, preparing: map[string]bool{}, prepared: map[string]preparation{}, saved: map[string]history.PendingCheckpoint{}, stopping: map[pawl.Token]bool{},
		lists: map[pawl.StepID]workList{},
	}
	if e.run, err = choose(); err == nil {
		holder.Run = e.run
		err = errors.Join(lock.SetHolder(holder), e.load(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return e, nil
}

func (e *Engine) load(ctx context.Context) error {
	if err := runs.RequireOwn(e.cfg.Project, e.run); err != nil {
		return err
	}
	r, err := runs.LoadToContinue(ctx, e.cfg.Project, e.run)
	if err != nil {
		return err
	}
	e.log, e.state, e.plan, e.checkCache = r.Log, r.State, runs.NewOutline(r.Plan), r.CheckCache
	e.notes = append(e.notes, r.Notes...)
	if err := r.RestorePlan(e.cfg.Project); err != nil {
		return err
	}
	if e.state.Kind != pawl.PlanRun && e.state.Kind != pawl.CommandRun {
		return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("run %s is a %s run; only the program that created it can continue it", e.run, e.state.Kind)}
	}
	e.saver = history.OpenSaver(ctx, e.cfg.Project, e.run, e.cfg.Snapshots)
	e.views = runs.NewViewWriter(e.cfg.Project, e.run)
	if e.mirror = e.cfg.Mirror(e.state, e.log, e.saver.Store); e.mirror == nil {
		e.mirror = noMirror{}
	}
	return nil
}

// Close releases the run and the engine lock. Running attempts keep running under their supervisors.
func (e *Engine) Close() error {
	return errors.Join(e.saver.Close(), e.log.Close(), runs.Mark(e.cfg.Project, e.run), e.lock.Unlock())
}

// State returns the current state. It must not be called during Run.
func (e *Engine) State() *pawl.State { return e.state }

// Plan returns the run's current plan. It must not be called during Run.
func (e *Engine) Plan() *pawl.Plan { return e.plan.Plan }

func (e *Engine) slots() int {
	switch {
	case e.cfg.Parallel > 0:
		return e.cfg.Parallel
	case e.plan.Parallel > 0:
		return e.plan.Parallel
	}
	return runtime.NumCPU()
}

// Run executes the run until it completes (nil) or cannot continue. The error is then of KindAtGate, KindRunFailed or
// KindInterrupted. When ctx ends, Run starts nothing new and leaves running attempts to their supervisors. When hard
// ends too, it terminates them first.
func (e *Engine) Run(ctx, hard context.Context, why string) error {
	return e.work(ctx, func(helpers context.Context) error {
		if err := e.begin(helpers, why); err != nil {
			return err
		}
		return e.loop(ctx, hard, helpers)
	})
}

// work calls do and then shuts the engine down. The context that do gets outlives ctx; it is for work that must not be
// cut off.
func (e *Engine) work(ctx context.Context, do func(helpers context.Context) error) error {
	helpers, quit := context.WithCancel(context.WithoutCancel(ctx))
	e.soft = ctx.Done()
	checked := make(chan error, 1)
	e.spawn(func() func() {
		err := e.checkCache(helpers)
		checked <- err
		return func() { e.fatal = errors.Join(e.fatal, err) }
	})
	err := do(helpers)
	if forged := <-checked; forged != nil && !errors.Is(err, forged) {
		err = errors.Join(forged, err)
	}
	err = e.shutdown(helpers, err)
	quit()
	e.drain()
	if viewErr := e.views.Close(e.state, e.plan.Plan); viewErr != nil {
		e.note("views: %v", viewErr)
	}
	e.mirror.Close(context.WithoutCancel(ctx), e.state, e.plan.Plan)
	e.notes = append(e.notes, e.mirror.Notes()...)
	return err
}

// Notes returns warnings for the user, one line each, such as a view that could not be written. It is complete after
// Run.
func (e *Engine) Notes() []string { return e.notes }

func (e *Engine) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// announce raises the epoch, which fences off older engines.
func (e *Engine) announce(why string) {
	e.epoch = e.state.Epoch + 1
	host, _ := os.Hostname() // informational
	e.emit(pawl.EngineStarted{Epoch: e.epoch, PID: os.Getpid(), Host: host, Why: why})
}

// begin announces the engine and re-attaches the attempts of earlier engines.
func (e *Engine) begin(helpers context.Context, why string) error {
	mirrored := e.startMirror(helpers)
	e.announce(why)
	if mirrored != nil {
		e.emit(*mirrored)
	}
	switch e.state.Status {
	case pawl.StatusPaused, pawl.StatusStopped:
		e.emit(pawl.RunContinued{})
	}
	if err := e.flush(helpers); err != nil {
		return err
	}
	e.reattach(helpers)
	return nil
}

func (e *Engine) loop(ctx, hard, helpers context.Context) error {
	appended := e.log.Watch(helpers)
	beat := time.NewTicker(e.cfg.Watchdog.Heartbeat)
	defer beat.Stop()
	space := time.NewTicker(spaceCheck)
	defer space.Stop()
	clock := newSleepClock()
	soft := ctx.Done()
	for {
		wake, err := e.advance(helpers)
		if err != nil {
			return err
		}
		if over, err := e.over(wake); over {
			return err
		}
		var alarm <-chan time.Time
		if wake.kind == wait {
			alarm = time.After(time.Until(wake.until))
		}
		select {
		case f := <-e.results:
			f()
		case <-appended:
		case <-alarm:
		case <-beat.C:
			e.heartbeat(clock)
		case <-space.C:
			e.checkSpace()
		case <-e.mirrorDue:
			e.mirrorDue = e.mirror.Changed(helpers, e.state, e.plan.Plan, nil)
		case <-soft:
			return e.interrupted(helpers, hard)
		}
	}
}

// over reports whether only a person can make progress now. The error says why; it is nil if the run is completed.
func (e *Engine) over(wake action) (bool, error) {
	s := e.state
	switch {
	case s.Status == pawl.StatusCompleted:
		return true, nil
	case s.Status == pawl.StatusFailed:
		return true, &pawl.Error{Kind: pawl.KindRunFailed, Err: errors.New("run failed: " + s.Why), Hint: "pawl status"}
	case len(s.Live()) > 0 || len(e.preparing) > 0 || e.saving > 0:
		return false, nil
	case s.Status == pawl.StatusPaused || s.Status == pawl.StatusStopped:
		return true, &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New("run paused"), Hint: "pawl resume"}
	case wake.kind == wait && !wake.needsPerson:
		return false, nil
	}
	return true, e.waitsFor()
}

// waitsFor returns what the run waits for, with the command to continue as the hint.
func (e *Engine) waitsFor() *pawl.Error {
	stopped := func(hint, format string, args ...any) *pawl.Error {
		return &pawl.Error{Kind: pawl.KindAtGate, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	if open := e.state.OpenGates(); len(open) > 0 {
		return stopped("pawl gates", "waiting for gate %s: %s", open[0].ID, open[0].Ask)
	}
	if open := e.state.OpenBlockers(); len(open) > 0 {
		return stopped(fmt.Sprintf("pawl unblock %d", open[0].ID), "run is blocked: %s", open[0].Text)
	}
	for _, step := range e.plan.InOrder {
		if st := e.state.Steps[step.ID]; st != nil && st.Status == pawl.AwaitsReview {
			who := strings.Join(st.Unreviewed(), ", ")
			return stopped(fmt.Sprintf("pawl review %s --by %s --score N", step.ID, st.Unreviewed()[0]), "step %s waits for review by %s", step.ID, who)
		}
	}
	return stopped("pawl status", "no step can start")
}

// maxRejectedBatches limits how many batches in a row the state may reject completely.
const maxRejectedBatches = 10

// advance journals pending events and starts what is next, until nothing more can be done now. It returns what to wait
// for, or the zero action.
func (e *Engine) advance(helpers context.Context) (wake action, err error) {
	defer clear(e.prepared)
	defer clear(e.saved)
	for refused := 0; ; {
		said, misfit := len(e.pending), e.state.RejectedCount
		if err := errors.Join(e.flush(helpers), e.fatal); err != nil {
			return action{}, err
		}
		if e.state.RejectedCount-misfit < said {
			refused = 0
		} else if refused++; refused > maxRejectedBatches {
			return action{}, errors.New("the engine keeps proposing events that the state rejects; run pawl verify")
		}
		wake = action{}
		for _, a := range next(e.plan, e.state, time.Now(), e.slots()) {
			if a.kind == wait {
				wake = a
			} else if err := e.do(helpers, a); err != nil {
				return action{}, err
			}
		}
		if len(e.pending) == 0 {
			return wake, nil
		}
	}
}

// interrupted starts nothing new. It leaves running attempts to their supervisors after secondInterrupt. If hard ends
// before that, it terminates them first. It journals attempts that end meanwhile.
func (e *Engine) interrupted(ctx, hard context.Context) error {
	e.soft = nil
	patience := time.NewTimer(secondInterrupt)
	defer patience.Stop()
	again := hard.Done()
	for len(e.state.Live()) > 0 {
		select {
		case f := <-e.results:
			f()
		case <-again:
			again = nil
			patience.Reset(e.patienceToEnd())
			e.emit(pawl.RunStopped{Why: "interrupted twice"})
			e.stopLive("interrupted twice")
		case <-patience.C:
			why := fmt.Errorf("interrupted; attempts still running under their supervisors: %d", len(e.state.Live()))
			return &pawl.Error{Kind: pawl.KindInterrupted, Err: why, Hint: "pawl resume"}
		}
		if err := e.flush(ctx); disk.IsFull(err) {
			return errDiskFull
		} else if err != nil {
			return err
		}
	}
	return &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New("interrupted"), Hint: "pawl resume"}
}

// patienceToEnd is how long an engine that was interrupted twice waits until the attempts have ended. On a full disk their
// supervisors cannot record that.
func (e *Engine) patienceToEnd() time.Duration {
	if e.diskFull() != "" {
		return secondInterrupt
	}
	return time.Minute
}

// secondInterrupt is how long a second Ctrl-C may follow the first while attempts run.
const secondInterrupt = 3 * time.Second

// shutdown journals that the engine stopped, and why.
func (e *Engine) shutdown(ctx context.Context, cause error) error {
	why := "completed"
	if cause != nil {
		why = cause.Error()
	}
	e.pending, e.afterFlush, e.soft = nil, nil, nil
	e.emit(pawl.EngineStopped{Why: why})
	if err := e.flush(ctx); err != nil {
		return errors.Join(cause, err)
	}
	if err := e.log.SaveState(e.state); err != nil {
		e.note("state cache: %v", err)
	}
	return cause
}

// drain waits for the workers after their context ended, and discards their results.
func (e *Engine) drain() {
	done := make(chan struct{})
	go func() { e.workers.Wait(); close(done) }()
	for {
		select {
		case <-e.results:
		case <-done:
			return
		}
	}
}

// spawn runs work in a goroutine. Run's goroutine then calls the function that work returns.
func (e *Engine) spawn(work func() func()) {
	e.workers.Add(1)
	go func() {
		defer e.workers.Done()
		e.results <- work()
	}()
}

// emit adds events to the next batch.
func (e *Engine) emit(payloads ...pawl.Payload) {
	e.emitBy(pawl.Author{Kind: pawl.ByEngine}, payloads...)
}

// emitBy adds events of another author to the next batch.
func (e *Engine) emitBy(by pawl.Author, payloads ...pawl.Payload) {
	for _, p := range payloads {
		event, err := redact.OfProcess().Event(by, p)
		if err != nil {
			panic("payloads are plain data: " + err.Error())
		}
		e.pending = append(e.pending, event)
	}
}

// cacheEvery is how many events may pass before the state is cached again. The cache speeds up the next engine.
const cacheEvery = 2000

// flush makes the batch durable, folds it together with events of other writers, and runs the scheduled side effects.
func (e *Engine) flush(ctx context.Context) error {
	batch, effects := e.pending, e.afterFlush
	e.pending, e.afterFlush = nil, nil
	if len(batch) > 0 {
		if err := e.append(ctx, batch); err != nil {
			return err
		}
	}
	news, err := e.log.NewEvents()
	if err != nil {
		return err
	}
	for _, event := range news {
		e.state.Apply(event)
		e.cfg.Notify(event)
	}
	if len(news) > 0 {
		e.views.Update(e.state, e.plan.Plan)
		e.mirrorDue = e.mirror.Changed(ctx, e.state, e.plan.Plan, news)
	}
	if e.state.Seq >= e.cached+cacheEvery {
		e.cached = e.state.Seq
		_ = e.log.SaveState(e.state) // a missing cache is rebuilt
	}
	for _, effect := range effects {
		if err := effect(); err != nil {
			return err
		}
	}
	return nil
}
