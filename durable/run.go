package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
)

// errOver means that fn has returned, so no further step may start.
var errOver = errors.New("the function of this run has returned")

// run is an active Run.
type run struct {
	lock   *project.Lock
	id     pawl.RunID
	name   string
	log    *journal.Log
	epoch  pawl.Epoch
	state  *pawl.State // state at the start; leave updates it
	cached bool        // the state comes from a cache; see verify

	verified chan struct{} // closed when verify has ended; nil if there is nothing to verify
	wrong    error         // what verify found, once it has ended

	cancel context.CancelCauseFunc

	steps sync.WaitGroup // running steps; Add is called under mu, and only while not over
	mu    sync.Mutex     // guards the fields below
	calls map[pawl.StepID]call
	busy  int // running steps
	over  bool
}

// open locks the project and starts or resumes the run.
func open(ctx context.Context, dir, name string) (*run, error) {
	if name == "" {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("missing name")}
	}
	p, err := project.Find(dir)
	if errors.Is(err, pawl.ErrNoProject) {
		p, err = project.Init(dir)
	}
	if err != nil {
		return nil, err
	}
	r := &run{name: name, calls: map[pawl.StepID]call{}}
	if r.lock, err = p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC()}); err != nil {
		return nil, err
	}
	if err := r.begin(ctx, p); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *run) close() error {
	var err error
	if r.log != nil {
		err = r.log.Close()
	}
	return errors.Join(err, r.lock.Unlock())
}

// begin resumes the newest run of this name if it is unfinished, and creates a run otherwise.
func (r *run) begin(ctx context.Context, p *project.Project) error {
	runs, err := runsLike(p, r.name)
	if err != nil {
		return err
	}
	for i, found := 0, false; i < len(runs) && !found; i++ {
		if found, err = r.load(ctx, p, runs[i]); err != nil {
			return err
		}
	}
	var said []pawl.Payload
	if r.log == nil {
		said, err = r.create(p, runs)
	} else {
		said = r.resumeEvents()
	}
	if err != nil {
		return err
	}
	if err := r.lock.SetHolder(project.Holder{PID: os.Getpid(), Run: r.id, Since: time.Now().UTC()}); err != nil {
		return err
	}
	return r.append(ctx, said...)
}

// runsLike returns the runs whose ids match this name or a similar one, newest first.
func runsLike(p *project.Project, name string) ([]pawl.RunID, error) {
	runs, err := journal.Runs(p.Runs())
	slug := pawl.RunID(pawl.SlugOf(name))
	runs = slices.DeleteFunc(runs, func(id pawl.RunID) bool { return id != slug+"-"+stamp(id) })
	slices.SortFunc(runs, func(a, b pawl.RunID) int { return cmp.Compare(stamp(b), stamp(a)) })
	return runs, err
}

// load opens a run if it has this name and is unfinished. It reports whether the name matches: then all earlier runs
// have ended too, since a run is created only after the newest one has ended.
func (r *run) load(ctx context.Context, p *project.Project, id pawl.RunID) (found bool, err error) {
	log, err := journal.Open(p.Runs(), id)
	if err != nil {
		return false, err
	}
	state, cached, err := r.foldOf(ctx, log)
	if errors.Is(err, journal.ErrEmpty) { // it crashed before its first event
		return false, log.Close()
	}
	if err != nil {
		return false, errors.Join(err, log.Close())
	}
	found = state.Kind == pawl.DurableRun && state.Name == r.name
	if !found || state.Ended() {
		return found, log.Close()
	}
	r.id, r.log, r.state, r.cached = id, log, state, cached
	return true, nil
}

// foldOf returns the state, which decides what is not repeated. It comes from the cache only for a long run that is to be
// resumed; verify checks that while its steps run.
func (r *run) foldOf(ctx context.Context, log *journal.Log) (state *pawl.State, cached bool, err error) {
	if log.Seq() > journal.QuickFold {
		state, err = log.State(ctx)
		if err != nil || state.Kind == pawl.DurableRun && state.Name == r.name && !state.Ended() {
			return state, true, err
		}
	}
	state, _, err = log.Refold(ctx)
	return state, false, err
}

// verify checks the cached state against a fold of the whole journal, in a goroutine. If it is wrong, verify cancels the context
// of fn.
func (r *run) verify(ctx context.Context) {
	if !r.cached {
		return
	}
	r.verified = make(chan struct{})
	go func() {
		defer close(r.verified)
		if r.wrong = r.log.CheckAndDiscardStates(ctx); r.wrong != nil {
			r.cancel(r.wrong)
		}
	}()
}

// requireVerified waits for verify and returns what is wrong with the state that the run began with.
func (r *run) requireVerified() error {
	if r.verified == nil {
		return nil
	}
	<-r.verified
	return r.wrong
}

// stamp returns the end of a run's id: date, time and random digits.
func stamp(id pawl.RunID) pawl.RunID { return id[len(id)-len("20060102-150405-0000"):] }

// create creates a run and returns the first events of its journal. Its id sorts after those of earlier runs (given
// newest first), even if they started in the same second or the clock was set back.
func (r *run) create(p *project.Project, before []pawl.RunID) ([]pawl.Payload, error) {
	now := time.Now()
	if len(before) > 0 {
		last, err := time.Parse("20060102-150405", string(stamp(before[0]))[:15])
		if err == nil && now.Before(last.Add(time.Second)) {
			now = last.Add(time.Second)
		}
	}
	r.id, r.state = pawl.NewRunID(r.name, now, disk.RandomHex(2)), pawl.NewState()
	var err error
	if r.log, err = journal.Create(p.Runs(), r.id); err != nil {
		return nil, err
	}
	created := pawl.RunCreated{Format: pawl.Format, Run: r.id, Project: p.ID, Kind: pawl.DurableRun, Name: r.name, Pawl: program()}
	return []pawl.Payload{created, r.started("run")}, nil
}

// program identifies this program by its build information.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return filepath.Base(os.Args[0])
	}
	return info.Main.Path + " " + info.Main.Version
}

func (r *run) started(why string) pawl.EngineStarted {
	r.epoch = r.state.Epoch + 1
	host, _ := os.Hostname() // only informative
	return pawl.EngineStarted{Epoch: r.epoch, PID: os.Getpid(), Host: host, Why: why}
}

// resumeEvents returns the events that resume a run: its new engine, and that running attempts were lost.
func (r *run) resumeEvents() []pawl.Payload {
	said := []pawl.Payload{r.started("resume")}
	if r.state.Status != pawl.StatusActive {
		said = append(said, pawl.RunContinued{})
	}
	for _, live := range r.state.Live() {
		said = append(said, pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Lost, Why: "the program crashed or lost the run"})
	}
	return said
}

// record is append for what follows from the state, which verify must have found right.
func (r *run) record(ctx context.Context, payloads ...pawl.Payload) error {
	if err := r.requireVerified(); err != nil {
		return err
	}
	return r.append(ctx, payloads...)
}

// append durably appends a batch. If another process has taken over the run, or the journal failed, it cancels the
// context of fn with that cause.
func (r *run) append(ctx context.Context, payloads ...pawl.Payload) error {
	events := make([]pawl.Event, len(payloads))
	for i, p := range payloads {
		var err error
		if events[i], err = redact.OfProcess().Event(pawl.Author{Kind: pawl.ByEngine}, p); err != nil {
			return err
		}
	}
	_, err := r.log.Append(ctx, r.epoch, events...)
	if r.cancel != nil && (errors.Is(err, pawl.ErrFenced) || errors.Is(err, journal.ErrDead)) {
		r.cancel(err)
	}
	return err
}

// stop prevents further steps, cancels those running and waits for them. It returns their number.
func (r *run) stop() (busy int) {
	r.mu.Lock()
	r.over = true
	busy = r.busy
	r.mu.Unlock()
	r.cancel(errOver)
	r.steps.Wait()
	return busy
}

// leave records how the run ended: it is finished only if fn returned nil and the state that it began with was right.
func (r *run) leave(ctx context.Context, cause error, busy int) error {
	wrong := r.requireVerified()
	if wrong != nil && !errors.Is(cause, wrong) {
		cause = errors.Join(wrong, cause)
	}
	if cause == nil && busy > 0 {
		cause = fmt.Errorf("durable run %q: the function returned while %d of its steps were running", r.name, busy)
	}
	said := []pawl.Payload{pawl.RunEnded{Status: pawl.StatusCompleted}, pawl.EngineStopped{Why: "completed"}}
	if cause != nil {
		said = []pawl.Payload{pawl.EngineStopped{Why: cause.Error()}}
	}
	if err := r.append(context.WithoutCancel(ctx), said...); err != nil {
		return errors.Join(cause, err)
	}
	if wrong == nil {
		_ = r.cache() // a lost cache is rebuilt
	}
	return cause
}

// cache saves the state, to make opening the run faster.
func (r *run) cache() error {
	news, err := r.log.NewEvents()
	if err != nil {
		return err
	}
	for _, event := range news {
		r.state.Apply(event)
	}
	return r.log.SaveState(r.state)
}
