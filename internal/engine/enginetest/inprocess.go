package enginetest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// ErrDied is the error of an engine that dies when it starts an attempt.
var ErrDied = errors.New("the engine died")

// Fate is what happens to an attempt that no process carries out.
type Fate int

// The fates.
const (
	Succeeds  Fate = iota
	Fails          // with exit code 1
	Loses          // its supervisor dies
	Holds          // it runs until Release, or until it is asked to end; the engine dies. Checks alone do not hold
	DiesAfter      // it succeeds, and the engine dies before it sees that
	DiesFirst      // the engine dies before the attempt begins
	// A service that succeeds or holds runs until it is asked to end.
)

// InProcess carries out attempts without processes: it writes into an attempt's folder what a supervisor would write. Its
// Start is for engine.Config.
type InProcess struct {
	Fate func(dir string, job pawl.Job) Fate
	Work func(job pawl.Job) error // does what a successful attempt does

	dying   sync.Mutex // guards died and calls of Fate: checks of several attempts may start at once
	died    bool       // the engine
	mu      sync.Mutex
	holding *holding
	over    chan struct{} // closed by Close
	serving sync.WaitGroup
}

// holding is the attempts that hold until the next Release.
type holding struct {
	release  chan struct{}
	attempts sync.WaitGroup
}

// Close ends the services that still run.
func (x *InProcess) Close() {
	x.mu.Lock()
	if x.over != nil {
		close(x.over)
		x.over = nil
	}
	x.mu.Unlock()
	x.serving.Wait()
}

// closing returns a channel that Close closes.
func (x *InProcess) closing() chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over == nil {
		x.over = make(chan struct{})
	}
	return x.over
}

// Revive lets the next engine start attempts.
func (x *InProcess) Revive() {
	x.dying.Lock()
	defer x.dying.Unlock()
	x.died = false
}

// fate decides about an attempt.
func (x *InProcess) fate(dir string, job pawl.Job) Fate {
	x.dying.Lock()
	defer x.dying.Unlock()
	fate := DiesFirst // what a dead engine has yet to start
	if !x.died {
		fate = x.Fate(dir, job)
	}
	x.died = fate >= Holds
	return fate
}

// Release lets held attempts succeed, and returns when they have ended. Attempts that hold from then on wait for another Release.
func (x *InProcess) Release() {
	x.mu.Lock()
	now := x.holding
	x.holding = nil
	x.mu.Unlock()
	if now != nil {
		close(now.release)
		now.attempts.Wait()
	}
}

// hold runs an attempt that holds until Release.
func (x *InProcess) hold(a *inProcess) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.holding == nil {
		x.holding = &holding{release: make(chan struct{})}
	}
	now := x.holding
	now.attempts.Go(func() { a.hold(x, now.release, nil) })
}

// Start carries out an attempt.
func (x *InProcess) Start(dir string, lock *supervise.Lock, job pawl.Job, seal supervise.Seal) (*supervise.Running, error) {
	fate := x.fate(dir, job)
	if fate == DiesFirst {
		return nil, errors.Join(ErrDied, lock.Release())
	}
	a := &inProcess{dir: dir, lock: lock, job: job, seal: seal, started: time.Now().UTC()}
	if err := a.begin(); err != nil {
		return nil, err
	}
	if job.Serves() && (fate == Succeeds || fate == Holds) {
		over := x.closing()
		x.serving.Go(func() { a.hold(x, nil, over) })
		if fate == Holds {
			return nil, ErrDied
		}
		return supervise.Attach(dir), nil
	}
	switch fate {
	case Loses:
		return supervise.Attach(dir), lock.Release()
	case Fails:
		return supervise.Attach(dir), a.end(pawl.ReasonExited, 1)
	case Holds:
		if works(job) {
			x.hold(a)
			return nil, ErrDied // nobody else lets it succeed
		}
	}
	err := x.succeed(a)
	if fate >= Holds {
		err = errors.Join(err, ErrDied)
	}
	return supervise.Attach(dir), err
}

func (x *InProcess) succeed(a *inProcess) error {
	if works(a.job) {
		if err := x.Work(a.job); err != nil {
			return err
		}
	}
	return a.end(pawl.ReasonExited, 0)
}

// works reports whether a job is more than acceptance checks.
func works(job pawl.Job) bool { return job.Script != "" || len(job.Command) > 0 }

// inProcess is an attempt.
type inProcess struct {
	dir     string
	lock    *supervise.Lock
	job     pawl.Job
	seal    supervise.Seal
	started time.Time
}

// begin writes job.json and begun.json, which names a process that does not exist.
func (a *inProcess) begin() error {
	nobody, err := process.Identify(os.Getpid())
	if err != nil {
		return err
	}
	nobody.PID, nobody.Start = math.MaxInt32, math.MaxUint64
	line := func(d []byte) []byte { return append(d, '\n') }
	if err := a.write(pawl.JobFile, a.job, line); err != nil {
		return err
	}
	return a.write(pawl.BegunFile, pawl.Begun{Token: a.job.Token, Supervisor: nobody, Child: nobody, Scope: "process-group", Started: a.started}, line)
}

// end writes exit.json and releases the lock. After success all acceptance checks have passed.
func (a *inProcess) end(reason pawl.EndReason, code int) error {
	exit := pawl.Exit{Token: a.job.Token, Reason: reason, Exit: &code, Started: a.started, Ended: time.Now().UTC()}
	if code == 0 {
		exit.Accept = pawl.AcceptOf(&pawl.Step{Accept: a.job.Checks, Shell: a.job.Shell})
		for name := range a.job.Checks {
			exit.Checks = append(exit.Checks, pawl.CheckRun{Name: name})
		}
	}
	return errors.Join(a.write(pawl.ExitFile, exit, a.seal.Sign), a.lock.Release())
}

func (a *inProcess) write(name string, record any, finish func([]byte) []byte) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return disk.Put(filepath.Join(a.dir, name), finish(data))
}

// hold waits until the attempt may succeed, or has to end.
func (a *inProcess) hold(x *InProcess, release, closing chan struct{}) {
	for {
		select {
		case <-release:
			_ = x.succeed(a) // the journal shows what is missing
			return
		case <-closing:
			_ = a.end(pawl.ReasonAbort, 1)
			return
		case <-time.After(time.Millisecond):
		}
		if _, err := disk.Lstat(filepath.Join(a.dir, pawl.AbortFile)); !errors.Is(err, fs.ErrNotExist) {
			_ = a.end(pawl.ReasonAbort, 1)
			return
		}
	}
}
