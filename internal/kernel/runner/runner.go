// Package runner keeps a kernel alive for a session, and executes cells in it.
//
// A runner is a process under a supervisor of its own. It outlives the engine and the steps that use the kernel. It appends
// every message of the kernel to the session's log before anybody sees it. Clients connect through a socket, and read the
// messages from the log; a client that connects in the middle of a cell misses nothing.
//
// A runner knows where the variables of its kernel stand: each state has a [Key]. It executes a cell only where the
// variables stand where the cell needs them, and never twice because a connection was lost. If the kernel died, it loads a
// checkpoint of the variables into a new one ([host.prepare]).
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// Verb is the hidden command that starts a runner.
const Verb = "kernel-runner"

// Files in a session's folder, beside those of its supervisor.
const (
	LogFile      = "messages.jsonl"
	endpointFile = "endpoint.json"
)

// Config configures a runner.
type Config struct {
	Dir    string // folder of the session
	Driver kernel.Driver
	Spec   kernel.Spec // without Runtime, Log and Session
	Saver  Saver
	Waits  Waits
}

// A Saver saves the variables of a kernel and loads them. Its methods are called by one goroutine at a time.
type Saver interface {
	// Supports reports whether variables of a language can be saved.
	Supports(language string) bool
	// Save saves a checkpoint of the variables, durably, and returns its id, which names its content by a hash, and a note on what it does
	// not have.
	Save(ctx context.Context, in Evaluator, at Key) (id, note string, err error)
	// Load verifies a checkpoint, which means that it loads it in another process, unless that was done before. Verifying may find that
	// variables are lost, so it then asks accept. If that returns nil, Load loads the checkpoint into a new kernel: all of it or nothing.
	// Warnings name differences between the environments; with strict, Load returns them as an ErrDrift and loads nothing.
	Load(ctx context.Context, in Evaluator, id string, strict bool, accept func(Checkpoint) error) (warnings []string, err error)
	// Checkpoints returns the checkpoints that are there, the newest first, and why others cannot be loaded.
	Checkpoints() (list []Checkpoint, notes []string)
	// List describes the variables of a kernel.
	List(ctx context.Context, in Evaluator) ([]Variable, error)
}

// ErrDrift is the error of a checkpoint that was saved in another environment.
var ErrDrift = errors.New("it was saved in another environment")

// An Evaluator executes pawl's own code in a kernel.
type Evaluator struct {
	Info kernel.Info
	// Run executes code silently, and returns what it displayed. If it raised an error, Run returns that.
	Run func(ctx context.Context, code string) ([]kernel.Message, error)
}

// endpoint is the content of endpointFile.
type endpoint struct {
	Runtime string    `json:"runtime"` // folder of the socket and the kernel's files
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

const socketName = "s"

// host is a runner.
type host struct {
	cfg     Config
	runtime string

	kernelLock chan struct{} // of capacity 1: full while someone executes a cell or replaces the kernel; taken before mu

	mu       sync.Mutex // guards the fields below
	log      *sessionLog
	history  *history
	changed  chan struct{} // closed when a field below or the log changes
	k        kernel.Kernel // nil: none was started, or it is dead
	state    State
	at       Key // where the variables stand; empty: unknown
	running  *Begin
	forced   bool // an interrupt did not end the running cell, and the kernel was signalled
	ends     map[kernel.CellID]*End
	holder   *client // that works with the kernel
	captured map[kernel.CellID][]kernel.Message
	silent   int
	logErr   error  // why the log cannot be written
	stop     func() // ends the runner
	startErr error  // why no kernel could be started
}

// Run runs a runner until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	h := &host{cfg: cfg, kernelLock: make(chan struct{}, 1), history: newHistory(), changed: make(chan struct{}), state: Starting,
		ends: map[kernel.CellID]*End{}, captured: map[kernel.CellID][]kernel.Message{}}
	ctx, h.stop = context.WithCancel(ctx)
	defer h.stop()
	log, err := openLog(filepath.Join(cfg.Dir, LogFile), h.history.add)
	if err != nil {
		return err
	}
	h.log = log
	if err := h.closeOpenCell(); err != nil {
		return err
	}
	listener, err := h.listen()
	if err != nil {
		return err
	}
	defer os.RemoveAll(h.runtime)
	var work sync.WaitGroup
	work.Go(func() {
		<-ctx.Done()
		listener.Close()
	})
	h.kernelLock <- struct{}{} // until the first kernel is there
	work.Go(func() { h.startFirst(ctx) })
	for {
		conn, err := listener.Accept()
		if err != nil {
			break
		}
		work.Go(func() { h.serve(ctx, conn) })
	}
	h.stop()
	work.Wait()
	return h.shutdown(context.WithoutCancel(ctx))
}

// closeOpenCell records that the cell which an earlier runner of the session executed is lost.
func (h *host) closeOpenCell() error {
	open := h.history.open
	if open == nil {
		return nil
	}
	why := "the runner of the kernel ended unexpectedly"
	_, err := h.write(Record{End: &End{Cell: open.Cell, Ending: kernel.Ending{Status: kernel.Lost, Why: why}, Time: time.Now().UTC()}})
	return err
}

// listen creates the runner's own folder and its socket, and announces them. The folder's path is short.
func (h *host) listen() (net.Listener, error) {
	if before, err := readEndpoint(h.cfg.Dir); err == nil && isRuntime(before.Runtime) && filepath.Dir(before.Runtime) == runtimeParent() {
		os.RemoveAll(before.Runtime) // that runner is dead: this one has its lock
	}
	var err error
	if h.runtime, err = os.MkdirTemp(runtimeParent(), runtimePrefix); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", filepath.Join(h.runtime, socketName))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(endpoint{Runtime: h.runtime, PID: os.Getpid(), Started: time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	return listener, disk.Put(filepath.Join(h.cfg.Dir, endpointFile), data)
}

const runtimePrefix = "pawl-k-"

// runtimeParent returns the folder for runtime folders.
func runtimeParent() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && len(dir) < 40 {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return "/tmp"
}

// isRuntime reports whether a path is that of a runtime folder.
func isRuntime(path string) bool {
	return filepath.IsAbs(path) && strings.HasPrefix(filepath.Base(path), runtimePrefix) && filepath.Clean(path) == path
}

// readEndpoint reads where the newest runner of a session listens.
func readEndpoint(dir string) (e endpoint, err error) {
	data, err := disk.ReadFile(filepath.Join(dir, endpointFile), disk.RecordLimit)
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	return e, err
}

// write appends a record, makes it known, and syncs it unless it is a message.
func (h *host) write(r Record) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writeLocked(r)
}

func (h *host) writeLocked(r Record) (int64, error) {
	if h.logErr != nil {
		return 0, h.logErr
	}
	at, err := h.log.append(r)
	if err == nil && r.Message == nil {
		err = h.log.sync()
	}
	if err != nil {
		h.logErr = err
		h.endIfBroken()
		return 0, err
	}
	h.history.add(at, r)
	if r.End != nil {
		h.ends[r.End.Cell] = r.End
	}
	h.announce()
	return at, nil
}

// endIfBroken ends a runner that cannot write its log, once its client knows. The next runner reads what the log has. The caller holds mu.
func (h *host) endIfBroken() {
	if h.logErr != nil && h.holder == nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", errorPrefix, h.logErr)
		h.stop()
	}
}

// announce wakes whoever waits for a change.
func (h *host) announce() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// emit gets the messages of the kernel.
func (h *host) emit(m kernel.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before, ok := h.captured[m.Cell]; ok {
		h.captured[m.Cell] = append(before, m)
		return
	}
	_, _ = h.writeLocked(Record{Message: &m}) // the error is kept, and fails the cell
}

// lockKernel takes kernelLock, within a limit. Otherwise the error is of KindHeld. A kernel that starts is waited for: that has a limit of its own.
func (h *host) lockKernel(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case h.kernelLock <- struct{}{}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if !h.isStarting() {
			return h.held()
		}
		timer.Reset(limit)
	}
}

func (h *host) isStarting() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == Starting
}

func (h *host) releaseKernel() { <-h.kernelLock }

// held says what the kernel executes.
func (h *host) held() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := "the kernel is busy"
	if b := h.running; b != nil {
		text += ": it executes " + b.Title() + " since " + b.Time.Format(time.TimeOnly) + " UTC"
	}
	if h.holder != nil {
		text += "; " + h.holder.by + " works with it"
	}
	return &pawl.Error{Kind: pawl.KindHeld, Err: errors.New(text)}
}

// startFirst starts the kernel before a client asks for it.
func (h *host) startFirst(ctx context.Context) {
	defer h.releaseKernel()
	if err := h.startKernel(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", errorPrefix, err) // the first client tries again, and gets the error
	}
}

// startKernel starts a new kernel in place of the one that is there. The caller holds kernelLock.
func (h *host) startKernel(ctx context.Context) error {
	if err := h.endKernel(ctx); err != nil {
		return err
	}
	h.set(func() { h.state, h.at = Starting, "" })
	spec := h.cfg.Spec
	spec.Runtime = h.runtime
	spec.Log = filepath.Join(h.cfg.Dir, pawl.ErrFile)
	spec.Session = disk.RandomHex(16)
	began := time.Now()
	k, err := h.cfg.Driver.Start(ctx, spec, h.emit)
	if err != nil && ctx.Err() == nil && time.Since(began) < retryStart { // it may have been killed
		k, err = h.cfg.Driver.Start(ctx, spec, h.emit)
	}
	if err != nil {
		h.set(func() { h.state, h.startErr = Dead, err })
		return err
	}
	if _, err := h.write(Record{Kernel: &Started{Info: k.Info(), Time: time.Now().UTC()}}); err != nil {
		return errors.Join(err, k.Close(ctx))
	}
	h.set(func() { h.k, h.state, h.at, h.startErr = k, Idle, Root, nil })
	go h.watch(context.WithoutCancel(ctx), k)
	return nil
}

// retryStart is the time within which a start fails that is tried once more.
const retryStart = 10 * time.Second

// endKernel shuts the kernel down. The caller holds kernelLock.
func (h *host) endKernel(ctx context.Context) error {
	h.mu.Lock()
	k := h.k
	h.k, h.at = nil, ""
	h.mu.Unlock()
	if k == nil {
		return nil
	}
	return k.Close(ctx)
}

// watch records the death of a kernel that nobody shut down, and ends the processes that it left.
func (h *host) watch(ctx context.Context, k kernel.Kernel) {
	<-k.Done()
	if !h.died(k) {
		return
	}
	if err := k.Close(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", errorPrefix, err)
	}
}

// died records the death of a kernel, and reports whether it was the one that is there.
func (h *host) died(k kernel.Kernel) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.k != k {
		return false
	}
	h.k, h.at, h.state = nil, "", Dead
	death := k.Death()
	_, _ = h.writeLocked(Record{Died: &death})
	h.announce()
	return true
}

// set changes fields.
func (h *host) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	h.announce()
}

// shutdown ends the kernel when the runner ends.
func (h *host) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	h.mu.Lock()
	k := h.k
	h.k = nil
	h.mu.Unlock()
	if k == nil {
		return nil
	}
	return k.Close(ctx)
}

// closeLimit is how long a kernel has to end.
const closeLimit = 5 * time.Second
