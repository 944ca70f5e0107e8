package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
	"pawl/internal/watchdog"
)

// tick is the interval between checks of a running child.
const tick = 250 * time.Millisecond

// short is how long a command may run of whose process a slot makes no record.
const short = 20 * time.Millisecond

// drainWait is how long processes that outlive the leader have to end by themselves, for example the reader of a pipe.
const drainWait = 100 * time.Millisecond

// task is one command with its limits.
type task struct {
	command  []string
	script   string // for the job's shell, instead of command
	file     string // name of a file for the script
	out, err string // output files; the same path twice: both streams in one file
	limits   watchdog.Limits
	path     string // PATH, if it differs from the job's
	started  func() // called when the command runs, by a slot only if it is not short
}

// ending is how a task ended.
type ending struct {
	code   *int        // nil: ended by a signal, or never started
	signal string      // name of that signal
	cause  *pawl.Abort // why the supervisor ended it, or why it did not start; nil: ended by itself
}

// runTask runs a task to its end. When it returns, no process of the task is left except those in Exit.Unkilled.
func (s *supervisor) runTask(t task) ending {
	if abort := s.abort(); abort != nil {
		return ending{cause: abort}
	}
	if err := s.start(t); err != nil {
		return ending{cause: &pawl.Abort{Reason: pawl.ReasonError, Why: err.Error()}}
	}
	if s.link == nil && t.started != nil {
		t.started()
	}
	w := s.monitor(t)
	defer w.close()
	cause := s.waitLeader(w, t)
	if cause != nil {
		s.terminate(w)
	} else {
		s.killLeftovers(w)
	}
	w.poll()
	s.exit.OutputBytes += w.written()
	s.exit.Cut = append(s.exit.Cut, w.cuts()...)
	return s.ending(cause)
}

// runAs returns the user who executes a task. The program that runs an agent or a kernel is pawl itself, and starts those as that user.
func (s *supervisor) runAs(t task) *pawl.Account {
	if (s.job.Agent != nil || s.job.Kernel != nil || s.job.Away != nil) && t.script == "" {
		return nil
	}
	return s.job.RunAs
}

func (s *supervisor) start(t task) error {
	as := s.runAs(t)
	if t.script != "" {
		var err error
		if t.command, err = ScriptCommand(&s.job, t.script, filepath.Join(s.dir, t.file)); err != nil {
			return err
		}
	}
	out, err := openLog(t.out)
	if err != nil {
		return err
	}
	defer out.Close()
	complaints, err := openLog(t.err)
	if err != nil {
		return err
	}
	defer complaints.Close()
	if err := s.shareFiles(t, as); err != nil {
		return err
	}
	env := account.Environ(as, s.job.Env, s.planned)
	if s.job.Away != nil && t.script != "" {
		env = s.withoutCredentials(env)
	}
	if t.path != "" {
		env = overlay(env, []string{"PATH=" + t.path})
	}
	s.tree.as = as
	err = s.tree.start(t.command, s.job.Dir, env, out, complaints)
	shell := s.job.Shell.Or(s.job.RunShell)
	switch missing, ok := errors.AsType[*exec.Error](err); {
	case t.script == "" || s.job.Words || err == nil:
		return err
	case ok:
		return fmt.Errorf("shell %q: %s is not installed; install it, or change \"shell\" in the plan", shell, missing.Name)
	case shell.ReadsFile():
		return fmt.Errorf("shell %q: %w", shell, err)
	}
	return err
}

// shareFiles lets the user who executes a task open its output files again, by a name such as /dev/stderr, and read its script.
func (s *supervisor) shareFiles(t task, as *pawl.Account) error {
	err := errors.Join(share(t.out, as), share(t.err, as))
	if t.script != "" {
		err = errors.Join(err, ShareScript(&s.job, filepath.Join(s.dir, t.file)))
	}
	return err
}

// openLog opens an output file for a child. The child writes to a regular file, so nothing has to copy its output, and
// in append mode, so that several writers do not overwrite each other.
func openLog(path string) (*os.File, error) {
	return disk.OpenAppend(path)
}

// waitLeader waits until the leader ends and returns nil, or returns why the leader must be ended.
func (s *supervisor) waitLeader(w *monitor, t task) *pawl.Abort {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	early := s.early()
	signaled := s.tree.await(short)
	if s.tree.status != nil {
		return nil
	}
	if s.link != nil && t.started != nil {
		t.started()
	}
	if !signaled {
		s.tree.await(tick - short)
	}
	if s.tree.status != nil {
		return nil
	}
	if early {
		select {
		case <-s.sigterm:
		default:
		}
	}
	if abort := s.abort(); abort != nil {
		return abort
	}
	s.tree.hear()
	for {
		s.tree.reap()
		if s.tree.status != nil {
			return nil
		}
		select {
		case <-s.tree.children:
			continue
		case <-s.sigterm:
			if abort := s.abort(); abort != nil {
				return abort
			}
			if s.early() {
				continue
			}
			return &pawl.Abort{Reason: pawl.ReasonAbort, Why: "the supervisor received SIGTERM"}
		case <-ticker.C:
		}
		if abort := s.abort(); abort != nil {
			return abort
		}
		w.poll()
		if abort := s.unattended(); abort != nil {
			return abort
		}
		if found := w.assess(t.limits); found.Action == watchdog.Interrupt {
			return &pawl.Abort{Reason: found.Reason, Why: found.Evidence}
		}
		s.beat(w)
	}
}

// early reports whether a SIGTERM may be meant for the attempt before. Then only abort.json counts.
func (s *supervisor) early() bool { return s.link != nil && time.Since(s.started) < tick }

// terminate ends the tree with SIGINT, SIGTERM and SIGKILL, and waits after each.
func (s *supervisor) terminate(w *monitor) {
	s.tree.signal(syscall.SIGINT)
	if s.tree.wait(time.Duration(s.job.InterruptWait), w.poll) {
		return
	}
	s.tree.signal(syscall.SIGTERM)
	if s.tree.wait(time.Duration(s.job.TerminateWait), w.poll) {
		return
	}
	s.exit.Unkilled = append(s.exit.Unkilled, s.tree.kill()...)
}

// killLeftovers ends the processes that the leader left running.
func (s *supervisor) killLeftovers(w *monitor) {
	if s.tree.reap() || s.tree.wait(drainWait, nil) {
		return
	}
	s.exit.Leftovers = append(s.exit.Leftovers, namesOf(s.tree.members())...)
	left := s.tree.signal(syscall.SIGTERM)
	if !s.tree.wait(time.Duration(s.job.TerminateWait), w.poll) {
		stuck := s.tree.kill()
		s.exit.Unkilled = append(s.exit.Unkilled, stuck...)
		left -= len(stuck)
	}
	s.exit.Killed += max(left, 0)
}

// namesOf names the first of some processes.
func namesOf(members []process.Stat) (names []string) {
	for _, m := range members[:min(len(members), pawl.MaxLeftovers)] {
		names = append(names, fmt.Sprintf("%s (%d)", process.Name(m.PID), m.PID))
	}
	return names
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

// runChecks runs the acceptance checks, sorted by name, until one is aborted.
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

// check runs one check. If the check times out or cannot start, it has failed; any other abort ends the attempt.
func (s *supervisor) check(name, log string) (run pawl.CheckRun, abort *pawl.Abort) {
	limit := time.Duration(s.job.Timeout)
	if limit == 0 {
		limit = defaultCheckTimeout
	}
	began := time.Now()
	ended := s.runTask(task{
		script: s.job.Checks[name], file: strings.TrimSuffix(filepath.Base(log), ".log") + "-" + pawl.ScriptFile, out: log, err: log, limits: watchdog.Limits{Timeout: limit}, path: s.job.CheckPath,
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
