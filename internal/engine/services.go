package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/decide"
	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// readyTryLimit is how long one try of a ready check may take.
const readyTryLimit = 10 * time.Second

// awaitReady waits in a worker until a service is ready, and journals that. If it is not ready in time, its attempt fails. The
// returned function gives up, ends the check that is running, and returns when it has ended.
func (e *Engine) awaitReady(ctx context.Context, step *pawl.Step, ref pawl.AttemptRef, job pawl.Job) (giveUp func()) {
	waiting, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	began := e.notReadySince(ref)
	e.spawn(func() func() {
		defer close(over)
		defer cancel()
		late, err := e.untilReady(waiting, step, ref, job, began)
		if waiting.Err() != nil {
			if ctx.Err() == nil {
				err = e.endReadyCheck(ctx, ref)
			}
			late = ""
		}
		ended := waiting.Err() != nil
		return func() {
			switch {
			case err != nil && ctx.Err() == nil:
				e.fatal = err
			case ended || e.liveAttempt(ref) == nil:
			case late != "":
				e.endAttempt(ref, pawl.Abort{Reason: pawl.ReasonNotReady, Why: late})
			default:
				e.emit(pawl.ServiceReady{AttemptRef: ref})
			}
		}
	})
	return func() {
		cancel()
		<-over
	}
}

// readyDir is the folder of an attempt's ready check.
func (e *Engine) readyDir(ref pawl.AttemptRef) string {
	return filepath.Join(e.cfg.Project.AttemptDir(ref, e.run), "ready")
}

// lockPath is the path of the engine's lock, relative to the project.
func (e *Engine) lockPath() string {
	path, err := filepath.Rel(e.cfg.Project.Root, e.cfg.Project.EngineLock())
	if err != nil {
		panic("the lock is below the root: " + err.Error())
	}
	return path
}

// endReadyCheck ends the ready check of an attempt and waits until it has ended.
func (e *Engine) endReadyCheck(ctx context.Context, ref pawl.AttemptRef) error {
	dir := e.readyDir(ref)
	if _, err := disk.Lstat(dir); err != nil {
		return nil // no try was made
	}
	if err := supervise.RequestAbort(dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: "the service ended"}); err != nil {
		return err
	}
	return supervise.Attach(dir).Wait(ctx)
}

// notReadySince returns from when the limit of a service counts: the start of its attempt, whichever engine started it; now if it was
// ready before.
func (e *Engine) notReadySince(ref pawl.AttemptRef) time.Time {
	for _, live := range e.state.Live() {
		if live.AttemptRef == ref && !live.WasReady {
			return live.Started
		}
	}
	return time.Now()
}

// untilReady returns when the service is ready, or why it was not ready in time. It tries at least once, whenever it began.
func (e *Engine) untilReady(ctx context.Context, step *pawl.Step, ref pawl.AttemptRef, job pawl.Job, began time.Time) (late string, err error) {
	service := step.Service
	if service.Ready == "" {
		return "", e.untilStarted(ctx, ref)
	}
	job.Command, job.Script, job.Outputs, job.Orphan, job.InterruptWait = nil, "", nil, 0, pawl.Duration(time.Second)
	job.Checks = map[string]string{"ready": service.Ready}
	job.Token += "-ready" // the sweep of a check must not find the service
	report := time.Now().Add(firstReport)
	for first := true; ; first = false {
		job.Timeout = pawl.Duration(readyTryLimit)
		if left := time.Duration(service.Timeout) - time.Since(began); !first {
			job.Timeout = pawl.Duration(min(readyTryLimit, max(left, time.Second)))
		}
		checks, err := e.runChecks(ctx, e.readyDir(ref), job)
		switch {
		case ctx.Err() != nil || err == nil && pawl.Passed(checks):
			return "", nil
		case err != nil && !disk.IsFull(err):
			return "", err
		case err != nil: // wait for space
		case time.Since(began) >= time.Duration(service.Timeout):
			return fmt.Sprintf("not ready within %s; the last %s", service.Timeout, waitOf(service, began, checks).Last()), nil
		case !time.Now().Before(report):
			wait := waitOf(service, began, checks)
			report = time.Now().Add(min(time.Since(began), maxReport))
			e.callEngine(ctx, func() { e.reportWait(ref, wait) })
		}
		select {
		case <-ctx.Done():
			return "", nil
		case <-time.After(min(time.Duration(service.Interval), max(time.Duration(service.Timeout)-time.Since(began), 0))):
		}
	}
}

// A wait for a service is journaled after firstReport, and then at intervals that grow up to maxReport.
const (
	firstReport = time.Second
	maxReport   = 15 * time.Second
)

// reportWait journals that a service is not ready yet.
func (e *Engine) reportWait(ref pawl.AttemptRef, wait pawl.ServiceWait) {
	if live := e.liveAttempt(ref); live != nil && live.Released == "" {
		e.emit(pawl.ServiceWaiting{AttemptRef: ref, ServiceWait: wait})
	}
}

// maxCheckLine is how much of the last line of a check's output an event has.
const maxCheckLine = 300

// waitOf returns how long a service has not been ready, with the last try of its check.
func waitOf(service *pawl.Service, began time.Time, checks []pawl.CheckRun) pawl.ServiceWait {
	wait := pawl.ServiceWait{Since: began.UTC(), Seconds: time.Since(began).Seconds(), Limit: time.Duration(service.Timeout).Seconds()}
	for _, c := range checks {
		lines := strings.Split(strings.TrimSpace(c.Output), "\n")
		wait.Exit, wait.Output = c.Exit, oneline.Clip(lines[len(lines)-1], maxCheckLine)
	}
	return wait
}

// startedPoll is the interval at which untilStarted looks for the start of a service.
const startedPoll = 20 * time.Millisecond

// untilStarted returns when the process of a service has started.
func (e *Engine) untilStarted(ctx context.Context, ref pawl.AttemptRef) error {
	dir := e.cfg.Project.AttemptDir(ref, e.run)
	for began := time.Now(); ctx.Err() == nil; {
		status, err := supervise.Probe(dir)
		if err != nil {
			return err
		}
		if b := status.Begun; b != nil && status.State == supervise.Live && (b.Child.PID != 0 || time.Since(began) > time.Second) {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(startedPoll):
		}
	}
	return nil
}

// release ends a service that no step needs any more, once the intent is durable.
func (e *Engine) release(a decide.Action) {
	live := e.state.Steps[a.Step.ID].Retries.Live
	if e.stopping[live.Token] {
		return
	}
	e.stopping[live.Token] = true
	ref := live.AttemptRef
	if live.Released == "" {
		e.emit(pawl.ServiceReleased{AttemptRef: ref, Why: a.Why})
	}
	e.afterFlush = append(e.afterFlush, func() error {
		e.endAttempt(ref, pawl.Abort{Reason: pawl.ReasonAbort, Why: a.Why})
		return nil
	})
}

// judgeService adds to the evidence whether a step needs the service that has ended.
func (e *Engine) judgeService(w runs.Work, ref pawl.AttemptRef, ev *resume.Evidence) {
	if w.Step.Service == nil {
		return
	}
	if live := e.liveAttempt(ref); live != nil {
		ev.Unneeded = decide.Unneeded(e.plan, e.state, live)
	}
}

// busy reports whether an attempt runs that comes to an end without a person: not a service that is ready and may stay.
func (e *Engine) busy() bool {
	for _, live := range e.state.Live() {
		if e.state.Steps[live.Step].Serving() == nil || e.stopping[live.Token] {
			return true
		}
	}
	return false
}

// noteServices notes the services that run on without an engine.
func (e *Engine) noteServices() {
	for _, step := range e.plan.Services() {
		if st := e.state.Steps[step.ID]; st != nil && st.Retries.Live != nil {
			e.note("service %s keeps running; without pawl resume it ends after %s (pawl stop ends it now)", step.ID, step.Service.Orphan)
		}
	}
}
