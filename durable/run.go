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
)

// errOver means that fn has returned, so that none of its steps may begin any more.
var errOver = errors.New("the function that it belongs to has returned")

// run is one Run under way.
type run struct {
	lock   *project.Lock
	id     pawl.RunID
	name   string
	log    *journal.Log
	epoch  pawl.Epoch
	state  *pawl.State // as it was at the beginning, until leave brings it up to date
	cancel context.CancelCauseFunc

	steps sync.WaitGroup // of those under way; added to under mu, while not over
	mu    sync.Mutex     // guards all below
	calls map[pawl.StepID]call
	busy  int // calls under way
	over  bool
}

// open makes the caller the one engine of the project, and begins the run or takes it up.
func open(ctx context.Context, dir, name string) (*run, error) {
	if name == "" {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("it needs a name")}
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

// begin takes up the newest run of this name, or makes one where there is none or that has ended.
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
		said = r.takenUp()
	}
	if err != nil {
		return err
	}
	if err := r.lock.Name(project.Holder{PID: os.Getpid(), Run: r.id, Since: time.Now().UTC()}); err != nil {
		return err
	}
	return r.say(ctx, said...)
}

// runsLike returns the runs whose ids are made of this name, or of one like it, newest first.
func runsLike(p *project.Project, name string) ([]pawl.RunID, error) {
	runs, err := journal.Runs(p.Runs())
	slug := pawl.RunID(pawl.SlugOf(name))
	runs = slices.DeleteFunc(runs, func(id pawl.RunID) bool { return id != slug+"-"+stamp(id) })
	slices.SortFunc(runs, func(a, b pawl.RunID) int { return cmp.Compare(stamp(b), stamp(a)) })
	return runs, err
}

// load opens a run where it is one of this name and unfinished. It reports whether it is one of this name: those
// before it have ended too, since a run is made only when the newest one has.
func (r *run) load(ctx context.Context, p *project.Project, id pawl.RunID) (found bool, err error) {
	log, err := journal.Open(p.Runs(), id)
	if err != nil {
		return false, err
	}
	state, err := log.State(ctx)
	if errors.Is(err, journal.ErrEmpty) { // it died before its first word was kept
		return false, log.Close()
	}
	if err != nil {
		return false, errors.Join(err, log.Close())
	}
	found = state.Kind == pawl.DurableRun && state.Name == r.name
	if !found || state.Ended() {
		return found, log.Close()
	}
	r.id, r.log, r.state = id, log, state
	return true, nil
}

// stamp is the end of a run's id: date, time and random digits.
func stamp(id pawl.RunID) pawl.RunID { return id[len(id)-len("20060102-150405-0000"):] }

// create makes a run and returns what its journal begins with. Its id sorts behind those of the runs before, newest
// first, also when both begin in one second or the clock was set back.
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

// program is what the build says of the program that runs this.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return filepath.Base(os.Args[0])
	}
	return info.Main.Path + " " + info.Main.Version
}

func (r *run) started(why string) pawl.EngineStarted {
	r.epoch = r.state.Epoch + 1
	host, _ := os.Hostname() // only for people to read
	return pawl.EngineStarted{Epoch: r.epoch, PID: os.Getpid(), Host: host, Why: why}
}

// takenUp is what there is to say of an unfinished run: its new engine, and that what was under way is lost.
func (r *run) takenUp() []pawl.Payload {
	said := []pawl.Payload{r.started("resume")}
	if r.state.Status != pawl.StatusActive {
		said = append(said, pawl.RunContinued{})
	}
	for _, live := range r.state.Live() {
		said = append(said, pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Lost, Why: "the program died, or lost the run"})
	}
	return said
}

// say makes a batch durable. When the run turns out to be somebody else's, or its journal to be lost, it ends the
// context of fn with that cause.
func (r *run) say(ctx context.Context, payloads ...pawl.Payload) error {
	events := make([]pawl.Event, len(payloads))
	for i, p := range payloads {
		var err error
		if events[i], err = pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p); err != nil {
			return err
		}
	}
	_, err := r.log.Append(ctx, r.epoch, events...)
	if r.cancel != nil && (errors.Is(err, pawl.ErrFenced) || errors.Is(err, journal.ErrDead)) {
		r.cancel(err)
	}
	return err
}

// stop lets no step begin any more, ends those under way and waits for them. It returns how many there were.
func (r *run) stop() (busy int) {
	r.mu.Lock()
	r.over = true
	busy = r.busy
	r.mu.Unlock()
	r.cancel(errOver)
	r.steps.Wait()
	return busy
}

// leave says how the run was left: finished only where fn said so.
func (r *run) leave(ctx context.Context, cause error, busy int) error {
	if cause == nil && busy > 0 {
		cause = fmt.Errorf("durable run %q: its function has returned before %d of its steps", r.name, busy)
	}
	said := []pawl.Payload{pawl.RunEnded{Status: pawl.StatusCompleted}, pawl.EngineStopped{Why: "completed"}}
	if cause != nil {
		said = []pawl.Payload{pawl.EngineStopped{Why: cause.Error()}}
	}
	if err := r.say(context.WithoutCancel(ctx), said...); err != nil {
		return errors.Join(cause, err)
	}
	_ = r.cache() // it is made again where it is missing
	return cause
}

// cache spares the next one who opens the run most of the fold.
func (r *run) cache() error {
	news, err := r.log.News()
	if err != nil {
		return err
	}
	for _, event := range news {
		r.state.Apply(event)
	}
	return r.log.SaveState(r.state)
}
