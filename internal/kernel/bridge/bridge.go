// Package bridge is the driver "python": it runs Python cells in an embedded program, bridge.py, which needs only Python 3.8 and its
// standard library.
//
// The program reports on a pipe. Two more pipes are its standard output and error, for native code and child processes. All three are
// read by one goroutine, which puts what they hold in the order in which it was written. What was written before the kernel was
// killed is in the pipes and is reported, too.
package bridge

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/kernel"
	"pawl/internal/oneline"
)

//go:embed bridge.py
var program string

// How long Close waits for the kernel to end by itself: its clean-up handlers run meanwhile.
const closeGrace = 3 * time.Second

// Driver starts Python kernels.
type Driver struct{}

var _ kernel.Driver = Driver{}

// bridged is a running kernel.
type bridged struct {
	child *child
	pipes *pipes
	info  kernel.Info   // complete once ready is closed
	ready chan struct{} // closed when the kernel is ready for cells
	done  chan struct{} // closed when the kernel is dead and all its messages were emitted
	death kernel.Death  // set before done is closed
	early string        // what it printed before it was ready; written by the pump until done or ready is closed

	mu      sync.Mutex // guards the rest
	running *run
	closing bool
	peak    int64

	stacks sync.Mutex // held while stacks are read
}

// run is one execution of a cell.
type run struct {
	cell  kernel.Cell
	begun chan struct{} // closed when an interrupt reaches the cell
	ended chan kernel.Ending
	err   *kernel.Error // of the cell; used by the pump only
}

// Start implements kernel.Driver.
func (Driver) Start(ctx context.Context, spec kernel.Spec, emit func(kernel.Message)) (kernel.Kernel, error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	pipes, err := openPipes()
	if err != nil {
		return nil, fmt.Errorf("start the kernel: %w", err)
	}
	k := &bridged{
		pipes: pipes, ready: make(chan struct{}), done: make(chan struct{}),
		info: kernel.Info{Driver: kernel.Bridge, Name: "python3", DisplayName: "Python 3", Language: "python", Interpreter: spec.Python},
	}
	if k.child, err = startChild(spec, pipes); err != nil {
		pipes.close()
		return nil, fmt.Errorf("start %s (%s): %w", spec.Python.Path, spec.Python.Why, err)
	}
	k.info.PID = k.child.pid
	pump := &pump{kernel: k, emit: emit}
	go pump.run()
	if spec.Process != nil {
		spec.Process(k.child.pid)
	}
	pipes.sendProgram()
	if err := k.awaitReady(ctx, spec); err != nil {
		_ = k.child.signal(unix.SIGKILL)
		return nil, errors.Join(err, k.Close(ctx))
	}
	return k, nil
}

func check(spec kernel.Spec) error {
	if !filepath.IsAbs(spec.Python.Path) {
		return fmt.Errorf("start the kernel: the interpreter %q is no absolute path", spec.Python.Path)
	}
	switch stat, err := os.Stat(spec.Dir); {
	case err != nil:
		return fmt.Errorf("start the kernel: working folder: %w", err)
	case !stat.IsDir():
		return fmt.Errorf("start the kernel: working folder: %s is not a folder", spec.Dir)
	}
	return nil
}

func (k *bridged) awaitReady(ctx context.Context, spec kernel.Spec) error {
	limit := spec.StartLimit
	if limit <= 0 {
		limit = kernel.DefaultStartLimit
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	name := fmt.Sprintf("%s (%s)", spec.Python.Path, spec.Python.Why)
	select {
	case <-k.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("%s was not ready for cells within %s", name, limit)
	case <-k.done:
		why := k.death.Why
		if k.early != "" {
			why += ": " + oneline.Clip(oneline.Printable(k.early), 1000)
		}
		return fmt.Errorf("%s ended before it was ready for cells: %s", name, why)
	}
}

// languageInfo is what a notebook's metadata says about the language.
func languageInfo(version string) []byte {
	data, err := json.Marshal(map[string]any{
		"name": "python", "version": version, "mimetype": "text/x-python", "file_extension": ".py", "pygments_lexer": "python3",
		"codemirror_mode": map[string]any{"name": "python", "version": 3}, "nbconvert_exporter": "python",
	})
	if err != nil {
		return nil
	}
	return data
}

// Info implements kernel.Kernel.
func (k *bridged) Info() kernel.Info { return k.info }

// Done implements kernel.Kernel.
func (k *bridged) Done() <-chan struct{} { return k.done }

// Death implements kernel.Kernel.
func (k *bridged) Death() kernel.Death {
	select {
	case <-k.done:
		return k.death
	default:
		return kernel.Death{}
	}
}

// request is a line that bridge.py reads.
type request struct {
	Cell   kernel.CellID `json:"cell"`
	Code   string        `json:"code"`
	Silent bool          `json:"silent,omitempty"`
}

// Execute implements kernel.Kernel.
func (k *bridged) Execute(ctx context.Context, cell kernel.Cell) (kernel.Ending, error) {
	line, err := json.Marshal(request{Cell: cell.ID, Code: strings.ToValidUTF8(cell.Code, "�"), Silent: cell.Silent})
	if err != nil {
		return kernel.Ending{}, err
	}
	r := &run{cell: cell, begun: make(chan struct{}), ended: make(chan kernel.Ending, 1)}
	if err := k.begin(r); err != nil {
		return kernel.Ending{}, fmt.Errorf("execute cell %s: %w", cell.ID, err)
	}
	// A kernel that does not read must not block the caller. If the write fails, the kernel is about to die, and the pump says so.
	go func() { _, _ = k.pipes.ours[requests].Write(append(line, '\n')) }()
	select {
	case ending := <-r.ended:
		return ending, nil
	case <-ctx.Done():
		return kernel.Ending{}, ctx.Err()
	}
}

// begin makes r the running cell.
func (k *bridged) begin(r *run) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.running != nil:
		return fmt.Errorf("%w: %s", kernel.ErrBusy, k.running.cell.ID)
	case k.child.hasEnded() || k.closing:
		return kernel.ErrDead
	}
	k.running = r
	return nil
}

// end ends the running cell. It is called after the last message of the cell was emitted.
func (k *bridged) end(ending kernel.Ending) {
	k.mu.Lock()
	r := k.running
	k.running = nil
	k.mu.Unlock()
	if r != nil {
		r.ended <- ending
	}
}

// notePeak records a peak of the kernel's memory, and returns the highest so far.
func (k *bridged) notePeak(peak int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.peak = max(k.peak, peak)
	return k.peak
}

// current returns the running cell; nil: none.
func (k *bridged) current() *run {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running
}

// Interrupt implements kernel.Kernel. The signal also reaches the processes that the cell has started, as at a terminal.
func (k *bridged) Interrupt(ctx context.Context) error {
	r := k.current()
	if r == nil {
		return nil
	}
	select {
	case <-r.begun:
	case <-k.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	if k.current() != r {
		return nil
	}
	return k.child.signal(syscall.SIGINT)
}

// Signal implements kernel.Kernel.
func (k *bridged) Signal(sig kernel.Signal) error {
	switch sig {
	case kernel.SIGINT:
		return k.child.signal(syscall.SIGINT)
	case kernel.SIGTERM:
		return k.child.signal(syscall.SIGTERM)
	}
	return k.child.signal(syscall.SIGKILL)
}

// Close implements kernel.Kernel.
func (k *bridged) Close(ctx context.Context) error {
	k.mu.Lock()
	busy, again := k.running != nil, k.closing
	k.closing = true
	k.mu.Unlock()
	tree := k.child.descendants()
	if !again {
		k.pipes.ours[requests].Close() // bridge.py ends when it has read everything
	}
	if busy {
		_ = k.child.signal(syscall.SIGINT) // fails only if the kernel has ended
	}
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-k.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	_ = k.child.signal(unix.SIGKILL)
	<-k.done
	return k.child.sweep(tree)
}
