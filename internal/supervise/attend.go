package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/watchdog"
)

// tick is how often a running child is looked at.
const tick = 250 * time.Millisecond

// linger is how long processes that outlive the leader have to end by themselves, as the reader of a pipe does.
const linger = 100 * time.Millisecond

// task is one command with its limits.
type task struct {
	command  []string
	out, err string // files; the same name: both in one
	limits   watchdog.Limits
	started  func() // called once it runs
}

// ending is how a task ended.
type ending struct {
	code   *int        // nil: a signal ended it, or it never started
	signal string      // that signal's name
	cause  *pawl.Abort // why we ended it, or why it never started; nil: it ended by itself
}

// carryOut runs a task to its end: when it returns, nothing of it is left but what stands in Exit.Left.
func (s *supervisor) carryOut(t task) ending {
	if abort := s.abort(); abort != nil {
		return ending{cause: abort}
	}
	if err := s.start(t); err != nil {
		return ending{cause: &pawl.Abort{Reason: pawl.ReasonError, Why: err.Error()}}
	}
	if t.started != nil {
		t.started()
	}
	w := s.watch(t)
	defer w.close()
	s.beat(w)
	cause := s.attend(w, t.limits)
	if cause != nil {
		s.end(w)
	} else {
		s.clearUp(w)
	}
	w.look()
	s.exit.OutputBytes += w.written()
	s.exit.Cut = append(s.exit.Cut, w.cuts()...)
	return s.ending(cause)
}

func (s *supervisor) start(t task) error {
	out, err := openLog(t.out)
	if err != nil {
		return err
	}
	defer out.Close()
	errors, err := openLog(t.err)
	if err != nil {
		return err
	}
	defer errors.Close()
	return s.tree.start(t.command, s.job.Dir, s.job.Env, out, errors)
}

// openLog opens a file for output that a child is given: a plain file, so that nobody has to copy, appended to, so that
// its writers do not overwrite each other.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, disk.FileMode)
}

// attend waits for the leader to end, and returns nil then; or it returns why it is to be ended.
func (s *supervisor) attend(w *watch, limits watchdog.Limits) *pawl.Abort {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		s.tree.reap()
		if s.tree.status != nil {
			return nil
		}
		select {
		case <-s.tree.children:
			continue
		case <-s.asked:
			if abort := s.abort(); abort != nil {
				return abort
			}
			return &pawl.Abort{Reason: pawl.ReasonAbort, Why: "its supervisor got SIGTERM"}
		case <-ticker.C:
		}
		if abort := s.abort(); abort != nil {
			return abort
		}
		w.look()
		if found := w.assess(limits); found.Action == watchdog.Interrupt {
			return &pawl.Abort{Reason: found.Reason, Why: found.Evidence}
		}
		s.beat(w)
	}
}

// end ends the tree: it is interrupted, terminated, killed, each with its time to heed.
func (s *supervisor) end(w *watch) {
	s.tree.signal(syscall.SIGINT)
	if s.tree.wait(time.Duration(s.job.InterruptWait), w.look) {
		return
	}
	s.tree.signal(syscall.SIGTERM)
	if s.tree.wait(time.Duration(s.job.TerminateWait), w.look) {
		return
	}
	s.exit.Unkilled = append(s.exit.Unkilled, s.tree.kill()...)
}

// clearUp ends what the leader left behind.
func (s *supervisor) clearUp(w *watch) {
	if s.tree.reap() || s.tree.wait(linger, nil) {
		return
	}
	left := s.tree.signal(syscall.SIGTERM)
	if !s.tree.wait(time.Duration(s.job.TerminateWait), w.look) {
		stuck := s.tree.kill()
		s.exit.Unkilled = append(s.exit.Unkilled, stuck...)
		left -= len(stuck)
	}
	s.exit.Killed += max(left, 0)
}

func (s *supervisor) ending(cause *pawl.Abort) ending {
	e := ending{cause: cause}
	switch status := s.tree.status; {
	case status == nil: // it could not be killed
	case status.Signaled():
		e.signal = unix.SignalName(status.Signal())
	default:
		code := status.ExitStatus()
		e.code = &code
	}
	return e
}

// runChecks runs the acceptance checks, by name, until one is aborted.
func (s *supervisor) runChecks() {
	for i, name := range sortedKeys(s.job.Checks) {
		log := filepath.Join(s.dir, fmt.Sprintf("check-%d.log", i+1))
		run, abort := s.check(name, log)
		s.exit.Checks = append(s.exit.Checks, run)
		if abort != nil {
			s.exit.Reason, s.exit.Why = abort.Reason, abort.Why
			return
		}
	}
}

// check runs one check. Its own limit or a failure to start is a failed check; an abort ends the attempt.
func (s *supervisor) check(name, log string) (run pawl.CheckRun, abort *pawl.Abort) {
	limit := time.Duration(s.job.Timeout)
	if limit == 0 {
		limit = defaultCheckTimeout
	}
	began := time.Now()
	ended := s.carryOut(task{
		command: []string{"/bin/sh", "-c", s.job.Checks[name]}, out: log, err: log, limits: watchdog.Limits{Timeout: limit},
	})
	run = pawl.CheckRun{Name: name, Exit: -1, Seconds: time.Since(began).Seconds(), Output: lastOutput(log)}
	if ended.cause == nil {
		if ended.code != nil {
			run.Exit = *ended.code
		}
		return run, nil
	}
	run.Output += "[pawl: " + ended.cause.Why + "]\n"
	if ended.cause.Reason == pawl.ReasonTimeout || ended.cause.Reason == pawl.ReasonError {
		return run, nil
	}
	return run, ended.cause
}
