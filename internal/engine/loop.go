package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/disk"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
	"pawl/internal/supervise/process"
)

// Run executes the run until it completes (nil) or cannot continue. The error is then of KindAtGate, KindRunFailed or
// KindInterrupted. When ctx ends, Run starts nothing new and, after a moment, terminates running attempts. When leave ends, it leaves
// them to their supervisors and returns.
func (e *Engine) Run(ctx, leave context.Context, why string) error {
	return e.work(ctx, func(helpers context.Context) error {
		if err := runs.RecordDotenv(e.cfg.Project, e.plan.Dotenv); err != nil {
			return err
		}
		if err := e.begin(helpers, why); err != nil {
			return err
		}
		return e.loop(ctx, leave, helpers)
	})
}

// work calls do and then shuts the engine down. The context that do gets outlives ctx; it is for work that must not be
// cut off.
func (e *Engine) work(ctx context.Context, do func(helpers context.Context) error) error {
	helpers, quit := context.WithCancel(context.WithoutCancel(ctx))
	e.soft = ctx.Done()
	checked := make(chan struct{})
	e.cacheChecked = checked
	e.spawn(func() func() {
		e.cacheErr = e.checkCache(helpers)
		close(checked)
		return func() { e.fatal = errors.Join(e.fatal, e.cacheErr) }
	})
	err := do(helpers)
	if moved := e.inPlace(); moved != nil { // its attempts continue under their supervisors, and the next engine finds them
		quit()
		e.drain()
		return moved
	}
	if <-checked; e.cacheErr != nil {
		err = e.replaceState(helpers, err)
	}
	err = e.shutdown(helpers, err)
	quit()
	e.drain()
	if viewErr := e.views.Close(e.state, e.plan.Plan); viewErr != nil {
		e.note("views: %v", viewErr)
	}
	e.notes = append(e.notes, e.cfg.Tracer.Close(context.WithoutCancel(ctx))...)
	e.mirror.Close(context.WithoutCancel(ctx), e.state, e.plan.Plan)
	e.notes = append(e.notes, e.mirror.Notes()...)
	return err
}

// inPlace returns an error if the project's folder was moved away from under the engine.
func (e *Engine) inPlace() error {
	if e.moved == nil {
		e.moved = e.cfg.Project.InPlace(e.lock)
	}
	return e.moved
}

// announce raises the epoch, which fences off older engines.
func (e *Engine) announce(ctx context.Context, why string, limit pawl.Parallel) {
	e.epoch = e.state.Epoch + 1
	host, _ := os.Hostname() // informational
	started := pawl.EngineStarted{Epoch: e.epoch, PID: os.Getpid(), Host: host, Home: e.cfg.Project.ID, Boot: process.BootID(), Why: why, Parallel: limit}
	if e.state.Trace == nil {
		started.Trace = e.cfg.Tracer.NewTrace(ctx, e.run)
	}
	e.emit(started)
}

// begin announces the engine and re-attaches the attempts of earlier engines.
func (e *Engine) begin(helpers context.Context, why string) error {
	mirrored := e.startMirror(helpers)
	e.announce(helpers, why, e.cfg.ParallelOf(e.plan.Plan))
	if mirrored != nil {
		e.emit(*mirrored)
	}
	switch e.state.Status {
	case pawl.StatusPaused, pawl.StatusStopped:
		e.emit(pawl.RunContinued{})
	}
	if err := e.withdrawChangedGates(); err != nil {
		return err
	}
	if err := e.flush(helpers); err != nil {
		return err
	}
	e.reattach(helpers)
	return nil
}

func (e *Engine) loop(ctx, leave, helpers context.Context) error {
	appended := e.log.Watch(helpers)
	beat := time.NewTicker(e.cfg.Watchdog.Heartbeat)
	defer beat.Stop()
	save := time.NewTimer(e.untilHeartbeat())
	defer save.Stop()
	space := time.NewTicker(spaceCheck)
	defer space.Stop()
	clock := process.NewSleepClock()
	soft := ctx.Done()
	for {
		wake, err := e.advance(helpers)
		if err != nil {
			return err
		}
		if over, err := e.over(wake); over {
			return err
		}
		if len(e.settling) == 0 { // what starts next does not wait for views
			e.views.Update(e.state, e.plan.Plan)
		}
		var alarm <-chan time.Time
		if wake.Kind == decide.Sleep {
			alarm = time.After(time.Until(wake.Until))
		}
		select {
		case f := <-e.results:
			f()
		case <-appended:
		case <-alarm:
		case <-beat.C:
			e.heartbeat(clock)
		case <-save.C:
			e.saveHeartbeat(helpers, save)
		case <-space.C:
			e.checkSpace()
		case <-e.mirrorDue:
			e.mirrorDue = e.mirror.Changed(helpers, e.state, e.plan.Plan, nil)
		case <-soft:
			if leave.Err() != nil || !e.onlySending(wake) {
				return e.interrupted(helpers, leave)
			}
			e.stopSending()
			soft = leave.Done()
		}
	}
}

// over reports whether only a person can make progress now. The error says why; it is nil if the run is completed.
func (e *Engine) over(wake decide.Action) (bool, error) {
	s := e.state
	switch {
	case s.Status == pawl.StatusCompleted:
		return true, nil
	case s.Status == pawl.StatusFailed:
		return true, &pawl.Error{Kind: pawl.KindRunFailed, Err: errors.New("run failed: " + s.Why), Hint: s.AfterFailure(e.plan.Plan)}
	case !e.idle() || len(e.sending) > 0:
		return false, nil
	case s.Status == pawl.StatusPaused || s.Status == pawl.StatusStopped:
		return true, &pawl.Error{Kind: pawl.KindAtGate, Err: errors.New(strings.TrimSuffix("run paused: "+s.Why, ": ")), Hint: "pawl resume"}
	case wake.Kind == decide.Sleep && !wake.NeedsPerson:
		return false, nil
	}
	return true, e.waitsFor()
}

// idle reports whether nothing is being done but sending notices.
func (e *Engine) idle() bool { return !e.busy() && len(e.preparing) == 0 && e.saving == 0 }

// waitsFor returns what the run waits for, with the command to continue as the hint.
func (e *Engine) waitsFor() *pawl.Error {
	stopped := func(hint, format string, args ...any) *pawl.Error {
		return &pawl.Error{Kind: pawl.KindAtGate, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	if open := e.state.OpenGates(); len(open) > 0 {
		return stopped("pawl gates", "waiting for gate %s: %s", open[0].ID, open[0].Ask)
	}
	if open := e.state.OpenBlockers(); len(open) > 0 {
		hint := fmt.Sprintf("pawl unblock %d", open[0].ID)
		if open[0].Needs != "" {
			hint = fmt.Sprintf("%s; %s lets this run continue", open[0].Needs, hint)
		}
		return stopped(hint, "run is blocked: %s", open[0].Text)
	}
	for _, step := range e.plan.InOrder {
		if st := e.state.Steps[step.ID]; st != nil && st.Status == pawl.AwaitsReview {
			who := strings.Join(st.Unreviewed(), ", ")
			return stopped(fmt.Sprintf("pawl review %s --by %s --score N", step.ID, shellwords.Word(st.Unreviewed()[0])), "step %s waits for review by %s", step.ID, who)
		}
	}
	return stopped("pawl status", "no step can start")
}

// maxRejectedBatches limits how many batches in a row the state may reject completely.
const maxRejectedBatches = 10

// advance journals pending events and starts what is next, until nothing more can be done now. It returns what to wait
// for, or the zero action.
func (e *Engine) advance(helpers context.Context) (wake decide.Action, err error) {
	defer clear(e.prepared)
	defer clear(e.saved)
	for refused := 0; ; {
		if err := e.inPlace(); err != nil {
			return decide.Action{}, err
		}
		said, misfit := len(e.pending), e.state.RejectedCount
		later := len(e.untold) == 0 && len(e.settling) == 0 && decide.OnlyDone(e.pending)
		if err := errors.Join(e.write(helpers, later), e.fatal, e.gated()); err != nil {
			return decide.Action{}, err
		}
		if e.state.RejectedCount-misfit < said {
			refused = 0
		} else if refused++; refused > maxRejectedBatches {
			return decide.Action{}, errors.New("the engine keeps proposing events that the state rejects; run pawl verify")
		}
		wake = decide.Action{}
		if len(e.settling) > 0 {
			return wake, nil
		}
		next := decide.Next(e.plan, e.state, time.Now(), e.cfg.ParallelOf(e.plan.Plan).Limit)
		if len(e.untold) > 0 && !decide.OnlyScripts(next) {
			next = nil // nothing else happens before the batch is durable
		}
		for _, a := range next {
			if a.Kind == decide.Sleep {
				wake = a
			} else if err := e.do(helpers, a); err != nil {
				return decide.Action{}, err
			}
		}
		if len(e.pending) == 0 && len(e.untold) == 0 {
			if !e.state.Ended() {
				e.notify(helpers, decide.Action{})
			}
			return wake, nil
		}
	}
}

// interrupted starts nothing new. It terminates running attempts after secondInterrupt, and returns when they have ended. When leave
// ends, it leaves them to their supervisors and returns at once. It journals attempts that end meanwhile.
func (e *Engine) interrupted(ctx, leave context.Context) error {
	e.soft = nil
	names, ended := e.liveNames(), false
	if names != "" && leave.Err() == nil {
		e.cfg.Notice(fmt.Sprintf("interrupted: %s %s in %s; press Ctrl-C again to leave %s running in the background", names, e.byNumber("ends", "end"),
			secondInterrupt, e.byNumber("it", "them")))
	}
	patience := time.NewTimer(secondInterrupt)
	defer patience.Stop()
	for len(e.state.Live()) > 0 {
		select {
		case f := <-e.results:
			f()
		case <-leave.Done():
			return e.left(ended)
		case <-patience.C:
			if ended {
				return e.left(ended)
			}
			ended = true
			patience.Reset(e.patienceToEnd())
			e.emit(pawl.RunStopped{Why: "interrupted (Ctrl-C)"})
			e.stopLive("interrupted (Ctrl-C)")
		}
		if err := e.flush(ctx); disk.IsFull(err) {
			return errDiskFull
		} else if err != nil {
			return err
		}
	}
	why := "interrupted"
	if names != "" {
		why += ": " + names + " ended"
	}
	return &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New(why), Hint: "pawl resume"}
}

// left returns the error of an engine that leaves running attempts to their supervisors. ended reports whether these terminate them.
func (e *Engine) left(ended bool) error {
	what := " still running in the background; pawl stop ends " + e.byNumber("it", "them") + ", and pawl resume continues the run"
	if ended {
		what = " being ended in the background; pawl resume continues the run"
	}
	return &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New("interrupted: " + e.liveNames() + e.byNumber(" is", " are") + what),
		Hint: "pawl output " + string(e.state.Live()[0].Step) + " -f"}
}

// byNumber returns the word for one running attempt, or the one for several.
func (e *Engine) byNumber(one, several string) string {
	if len(e.state.Live()) == 1 {
		return one
	}
	return several
}

// liveNames names the steps and items that run: "draft", "write/rivers and 3 more", "" for none.
func (e *Engine) liveNames() string {
	live := e.state.Live()
	if len(live) == 0 {
		return ""
	}
	first := (&runs.Run{Log: e.log, State: e.state}).ItemNames().In(live[0].Name())
	if len(live) == 1 {
		return first
	}
	return fmt.Sprintf("%s and %d more", first, len(live)-1)
}

// patienceToEnd is how long an interrupted engine waits until the attempts have ended. On a full disk their supervisors cannot record
// that.
func (e *Engine) patienceToEnd() time.Duration {
	if e.diskFull() != "" {
		return secondInterrupt
	}
	return time.Minute
}

// secondInterrupt is how long an interrupted engine lets attempts run, for a second Ctrl-C that leaves them running.
const secondInterrupt = 3 * time.Second

// shutdown journals that the engine stopped, and why, unless another engine has taken the run over.
func (e *Engine) shutdown(ctx context.Context, cause error) error {
	why := "completed"
	if cause != nil {
		why = cause.Error()
	}
	e.pending, e.afterFlush, e.soft = nil, nil, nil
	e.noteServices()
	if !errors.Is(cause, pawl.ErrFenced) { // the journal is another engine's
		e.emit(pawl.EngineStopped{Why: why})
		if err := e.flush(ctx); err != nil {
			return errors.Join(cause, err)
		}
	}
	if err := e.cacheState(); err != nil {
		e.note("state cache: %v", err)
	}
	e.endKernels(ctx)
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
