// Package repl executes Python for Gyoshu's prompts, with the calls and answers of Gyoshu's tool python_repl (My-Jogyo 0.5). Each research
// session has a kernel of its own, which lives between calls. After its death, the next call gets a kernel with the variables of the
// newest checkpoint, and code that was running is not executed again.
package repl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/lazyregexp"
	"pawl/internal/project"
)

// Limits of a call.
const (
	defaultTimeout = 300 * time.Second
	defaultQueue   = 30 * time.Second
	maxCode        = 10 << 20 // bytes, as in Gyoshu's bridge
	maxOutput      = 1 << 20  // bytes of each stream in an answer
)

// REPL answers calls in a project.
type REPL struct {
	Project *project.Project
	Clean   func(string) string // removes secrets from a text
}

// Do answers a call. What a call may get wrong is in the answer, as in Gyoshu; the error is that of pawl.
func (r REPL) Do(ctx context.Context, c Call) (Result, error) {
	if err := r.Project.Trusted(); err != nil {
		return Result{}, err
	}
	if c.Session == "" {
		return failure(codeAction, "researchSessionID is required", nil), nil
	}
	s := session{REPL: r, call: c, dir: filepath.Join(r.Project.Trust.Folder, "kernels", nameOf(c.Session))}
	switch c.Action {
	case "execute":
		return s.execute(ctx)
	case "interrupt":
		return s.interrupt(ctx)
	case "reset":
		return s.reset(ctx)
	case "get_state":
		return s.state(ctx)
	}
	return failure(codeAction, "Unknown action: "+c.Action, nil), nil
}

// failure is the answer to a call that executed nothing.
func failure(code int, message string, err error) Result {
	e := &Error{Code: code, Message: message}
	if err != nil {
		e.Details = err.Error()
	}
	return Result{Error: e}
}

// failed returns the answer for an error of the session's runner.
func (s session) failed(ctx context.Context, err error) (Result, error) {
	switch {
	case ctx.Err() != nil:
		return Result{}, err
	case pawl.KindOf(err) == pawl.KindHeld:
		return failure(codeQueue, fmt.Sprintf("Session busy, queue timeout exceeded (%dms)", s.queue().Milliseconds()), err), nil
	}
	return failure(codeBridge, "Failed to start Python bridge", err), nil
}

var legalName = lazyregexp.New(`^[A-Za-z0-9_-]{1,48}$`)

// nameOf returns the name of a session's folder.
func nameOf(id string) string {
	if legalName.MatchString(id) {
		return "gyoshu." + id
	}
	sum := sha256.Sum256([]byte(id))
	return "gyoshu." + hex.EncodeToString(sum[:8])
}

// session is a call and the kernel that it is about.
type session struct {
	REPL
	call Call
	dir  string
}

// connect connects to the runner of the session, and starts it if there is none.
func (s session) connect(ctx context.Context) (*runner.Client, error) {
	dir, err := s.workingFolder()
	if err != nil {
		return nil, err
	}
	job := pawl.Job{
		AttemptRef: pawl.AttemptRef{Step: "python_repl", Attempt: 1, Token: token()}, Root: s.Project.Root, Dir: dir,
		Env:    []string{runner.FolderVar + "=" + s.dir},
		Kernel: &pawl.KernelJob{Action: pawl.KernelAction{Driver: pawl.PythonDriver}, Session: filepath.Base(s.dir), Folder: s.dir},
	}
	if err := runner.Start(ctx, job); err != nil {
		return nil, err
	}
	c, err := runner.Dial(ctx, s.dir)
	if errors.Is(err, runner.ErrGone) {
		if line := runner.LastError(s.dir); line != "" {
			err = errors.New(s.Clean(line))
		}
	}
	return c, err
}

// acquire connects to the session, and waits until no other call works with it.
func (s session) acquire(ctx context.Context) (*runner.Client, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.Do(ctx, runner.Request{Op: runner.OpAcquire, By: "python_repl of " + s.call.Session, Wait: pawl.Duration(s.queue())}, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// workingFolder returns the folder in which a new kernel works.
func (s session) workingFolder() (string, error) {
	if s.call.ProjectDir == "" {
		return s.Project.Root, nil
	}
	return s.inProject(s.call.ProjectDir)
}

// inProject returns the absolute path of a file or folder that must lie in the project.
func (s session) inProject(path string) (string, error) {
	rel := path
	if filepath.IsAbs(path) {
		var err error
		if rel, err = filepath.Rel(s.Project.Root, path); err != nil {
			return "", err
		}
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the project", path)
	}
	return filepath.Join(s.Project.Root, rel), nil
}

func (s session) queue() time.Duration { return orDefault(s.call.Queue, defaultQueue) }

func (s session) execute(ctx context.Context) (Result, error) {
	if s.call.Code == "" {
		return failure(codeAction, "code is required for execute action", nil), nil
	}
	if len(s.call.Code) > maxCode {
		return Result{Output: newOutput(), Error: &Error{Type: "ExecutionError", Message: "Request too large"}}, nil
	}
	c, err := s.acquire(ctx)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer c.Close()
	notes, err := s.revive(ctx, c)
	if err != nil {
		return s.failed(ctx, err)
	}
	x := execution{session: s, began: time.Now(), limit: orDefault(s.call.Timeout, defaultTimeout), captured: &captured{clean: s.Clean, recorder: newRecorder()}}
	x.end, err = c.Execute(ctx, runner.Execution{Link: runner.Link{Code: s.call.Code, Name: s.call.Label}, Timeout: pawl.Duration(x.limit)},
		func(id kernel.CellID) { x.captured.id = id }, x.captured.add)
	if err == nil {
		x.status, err = s.status(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		return Result{Output: newOutput(), Error: &Error{Code: codeExecution, Type: "ExecutionError", Message: s.Clean(err.Error())}}, nil
	}
	if err != nil {
		return Result{}, err
	}
	return x.result(notes), nil
}

// revive waits until the kernel is ready. If it is dead, the session gets a new one with the variables of the newest checkpoint.
func (s session) revive(ctx context.Context, c *runner.Client) (notes []string, err error) {
	if _, err = c.Do(ctx, runner.Request{Op: runner.OpReady}, nil); pawl.KindOf(err) != pawl.KindDamaged {
		return nil, err
	}
	done, err := c.Do(ctx, runner.Request{Op: runner.OpRestart}, nil)
	if err != nil {
		return nil, err
	}
	note := "the kernel had died; a new one is empty"
	if done.Prepared.Checkpoint != "" {
		note = "the kernel had died; [REHYDRATED:from=" + done.Prepared.Checkpoint + "]"
	}
	return append(done.Prepared.Notes, note), nil
}

func (s session) status(ctx context.Context, c *runner.Client) (*runner.Status, error) {
	done, err := c.Do(ctx, runner.Request{Op: runner.OpStatus}, nil)
	if err != nil {
		return nil, err
	}
	return done.Status, nil
}

// interrupt ends the running code. It does not wait for the session's turn, as Gyoshu's does: the running code has it.
func (s session) interrupt(ctx context.Context) (Result, error) {
	c, err := runner.Dial(ctx, s.dir)
	if errors.Is(err, runner.ErrGone) || errors.Is(err, runner.ErrNotStarted) {
		return Result{Success: true, Status: "idle"}, nil
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	defer c.Close()
	running, err := s.status(ctx, c)
	if err != nil {
		return s.failed(ctx, err)
	}
	grace, preserve := time.Duration(0), true
	if i := s.call.Interrupt; i != nil {
		grace, preserve = orDefault(i.Grace, 0), i.Preserve == nil || *i.Preserve
	}
	done, err := c.Do(ctx, runner.Request{Op: runner.OpInterrupt, Grace: pawl.Duration(grace)}, nil)
	if err != nil {
		return s.failed(ctx, err)
	}
	stopped := done.Stopped
	r := Result{Success: true, Status: "idle", Termination: time.Duration(stopped.After).Milliseconds()}
	switch {
	case stopped.By == "":
		return r, nil
	case stopped.Alive:
		r.Status, r.TerminatedBy = "interrupt_requested", "graceful"
	default:
		r.Status, r.TerminatedBy, r.Message = "forced_kill", stopped.By, "Bridge was unresponsive, terminated by "+stopped.By
	}
	if preserve && running.Running != nil {
		r.Partial, err = s.partial(running)
	}
	return r, err
}

// partial returns what the code that ran had put out.
func (s session) partial(running *runner.Status) (Partial, error) {
	out := captured{id: running.Running.Cell, clean: s.Clean, recorder: newRecorder()}
	err := runner.Messages(s.dir, runner.Result{From: running.From, Begin: *running.Running}, out.add)
	return Partial{PartialStdout: out.stdout.String(), PartialStderr: out.stderr.String()}, err
}

func (s session) reset(ctx context.Context) (Result, error) {
	c, err := s.acquire(ctx)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer c.Close()
	if _, err := c.Do(ctx, runner.Request{Op: runner.OpRestart, Empty: true}, nil); err != nil {
		return s.failed(ctx, err)
	}
	status, err := s.status(ctx, c)
	if err != nil {
		return s.failed(ctx, err)
	}
	return Result{Success: true, Status: "reset", Memory: memoryOf(status.Info.PID)}, nil
}

func (s session) state(ctx context.Context) (Result, error) {
	c, err := s.acquire(ctx)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer c.Close()
	notes, err := s.revive(ctx, c)
	if err != nil {
		return s.failed(ctx, err)
	}
	done, err := c.Do(ctx, runner.Request{Op: runner.OpVariables}, nil)
	if err != nil {
		return s.failed(ctx, err)
	}
	status, err := s.status(ctx, c)
	if err != nil {
		return s.failed(ctx, err)
	}
	count := len(done.Variables)
	r := Result{Success: true, Memory: memoryOf(status.Info.PID), Variables: []string{}, Total: &count, Note: strings.Join(notes, "; ")}
	for _, v := range done.Variables {
		r.Variables = append(r.Variables, v.Name)
	}
	return r, nil
}

// orDefault returns a time in milliseconds.
func orDefault(ms int64, otherwise time.Duration) time.Duration {
	if ms <= 0 {
		return otherwise
	}
	return time.Duration(ms) * time.Millisecond
}
