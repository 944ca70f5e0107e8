// Package engine runs a run: it decides what happens next, starts supervisors, and journals the outcome.
//
// One goroutine owns the state. It folds only durable events, asks the pure function next what to do, journals the
// intents in one batch, and then acts. Slow work (waiting for a supervisor, hashing outputs, following an events file)
// runs in worker goroutines that send their results back.
//
// The engine may die at any moment. Attempts survive under their supervisors, and the next engine re-attaches them.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/stepenv"
	"pawl/internal/supervise"
)

// An Executor turns a step into the command that a supervisor runs.
type Executor interface {
	// Does reports whether the executor handles the step.
	Does(step *pawl.Step) bool
	// Command returns the program and its arguments.
	Command(step *pawl.Step) ([]string, error)
	// Credentials returns the names of secret variables that the step gets although the plan does not name them.
	Credentials(step *pawl.Step) []string
}

// A Tracer records what happens in a run as spans of a trace. None of its methods but Close may block.
type Tracer interface {
	// NewTrace returns the trace of a run that has none.
	NewTrace(ctx context.Context, run pawl.RunID) *pawl.Trace
	// Environ returns the variables by which the programs of an attempt join the trace.
	Environ(s *pawl.State, ref pawl.AttemptRef) map[string]string
	// Record records an event after it was folded into the state of a run of the plan.
	Record(ctx context.Context, e pawl.Event, s *pawl.State, plan *pawl.Plan)
	// Close sends what is left, within a limit of time. It returns warnings for the user.
	Close(ctx context.Context) (notes []string)
}

// noTracer is the Tracer of a run that is not traced.
type noTracer struct{}

func (noTracer) NewTrace(context.Context, pawl.RunID) *pawl.Trace            { return nil }
func (noTracer) Environ(*pawl.State, pawl.AttemptRef) map[string]string      { return nil }
func (noTracer) Record(context.Context, pawl.Event, *pawl.State, *pawl.Plan) {}
func (noTracer) Close(context.Context) []string                              { return nil }

// Config configures an engine. The zero value of each field is its default.
type Config struct {
	Project   *project.Project
	Executors []Executor
	Notify    func(pawl.Event) // called with each event once it is durable and folded; must not block. Defaults to no call.
	Notice    func(string)     // called with a line for the user, such as that the disk is full. Defaults to no call.
	Parallel  int              // maximum concurrent attempts. Defaults to the plan's limit, then to the number of CPUs or the largest limit of a step.
	Watchdog  Watchdog

	parallelFrom pawl.ParallelLimit // what set Parallel. Defaults to the configuration.

	OutputCap int64 // maximum size of each captured output file, in bytes. Defaults to pawl.DefaultOutputCap.

	PIDNamespace bool              // run attempts in their own PID namespaces
	RunAs        string            // system user that executes steps. Defaults to that of this process.
	account      *pawl.Account     // that user
	Gates        config.GatePolicy // who may answer gates. Defaults to every person.
	Snapshots    config.Snapshots
	Ahead        *Ahead    // the walk that began before Open. Defaults to none.
	Evaluator    Evaluator // decides what the recovery rules leave open. Defaults to none.

	Environ []string         // environment of the process that starts or resumes the run. Defaults to that of this process.
	Secrets stepenv.Secrets  // values of the run's secrets
	Given   pawl.GivenValues // values to record before the run continues

	Receivers []pawl.Notify // who gets notices of every run, from the user's settings

	// Send sends a notice and returns how often it tried. It returns at once when its context ends. Defaults to sending none.
	Send func(context.Context, pawl.Delivery) (tries int, err error)

	// Start starts an attempt in its folder, and releases the lock when the attempt has ended. Defaults to a supervisor.
	Start func(dir string, lock *supervise.Lock, job pawl.Job, seal supervise.Seal) (*supervise.Running, error)

	// Tracer records the run as a trace. Defaults to none.
	Tracer Tracer

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
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Tracer == nil {
		c.Tracer = noTracer{}
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

// findAccount finds the user who executes steps.
func (c *Config) findAccount() (err error) {
	if c.RunAs != "" && c.PIDNamespace {
		return runs.UsageError("", `"run_as" does not work with "pid_namespace"`)
	}
	c.account, err = account.Find(c.RunAs)
	return err
}

// Engine runs one run. Only the goroutine that calls Run may touch its fields.
type Engine struct {
	cfg       Config
	run       pawl.RunID
	lock      *project.Lock
	log       *journal.Log
	pool      *supervise.Pool // supervisors of scripts
	state     *pawl.State
	inherited []string      // environment of all steps, without secrets
	plan      *runs.Outline // with the values that the caller gave
	text      *pawl.Plan    // as written
	epoch     pawl.Epoch

	results    chan func()            // from workers; Run's goroutine calls them
	workers    sync.WaitGroup         // every goroutine that sends to results
	watching   map[pawl.Token]bool    // attempts that a worker watches
	settling   map[pawl.Token]bool    // attempts that ended under an earlier engine; nothing starts before they are settled
	preparing  map[string]bool        // steps and items that a worker prepares
	prepared   map[string]preparation // results of those workers, for the next decision only
	pending    []pawl.Event           // events of the next batch
	afterFlush []func() error         // side effects for when the next batch is durable
	untold     []pawl.Event           // events that are folded, and not durable before the next flush
	stopping   map[pawl.Token]bool    // attempts that were asked to terminate
	saver      *history.Saver
	saved      map[string]history.PendingCheckpoint // checkpoints of steps about to finish, for the next decision only
	saving     int                                  // number of checkpoints that workers are taking
	sending    map[string]context.CancelCauseFunc   // notices that workers are sending: what ends that
	endWhy     string                               // why the run is about to end, for its handler
	items      itemSaves
	views      *runs.ViewWriter
	mirror     Mirror
	mirrorDue  <-chan time.Time         // when to call the mirror again
	cached     pawl.Seq                 // Seq of the last cached state
	lists      map[pawl.StepID]workList // item lists, as journaled
	notes      []string                 // see Notes
	checkCache func(context.Context) error
	unsaved    string          // why the running steps have no checkpoint, as the user was told
	soft       <-chan struct{} // closed when Run is interrupted; nil when nothing may wait for space
	full       bool            // the message that the disk is full was printed
	fatal      error           // an error from a worker that stops the engine
	moved      error           // the project's folder is not at its path any more

	loaded       *runs.Run     // the run, if the caller has loaded it
	cacheChecked chan struct{} // closed when checkCache has returned
	cacheErr     error         // its result
}

// Close releases the run and the engine lock. Running attempts keep running under their supervisors.
func (e *Engine) Close() error {
	e.pool.Close()
	if e.inPlace() != nil { // nothing can be written by its path
		_ = errors.Join(e.saver.Close(), e.log.Close())
		return e.lock.Unlock()
	}
	return errors.Join(e.saver.Close(), e.log.Close(), runs.Mark(e.cfg.Project, e.run), e.lock.Unlock())
}

// State returns the current state. It must not be called during Run.
func (e *Engine) State() *pawl.State { return e.state }

// Plan returns the run's current plan. It must not be called during Run.
func (e *Engine) Plan() *pawl.Plan { return e.plan.Plan }

// LimitParallel sets the maximum number of concurrent attempts that the user has given; 0: none.
func (c *Config) LimitParallel(n int) {
	if n > 0 {
		c.Parallel, c.parallelFrom = n, pawl.LimitFlag
	}
}

// ParallelOf returns how many attempts of a plan run at a time, and why.
func (c *Config) ParallelOf(plan *pawl.Plan) pawl.Parallel {
	if c.Parallel > 0 {
		return pawl.Parallel{Limit: c.Parallel, From: cmp.Or(c.parallelFrom, pawl.LimitConfig)}
	}
	return plan.ParallelOn(runtime.NumCPU())
}

// Notes returns warnings for the user, one line each, such as a view that could not be written. It is complete after
// Run.
func (e *Engine) Notes() []string { return e.notes }

// note adds a warning, unless it is there already.
func (e *Engine) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(e.notes, text) {
		e.notes = append(e.notes, text)
	}
}
