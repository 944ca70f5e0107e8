// Package kernel runs cells of code in a kernel: a process that keeps variables between cells, such as a Jupyter kernel.
//
// A [Driver] starts kernels of one kind. Package bridge runs Python with an embedded program on pipes, package jupyter any
// Jupyter kernel on this machine, package remote kernels of a Jupyter server. Package kerneltest has the tests that all
// drivers pass.
//
// A driver never sends code twice: after a kernel or a connection was lost, whoever asked for the cell decides.
package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"pawl"
)

// A Driver starts kernels.
type Driver interface {
	// Start starts a kernel and returns it once it is ready for cells. It fails if the kernel is not ready within
	// Spec.StartLimit. emit gets every message of the kernel, in order and one at a time, until Done is closed. A slow
	// emit delays later messages and loses none.
	Start(ctx context.Context, spec Spec, emit func(Message)) (Kernel, error)
}

// A Kernel is a running kernel.
type Kernel interface {
	Info() Info

	// Execute runs a cell and returns how it ended, after emit got the last message of the cell. Output that threads of the
	// cell print later still has its id. Only one cell runs at a time. If ctx ends first, the cell keeps running.
	Execute(ctx context.Context, cell Cell) (Ending, error)

	Controls
	Life
}

// Controls act on a kernel, also while a cell runs.
type Controls interface {
	// Interrupt interrupts the running cell, as the kernel's interrupt mode says. It does not wait until the cell ends. If no cell
	// runs, it does nothing.
	Interrupt(ctx context.Context) error

	// Signal sends a signal to the kernel's process group. It returns errors.ErrUnsupported if the kernel is not on this machine.
	Signal(sig Signal) error

	// Stacks returns the stacks of the kernel's threads, also while a cell runs; "" if the kernel cannot say. While the main thread executes
	// native code, they may be that thread's alone.
	Stacks(ctx context.Context) (string, error)
}

// Life is the end of a kernel.
type Life interface {
	// Done is closed when the kernel is dead.
	Done() <-chan struct{}

	// Death returns how the kernel died. It is the zero value until Done is closed.
	Death() Death

	// Close shuts the kernel down: it asks, waits, and then kills. It returns when no process of the kernel is left.
	Close(ctx context.Context) error
}

var (
	// ErrDead means that the kernel is dead, or was when a cell was about to be sent: nothing was sent.
	ErrDead = errors.New("the kernel is dead")
	// ErrBusy means that a cell is running: nothing was sent.
	ErrBusy = errors.New("a cell is running")
)

// Spec is the kernel to start.
type Spec struct {
	Name       string        // of the kernelspec; "" is the default of the driver
	Python     Interpreter   // interpreter of the bridge, of the kernel python3, and of the kernels of which the kernelspec names no path
	Dir        string        // working folder of the kernel; absolute
	Project    string        // kernelspecs in this folder are used only with ProjectKernels, because they name programs. Defaults to Dir.
	Environ    []string      // NAME=value, the whole environment of the kernel
	Runtime    string        // folder for sockets and connection files: 0700, and short, because a socket's path has at most 107 bytes
	Log        string        // file to which the kernel's own standard output and error are appended
	Session    string        // identity of the connection: a second connection with it gets the messages of the first one's cells
	StartLimit time.Duration // how long the kernel has to become ready. Defaults to DefaultStartLimit.
	Silence    time.Duration // how long half of a cell's end may be missing. Defaults to DefaultSilence.
	RunAs      *pawl.Account // the user who executes the kernel. Defaults to that of this process.
	Server     Server        // with driver remote

	ProjectKernels bool              // the user trusts the kernelspecs in the project
	Process        func(pid int)     // called with the kernel's process once it runs. Defaults to no call.
	Extra          map[string]string // for tests: settings of one driver
}

// Defaults of a Spec.
const (
	DefaultStartLimit = 60 * time.Second
	DefaultSilence    = 10 * time.Second
)

// Interpreter is a Python interpreter, and why it was chosen.
type Interpreter struct {
	Path string // absolute
	Why  string // such as ".venv of the project"
}

// Server is a Jupyter server.
type Server struct {
	URL   string
	Token string
}

// DriverName is the name of a driver in plans.
type DriverName string

// The drivers.
const (
	Bridge  DriverName = "python"
	Jupyter DriverName = "jupyter"
	Remote  DriverName = "remote"
)

// Info describes a running kernel.
type Info struct {
	Driver         DriverName      `json:"driver"`
	Name           string          `json:"name"`                      // of the kernelspec
	DisplayName    string          `json:"display_name,omitempty"`    // of the kernelspec
	Language       string          `json:"language"`                  // such as python, R, javascript; lower case
	Version        string          `json:"version"`                   // of the language
	Implementation string          `json:"implementation,omitempty"`  // such as ipython 8.5.0
	Interpreter    Interpreter     `json:"interpreter,omitzero"`      // of a Python kernel on this machine
	LanguageInfo   json.RawMessage `json:"language_info,omitempty"`   // JSON of the kernel_info_reply, for a notebook's metadata
	PID            int             `json:"pid,omitempty"`             // 0: not on this machine
	KernelID       string          `json:"kernel_id,omitempty"`       // on a server
	ExtraLost      string          `json:"may_lose_output,omitempty"` // why messages may be lost, such as a server's rate limit
}

// CellID identifies a cell within a session. A repeated execution has a new id.
type CellID string

// Cell is code to execute.
type Cell struct {
	ID     CellID
	Code   string
	Silent bool // pawl's own code: it is not counted and not in the history
}

// Status is how a cell ended.
type Status string

// How a cell ends.
const (
	OK          Status = "ok"
	Failed      Status = "error"       // it raised an error
	Interrupted Status = "interrupted" // it raised the error of an interrupt
	Aborted     Status = "aborted"     // the kernel did not execute it
	Lost        Status = "lost"        // the kernel died, or the connection to it was lost
)

// Ending is how a cell ended.
type Ending struct {
	Status Status `json:"status"`
	Count  int    `json:"execution_count,omitempty"`
	Error  *Error `json:"error,omitempty"`   // of Failed and Interrupted
	Why    string `json:"why,omitempty"`     // of Aborted and Lost, and what was missing of the cell's end
	Death  *Death `json:"death,omitempty"`   // of Lost
	Peak   int64  `json:"peak_rss,omitzero"` // maximum resident memory of the kernel so far, in bytes; 0: unknown
}

// Error is an error that a cell raised.
type Error struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// Title returns the name and the value of the error.
func (e *Error) Title() string { return strings.TrimRight(e.Name+": "+e.Value, "\r\n") } // R's end with a newline

// String returns the traceback, or else the title.
func (e *Error) String() string {
	if text := strings.TrimRight(strings.Join(e.Traceback, "\n"), "\r\n"); text != "" {
		return text
	}
	return e.Title()
}

// Death is how a kernel died.
type Death struct {
	Exit   *int   `json:"exit,omitempty"`   // exit code
	Signal string `json:"signal,omitempty"` // name of the signal, such as SIGKILL
	Why    string `json:"why"`              // one clause, such as "killed by SIGKILL; the kernel ran out of memory"
	Peak   int64  `json:"peak_rss,omitempty"`
}

// String says how the kernel died, and how much memory it needed if a signal killed it.
func (d Death) String() string {
	if d.Signal == "" || d.Peak == 0 {
		return d.Why
	}
	return fmt.Sprintf("%s (peak memory %d MiB)", d.Why, d.Peak>>20)
}

// Signal is a signal of the interrupt ladder.
type Signal int

// The signals of the ladder.
const (
	SIGINT Signal = iota
	SIGTERM
	SIGKILL
)
