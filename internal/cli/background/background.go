// Package background starts the engine of a run as a process of its own.
//
// The process that starts it locks the project first, so that only one of two can start a run, and passes the lock on. It returns when
// the engine has opened the run, or with the error of the engine. At every moment the lock is held or the project is free: if one of
// the two processes dies, the other one keeps the lock, and if both die, the system releases it.
package background

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
)

// Started is what `pawl run --background --json` prints.
type Started struct {
	Run pawl.RunID `json:"run"`
	PID int        `json:"pid"` // of the engine
	Log string     `json:"log"` // the file with what the engine prints
}

// Flag is the hidden flag of `pawl resume` that says that the lock and the pipe for the answer were passed on.
const Flag = "handover"

// RequestFlag is the hidden flag of `pawl run` that names the request to start the run, which is done once.
const RequestFlag = "request"

// File descriptors of the engine process.
const (
	lockFD   = 3
	answerFD = 4
)

// answer is what the engine process writes, once, in one line.
type answer struct {
	Error *failure.Error `json:"error,omitempty"` // nil: the engine has opened the run
}

// Start locks the project and starts "pawl resume" with arguments for the run that choose returns: it may create one. It returns once
// the engine has opened the run. The process gets the secrets of the run in its environment.
func Start(ctx context.Context, p *project.Project, choose func() (pawl.RunID, error), secrets stepenv.Secrets, args ...string) (Started, error) {
	lock, err := p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now().UTC()})
	if err != nil {
		return Started{}, err
	}
	started, err := startLocked(ctx, p, lock, choose, secrets, args)
	if err != nil {
		return started, errors.Join(err, lock.Unlock())
	}
	return started, lock.Close() // the engine has it
}

func startLocked(ctx context.Context, p *project.Project, lock *project.Lock, choose func() (pawl.RunID, error), secrets stepenv.Secrets, args []string) (Started, error) {
	if err := runs.RequireNoRestore(ctx, p); err != nil {
		return Started{}, err
	}
	run, err := choose()
	if err != nil {
		return Started{}, err
	}
	log, err := disk.OpenAppend(filepath.Join(p.RunDir(run), "engine.log"))
	if err != nil {
		return Started{}, err
	}
	defer log.Close()
	answers, report, err := os.Pipe()
	if err != nil {
		return Started{}, err
	}
	defer answers.Close()
	c, err := command(p, append(append([]string{"--" + Flag}, args...), "--", string(run)))
	if err != nil {
		return Started{}, errors.Join(err, report.Close())
	}
	c.Stdout, c.Stderr, c.ExtraFiles = log, log, []*os.File{lock.File(), report}
	c.Env = stepenv.Overlay(os.Environ(), secrets.Passed())
	if err := errors.Join(c.Start(), report.Close()); err != nil {
		return Started{}, err
	}
	started := Started{Run: run, PID: c.Process.Pid, Log: log.Name()}
	return started, started.wait(answers, c)
}

func command(p *project.Project, args []string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(exe, append([]string{"-C", p.Root, "resume"}, args...)...)
	c.Args[0] = "pawl"
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c, nil
}

// wait waits for the answer of the engine, or for its end.
func (s Started) wait(answers *os.File, engine *exec.Cmd) error {
	line, err := bufio.NewReader(answers).ReadBytes('\n')
	if err != nil {
		return &pawl.Error{
			Kind: pawl.KindInternal, Hint: "pawl resume " + string(s.Run),
			Err: fmt.Errorf("the background engine ended before it started to work on run %s: %w; its output is in %s", s.Run, ended(engine.Wait()), s.Log),
		}
	}
	err = parseAnswer(line)
	if err != nil {
		_ = engine.Wait() // so that the lock is free; it has given its error
	}
	return err
}

// parseAnswer returns the error of the engine, nil if it has opened the run.
func parseAnswer(line []byte) error {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("the answer of the engine in the background: %w", err)
	}
	if a.Error == nil {
		return nil
	}
	return a.Error.Err()
}

func ended(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Handover is what an engine process got from the one that started it. A nil Handover is that of a process that got nothing.
type Handover struct{ lock, answer *os.File }

// Inherited returns what this process got. It is called before anything else, so that no other process inherits it.
func Inherited() *Handover {
	unix.CloseOnExec(lockFD)
	unix.CloseOnExec(answerFD)
	return &Handover{lock: os.NewFile(lockFD, "engine.lock"), answer: os.NewFile(answerFD, "answer")}
}

// Accept takes over the lock of the project.
func (h *Handover) Accept(p *project.Project) error {
	if h == nil {
		return nil
	}
	return p.AcceptLock(h.lock)
}

// Answer tells the process that started this one that the engine has opened the run, or why not. Only the first call does something.
func (h *Handover) Answer(err error) {
	if h == nil || h.answer == nil {
		return
	}
	var a answer
	if err != nil {
		e := failure.Of(err)
		a.Error = &e
	}
	if data, err := json.Marshal(a); err == nil {
		_, _ = h.answer.Write(append(data, '\n')) // it may be gone
	}
	_ = h.answer.Close()
	h.answer = nil
}
