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
	"pawl/internal/markers"
	"pawl/internal/project"
)

// Call is a call of python_repl. Times are in milliseconds.
type Call struct {
	Action    string     `json:"action" jsonschema:"execute, interrupt, reset or get_state"`
	Session   string     `json:"researchSessionID" jsonschema:"the session, which has a kernel of its own"`
	Code      string     `json:"code,omitempty" jsonschema:"the code, for execute"`
	Label     string     `json:"executionLabel,omitempty" jsonschema:"what the code does, for people"`
	Timeout   int64      `json:"executionTimeout,omitempty" jsonschema:"limit of the code in ms; default 300000"`
	Queue     int64      `json:"queueTimeout,omitempty" jsonschema:"how long to wait for other code of the session in ms; default 30000"`
	Notebook  string     `json:"notebookPath,omitempty" jsonschema:"notebook that gets the cell, with autoCapture"`
	Title     string     `json:"reportTitle,omitempty" jsonschema:"research whose notebook gets the cell, with autoCapture"`
	Capture   bool       `json:"autoCapture,omitempty" jsonschema:"append the code and its output to the notebook"`
	Run       string     `json:"runId,omitempty" jsonschema:"id of Gyoshu's run"`
	Interrupt *Interrupt `json:"interruptWithTimeout,omitempty"`
}

// Interrupt says how to interrupt.
type Interrupt struct {
	Grace    int64 `json:"gracePeriodMs,omitempty" jsonschema:"time from SIGINT to SIGTERM in ms; default 5000"`
	Preserve bool  `json:"preserveOutput,omitempty" jsonschema:"output is always kept"`
}

// Result is the answer.
type Result struct {
	Success  bool      `json:"success"`
	Stdout   string    `json:"stdout"`
	Stderr   string    `json:"stderr"`
	Markers  []Marker  `json:"markers"`
	Timing   Timing    `json:"timing"`
	Memory   Memory    `json:"memory"`
	Error    *Error    `json:"error,omitempty"`
	Count    int       `json:"executionCount,omitempty"`
	Python   *Python   `json:"pythonEnv,omitempty"`
	Notebook *Captured `json:"notebookCapture,omitempty"`
	Cut      bool      `json:"truncated,omitempty"` // stdout or stderr is not complete

	Variables []string `json:"variables,omitempty"`
	Total     int      `json:"variable_count,omitempty"`
	Status    string   `json:"status,omitempty"`

	TerminatedBy string `json:"terminatedBy,omitempty"`
	Termination  int64  `json:"terminationTimeMs,omitempty"`
	Note         string `json:"note,omitempty"`
}

// Marker is a marker in stdout.
type Marker struct {
	Type     string  `json:"type"`
	Subtype  *string `json:"subtype"`
	Content  string  `json:"content"`
	Line     int     `json:"line_number"`
	Category string  `json:"category"`
}

// Timing is when the code ran.
type Timing struct {
	Started  string `json:"started_at"`
	Duration int64  `json:"duration_ms"`
}

// Memory is the memory of the kernel in MiB.
type Memory struct {
	RSS float64 `json:"rss_mb"`
	VMS float64 `json:"vms_mb"`
}

// Error is an error of the code.
type Error struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
}

// Python is the interpreter.
type Python struct {
	Type string `json:"type"`
	Path string `json:"pythonPath"`
}

// Captured says what became of the cell in the notebook.
type Captured struct {
	Captured bool   `json:"captured"`
	Cell     string `json:"cellId,omitempty"`
	Error    string `json:"error,omitempty"`
}

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

// Do answers a call.
func (r REPL) Do(ctx context.Context, c Call) (Result, error) {
	if err := r.Project.Trusted(); err != nil {
		return Result{}, err
	}
	if c.Session == "" {
		return Result{}, usage("researchSessionID is required")
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
	return Result{}, usage("unknown action %q; use execute, interrupt, reset or get_state", c.Action)
}

func usage(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...)}
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
func (s session) connect(ctx context.Context, start bool) (*runner.Client, error) {
	if start {
		job := pawl.Job{
			AttemptRef: pawl.AttemptRef{Step: "python_repl", Attempt: 1, Token: token()}, Root: s.Project.Root, Dir: s.Project.Root,
			Env:    []string{runner.FolderVar + "=" + s.dir},
			Kernel: &pawl.KernelJob{Action: pawl.KernelAction{Driver: pawl.PythonDriver}, Session: filepath.Base(s.dir), Folder: s.dir},
		}
		if err := runner.Start(ctx, job); err != nil {
			return nil, err
		}
	}
	c, err := runner.Dial(ctx, s.dir)
	if errors.Is(err, runner.ErrGone) || errors.Is(err, runner.ErrNotStarted) {
		text := "no kernel of this session is running"
		if line := runner.LastError(s.dir); line != "" {
			text += ": " + line
		}
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: errors.New(text)}
	}
	return c, err
}

func (s session) execute(ctx context.Context) (Result, error) {
	if s.call.Code == "" {
		return Result{}, usage("code is required for execute action")
	}
	if len(s.call.Code) > maxCode {
		return Result{}, usage("the code has %d bytes, more than %d", len(s.call.Code), maxCode)
	}
	c, err := s.connect(ctx, true)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	queue := orDefault(s.call.Queue, defaultQueue)
	if _, err := c.Do(ctx, runner.Request{Op: runner.OpAcquire, By: "python_repl of " + s.call.Session, Wait: pawl.Duration(queue)}, nil); err != nil {
		return Result{}, err
	}
	notes, err := s.revive(ctx, c)
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	out := &captured{clean: s.Clean, recorder: newRecorder()}
	x := runner.Execution{Link: runner.Link{Code: s.call.Code, Name: s.call.Label}, Timeout: pawl.Duration(orDefault(s.call.Timeout, defaultTimeout))}
	end, err := c.Execute(ctx, x, func(id kernel.CellID) { out.id = id }, out.add)
	if err != nil {
		return Result{}, err
	}
	status, err := s.status(ctx, c)
	if err != nil {
		return Result{}, err
	}
	result := s.result(out, end, began, status)
	result.Note = strings.Join(notes, "; ")
	if s.call.Capture {
		result.Notebook = s.capture(out, end)
	}
	return result, nil
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

// result returns the answer for code that has ended.
func (s session) result(out *captured, end *runner.End, began time.Time, status *runner.Status) Result {
	r := Result{
		Success: end.Status == kernel.OK, Stdout: out.stdout.String(), Stderr: out.stderr.String(), Cut: out.cut, Count: end.Count,
		Timing: Timing{Started: began.UTC().Format("2006-01-02T15:04:05.000Z"), Duration: time.Since(began).Milliseconds()},
		Memory: memoryOf(status.Info.PID), Python: &Python{Type: "python", Path: status.Info.Interpreter.Path}, Markers: []Marker{},
	}
	for _, m := range markers.ParseAll(r.Stdout) {
		r.Markers = append(r.Markers, Marker{Type: m.Type, Subtype: m.Subtype, Content: m.Content, Line: m.Line, Category: markers.Category(m.Type)})
	}
	switch {
	case end.Error != nil:
		r.Error = &Error{Type: end.Error.Name, Message: s.Clean(end.Error.Value), Traceback: s.Clean(strings.Join(end.Error.Traceback, "\n"))}
	case end.Status != kernel.OK:
		r.Error = &Error{Type: "KernelDied", Message: s.Clean(end.Reason())}
	}
	if end.Status == kernel.Interrupted {
		r.TerminatedBy = "SIGINT"
	}
	if end.Death != nil {
		r.TerminatedBy = end.Death.Signal
	}
	return r
}

func (s session) interrupt(ctx context.Context) (Result, error) {
	c, err := s.connect(ctx, false)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	grace := time.Duration(0)
	if s.call.Interrupt != nil {
		grace = orDefault(s.call.Interrupt.Grace, 0)
	}
	done, err := c.Do(ctx, runner.Request{Op: runner.OpInterrupt, Grace: pawl.Duration(grace)}, nil)
	if err != nil {
		return Result{}, err
	}
	r := Result{Success: true, Markers: []Marker{}, Status: "interrupted", TerminatedBy: done.Stopped.By, Termination: time.Duration(done.Stopped.After).Milliseconds()}
	if done.Stopped.By == "" {
		r.Status = "idle"
	}
	return r, nil
}

func (s session) reset(ctx context.Context) (Result, error) {
	c, err := s.connect(ctx, true)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	if _, err := c.Do(ctx, runner.Request{Op: runner.OpRestart, Empty: true}, nil); err != nil {
		return Result{}, err
	}
	status, err := s.status(ctx, c)
	if err != nil {
		return Result{}, err
	}
	return Result{Success: true, Markers: []Marker{}, Status: "reset", Memory: memoryOf(status.Info.PID)}, nil
}

func (s session) state(ctx context.Context) (Result, error) {
	c, err := s.connect(ctx, true)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	notes, err := s.revive(ctx, c)
	if err != nil {
		return Result{}, err
	}
	done, err := c.Do(ctx, runner.Request{Op: runner.OpVariables}, nil)
	if err != nil {
		return Result{}, err
	}
	status, err := s.status(ctx, c)
	if err != nil {
		return Result{}, err
	}
	r := Result{Success: true, Markers: []Marker{}, Memory: memoryOf(status.Info.PID), Total: len(done.Variables), Note: strings.Join(notes, "; ")}
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
