package durable

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// errOver means that fn has returned, so no further step may start.
var errOver = errors.New("the function of this run has returned")

type stepID = pawl.StepID

// Steps that record the input and the result of a run.
const (
	inputStep  stepID = ".input"
	outputStep stepID = ".output"
)

// input is the result of the step inputStep.
type input struct {
	Workflow string          `json:"workflow"`
	Parent   pawl.RunID      `json:"parent,omitempty"`
	Value    json.RawMessage `json:"value"`
}

// runKey is the key of the run in its context; inside a step the value is a nil *run.
type runKey struct{}

// run is an active run.
type run struct {
	engine *Engine
	id     pawl.RunID
	name   string
	log    *journal.Log
	epoch  pawl.Epoch
	input  []byte // JSON
	cached bool   // the state comes from a cache; see verify

	verified chan struct{} // closed when verify has ended; nil if there is nothing to verify
	wrong    error         // what verify found, once it has ended

	within context.Context // of fn
	cancel context.CancelCauseFunc

	steps sync.WaitGroup // running steps; Add is called under mu, and only while not over
	watch sync.Once      // watches the journal for events of others

	mu       sync.Mutex    // guards the fields below
	state    *pawl.State   // at the start; refresh updates it
	news     chan struct{} // closed when others have appended, or may have
	calls    map[stepID]call
	failed   map[stepID]error // that the function got and may still return
	done     []stepID         // steps that earlier performances of fn have done and this one has not called, oldest first
	busy     int              // running steps
	inLine   bool             // one of them was not started by Go
	over     bool
	survived []pawl.Payload // events of errors after which the function continued
}

// open resumes the newest run with the name of s, or creates it. For a finished run that does not repeat, it returns only the output.
func (e *Engine) open(ctx context.Context, s spec) (r *run, output []byte, err error) {
	r = &run{engine: e, name: s.name, input: s.input, calls: map[stepID]call{}, failed: map[stepID]error{}, news: make(chan struct{})}
	like := e.runsLike(s.name)
	for i, found := 0, false; i < len(like) && !found; i++ {
		if found, output, err = r.load(ctx, s, like[i]); err != nil {
			return nil, nil, err
		}
	}
	var said []pawl.Payload
	switch {
	case r.log != nil:
		said = r.resumeEvents()
	case output != nil:
		return nil, output, nil
	default:
		said, err = r.create(s, like)
	}
	if err == nil && s.repeats {
		err = e.lock.SetHolder(project.Holder{PID: os.Getpid(), Run: r.id, Since: time.Now().UTC()})
	}
	if err == nil {
		err = r.append(ctx, said...)
	}
	if err == nil && r.state.Seq > 0 { // it is resumed
		err = r.refresh()
	}
	if err != nil {
		if r.log != nil {
			err = errors.Join(err, r.log.Close())
		}
		return nil, nil, err
	}
	r.findDone()
	r.within, r.cancel = context.WithCancelCause(ctx)
	return r, nil, nil
}

// load opens a run if it has this name and is to be resumed. It reports whether the name matches: then all earlier runs
// have ended too, since a run is created only after the newest one has ended. For a finished run that does not repeat, it returns the output.
func (r *run) load(ctx context.Context, s spec, id pawl.RunID) (found bool, output []byte, err error) {
	log, state, err := folded(id, r.name, r.engine.commits.Open, func(log *journal.Log) (*pawl.State, error) { return r.fold(ctx, log) })
	if log == nil {
		return false, nil, err
	}
	defer func() {
		if r.log == nil {
			err = errors.Join(err, log.Close())
		}
	}()
	if err := r.engine.requireMade(id); err != nil {
		return false, nil, err
	}
	if state.Status == pawl.StatusCompleted && s.repeats {
		return true, nil, nil
	}
	given, err := inputOf(log, state)
	if err == nil && given.Workflow != s.workflow {
		err = &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("it is a run of workflow %q, not %q", given.Workflow, s.workflow)}
	}
	if err == nil && state.Status == pawl.StatusCompleted {
		output, err = recorded(log, outputStep, state.Steps[outputStep])
	}
	if err == nil && output == nil {
		r.id, r.log, r.state, r.input = id, log, state, given.Value
	}
	return true, output, err
}

// folded opens a run's journal and folds it. The log is nil if the run is not a durable one of this name (any, if it is empty), was
// archived, or crashed before its first event.
func folded(id pawl.RunID, name string, open func(pawl.RunID) (*journal.Log, error), fold func(*journal.Log) (*pawl.State, error)) (*journal.Log, *pawl.State, error) {
	log, err := open(id)
	if errors.Is(err, pawl.ErrNoRun) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	state, err := fold(log)
	if err == nil && state.Kind == pawl.DurableRun && (name == "" || state.Name == name) {
		return log, state, nil
	}
	if errors.Is(err, journal.ErrEmpty) {
		err = nil
	}
	return nil, nil, errors.Join(err, log.Close())
}

// fold returns the state, which decides what is not repeated. It comes from the cache only for a long run that is to be
// resumed; verify checks that while its steps run.
func (r *run) fold(ctx context.Context, log *journal.Log) (*pawl.State, error) {
	if log.Seq() > journal.QuickFold {
		state, err := log.State(ctx)
		r.cached = err == nil && state.Kind == pawl.DurableRun && state.Name == r.name && state.Status != pawl.StatusCompleted
		if err != nil || r.cached {
			return state, err
		}
	}
	state, _, err := log.Refold(ctx)
	return state, err
}

// inputOf returns what a run was started with.
func inputOf(log *journal.Log, s *pawl.State) (in input, err error) {
	data, err := recorded(log, inputStep, s.Steps[inputStep]) // null for a run of the function Run
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	return in, err
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

// slugOf returns the part of a run's id before its stamp.
func slugOf(id pawl.RunID) pawl.RunID { return id[:len(id)-len("-20060102-150405-0000")] }

func newestFirst(a, b pawl.RunID) int { return cmp.Compare(stamp(b), stamp(a)) }

// create creates a run and returns the first events of its journal. Its id sorts after those of earlier runs (given
// newest first), even if they started in the same second or the clock was set back.
func (r *run) create(s spec, before []pawl.RunID) ([]pawl.Payload, error) {
	now := time.Now()
	if len(before) > 0 {
		if next := before[0].Created().Add(time.Second); now.Before(next) {
			now = next
		}
	}
	r.id, r.state = pawl.NewRunID(r.name, now, disk.RandomHex(2)), pawl.NewState()
	err := runs.ClaimSoon(r.engine.project, r.id)
	if err != nil {
		return nil, err
	}
	if r.log, err = r.engine.commits.Create(r.id); err != nil {
		return nil, err
	}
	r.engine.add(r.id)
	said := []pawl.Payload{
		pawl.RunCreated{Format: pawl.Format, Run: r.id, Project: r.engine.project.ID, Kind: pawl.DurableRun, Name: r.name, Pawl: program(), Proof: runs.Proof(r.engine.key, r.id)},
		r.started("run"),
	}
	if s.workflow == "" {
		return said, nil
	}
	data, err := json.Marshal(input{Workflow: s.workflow, Parent: s.parent, Value: s.input})
	if err != nil {
		return nil, err
	}
	given, err := withResult(r.log, pawl.StepDone{Step: inputStep, Summary: "workflow " + s.workflow}, data)
	return append(said, given), err
}

// program identifies this program by its build information.
var program = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return filepath.Base(os.Args[0])
	}
	return info.Main.Path + " " + info.Main.Version
})

func (r *run) started(why string) pawl.EngineStarted {
	r.epoch = r.state.Epoch + 1
	host, _ := os.Hostname() // only informative
	return pawl.EngineStarted{Epoch: r.epoch, PID: os.Getpid(), Host: host, Why: why}
}

// resumeEvents returns the events that resume a run: its new engine, that running attempts were lost, and that the steps which failed
// it may use all their attempts again.
func (r *run) resumeEvents() []pawl.Payload {
	said := []pawl.Payload{r.started("resume")}
	failed := r.state.Status == pawl.StatusFailed
	switch {
	case failed:
		said = append(said, pawl.RunReopened{Why: "started again"})
	case r.state.Status != pawl.StatusActive:
		said = append(said, pawl.RunContinued{})
	}
	for _, live := range r.state.Live() {
		said = append(said, pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Lost, Why: "the program crashed or lost the run"})
	}
	for id, st := range r.state.Steps {
		if failed && st.Status == pawl.Pending && st.Retries.Failures > 0 {
			said = append(said, pawl.StepReopened{Step: id, Why: "the run was started again"})
		}
	}
	return said
}

// findDone lists the steps that the function must call again, in the order in which they were done.
func (r *run) findDone() {
	for id, st := range r.state.Steps {
		if st.Status == pawl.Done && !strings.HasPrefix(string(id), ".") && !signaled(st) {
			r.done = append(r.done, id)
		}
	}
	slices.SortFunc(r.done, func(a, b stepID) int { return cmp.Compare(r.state.Steps[a].Done, r.state.Steps[b].Done) })
}

// record is append for what follows from the state, which verify must have found right.
func (r *run) record(ctx context.Context, payloads ...pawl.Payload) error {
	if err := r.requireVerified(); err != nil {
		return err
	}
	r.mu.Lock()
	survived := r.survived
	r.survived = nil
	r.mu.Unlock()
	err := r.append(ctx, slices.Concat(survived, payloads)...)
	if err != nil { // then with the next event
		r.mu.Lock()
		r.survived = append(survived, r.survived...)
		r.mu.Unlock()
	}
	return err
}

// append durably appends a batch. If another process has taken over the run, or the journal failed, it cancels the
// context of fn with that cause.
func (r *run) append(ctx context.Context, payloads ...pawl.Payload) error {
	err := appendTo(ctx, r.log, r.epoch, "", payloads...)
	if r.cancel != nil && (errors.Is(err, pawl.ErrFenced) || errors.Is(err, journal.ErrDead)) {
		r.cancel(err)
	}
	return err
}

func appendTo(ctx context.Context, log *journal.Log, epoch pawl.Epoch, author string, payloads ...pawl.Payload) error {
	events := make([]pawl.Event, len(payloads))
	for i, p := range payloads {
		var err error
		if events[i], err = redact.OfProcess().Event(pawl.Author{Kind: pawl.ByEngine, Name: author}, p); err != nil {
			return err
		}
	}
	_, err := log.Append(ctx, epoch, events...)
	return err
}

// refresh folds what was appended since.
func (r *run) refresh() error { return r.refreshBy(func(*pawl.State) {}) }

// refreshBy folds what was appended since, and then calls then under the lock.
func (r *run) refreshBy(then func(*pawl.State)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	news, err := r.log.NewEvents()
	if err != nil {
		return err
	}
	for _, event := range news {
		r.state.Apply(event)
	}
	then(r.state)
	return nil
}

// perform calls fn, and records how the run ended.
func (r *run) perform(ctx context.Context, fn func(context.Context, []byte) ([]byte, error)) (out []byte, err error) {
	r.verify(context.WithoutCancel(ctx))
	returned := false
	defer func() {
		busy := r.stop()
		wrong := r.requireVerified()
		if returned {
			out, err = r.leave(ctx, out, err, busy, wrong)
		}
		if closing := r.log.Close(); closing != nil { // otherwise return exactly the error of fn
			err = errors.Join(err, closing)
		}
	}()
	out, err = fn(context.WithValue(r.within, runKey{}, r), r.input)
	returned = true
	return out, err
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

// leave records how the run ended. It is finished only if fn returned nil, called all steps that were done, and the state that it began
// with was right. After an error of fn itself it has failed. Otherwise it was interrupted.
func (r *run) leave(ctx context.Context, out []byte, cause error, busy int, wrong error) ([]byte, error) {
	if wrong != nil && !errors.Is(cause, wrong) {
		cause = errors.Join(wrong, cause)
	}
	if cause == nil && busy > 0 {
		cause = fmt.Errorf("durable run %q: the function returned while %d of its steps were running", r.name, busy)
	}
	if cause == nil && len(r.done) > 0 {
		cause = fmt.Errorf("durable run %q: the function returned without step %q, which it had done before: %w", r.name, r.titleOf(r.done[0]), ErrNondeterministic)
	}
	said := []pawl.Payload{pawl.RunEnded{Status: pawl.StatusCompleted}, pawl.EngineStopped{Why: "completed"}}
	switch {
	case cause != nil && (wrong != nil || !errors.Is(context.Cause(r.within), errOver)):
		said = []pawl.Payload{pawl.EngineStopped{Why: cause.Error()}}
	case cause != nil:
		said = []pawl.Payload{pawl.RunEnded{Status: pawl.StatusFailed, Why: oneLine(cause.Error())}, pawl.EngineStopped{Why: "failed"}}
	case out != nil:
		done, err := withResult(r.log, pawl.StepDone{Step: outputStep}, out)
		if err != nil {
			return nil, err
		}
		said = append([]pawl.Payload{done}, said...)
	}
	if err := r.append(context.WithoutCancel(ctx), said...); err != nil {
		return nil, errors.Join(cause, err)
	}
	if wrong == nil && r.log.Seq() >= worthCaching && r.refresh() == nil {
		_ = r.log.SaveState(r.state) // a lost cache is rebuilt
	}
	return out, cause
}

// worthCaching is how many events a journal has whose state is cached.
const worthCaching = 64

// titleOf returns the name of a step as its caller knows it.
func (r *run) titleOf(id stepID) string {
	if st := r.state.Steps[id]; st != nil && st.Summary != "" {
		return st.Summary
	}
	return string(id)
}

// ended reports whether the last event of a journal says that its run has completed. It spares Recover reading the journal.
func (e *Engine) ended(id pawl.RunID) bool {
	file, err := disk.Open(filepath.Join(e.project.RunDir(id), journal.FileName))
	if err != nil {
		return false // opening the journal says why
	}
	defer file.Close()
	end, _ := file.Seek(0, io.SeekEnd)
	tail := make([]byte, min(end, 4<<10))
	n, _ := file.ReadAt(tail, end-int64(len(tail)))
	last := tail[bytes.LastIndexByte(tail[:max(n-1, 0)], '\n')+1 : n]
	var stopped pawl.EngineStopped
	kind, data, ok := journal.Content(last)
	return ok && kind == stopped.Event() && json.Unmarshal(data, &stopped) == nil && stopped.Why == "completed"
}

// requireMade returns an error for a run that arrived with the files of the project, and that the user has not adopted.
func (e *Engine) requireMade(id pawl.RunID) error {
	err := runs.RequireMade(e.project, e.key, id)
	if hint := pawl.HintOf(err); hint != "" { // programs print only the error
		err = fmt.Errorf("%w; look at it with: %s", err, hint)
	}
	return err
}

// interrupted returns what to run again if a run is an interrupted one of a workflow.
func (e *Engine) interrupted(ctx context.Context, id pawl.RunID) (s *spec, err error) {
	log, state, err := folded(id, "", e.commits.Open, func(log *journal.Log) (*pawl.State, error) { return log.State(ctx) })
	if log == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if state.Ended() || state.Steps[inputStep] == nil {
		return nil, nil
	}
	in, err := inputOf(log, state)
	if err != nil || in.Parent != "" {
		return nil, err
	}
	if err = e.requireMade(id); err == nil && state.Deaths >= maxDeaths {
		err = fmt.Errorf("the program died %d times while it ran", state.Deaths)
	}
	return &spec{name: state.Name, workflow: in.Workflow, input: in.Value}, err
}
