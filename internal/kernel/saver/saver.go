// Package saver lets the runner of a session save the variables of its kernel with package variables. A checkpoint is verified in the
// background, the newest first. One that is not yet verified is verified before it is loaded.
package saver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/kernel/variables"
)

// Config configures a saver.
type Config struct {
	Dir     string   // folder of the checkpoints
	Environ []string // environment of the kernel
	RunAs   *pawl.Account
	Limits  variables.Limits
	Quota   func() int64 // returns how many bytes the checkpoints may take now; the newest is kept in any case. Nil: no limit.
}

// Saver implements runner.Saver.
type Saver struct {
	cfg   Config
	store *variables.Store

	verifying sync.Mutex // held during a verification; guards verifier
	verifier  *variables.Verifier

	mu      sync.Mutex // guards the rest
	waiting []task     // checkpoints to verify, the newest last
	working bool
	closed  bool
	failed  map[variables.ID]string // why checkpoints could not be verified
	deleted []string                // checkpoints that the quota had no room for, which no note has named
	done    sync.WaitGroup
}

// task is a checkpoint to verify, and the interpreter of its kernel.
type task struct {
	id     variables.ID
	python string
}

var _ runner.Saver = (*Saver)(nil)

// New returns a saver. Close must be called.
func New(cfg Config) (*Saver, error) {
	store, err := variables.Open(cfg.Dir)
	return &Saver{cfg: cfg, store: store, failed: map[variables.ID]string{}}, err
}

// Supports reports whether variables of a language can be saved.
func (s *Saver) Supports(language string) bool { return variables.Supports(language) }

// Save saves a checkpoint of the variables, durably, and returns its id and a note on what it does not have.
func (s *Saver) Save(ctx context.Context, in runner.Evaluator, at runner.Key) (id, note string, err error) {
	if s.cfg.RunAs != nil {
		return "", "", errors.New("the kernel runs as another user, who must not write into pawl's folder")
	}
	saving, err := s.store.SaveCell(variables.Key(at), s.cfg.Limits, time.Now())
	if err != nil {
		return "", "", err
	}
	m, err := s.accept(ctx, in, saving)
	if err != nil {
		return "", "", errors.Join(err, s.store.Abandon(saving))
	}
	s.enqueue(context.WithoutCancel(ctx), task{m.ID, in.Info.Interpreter.Path})
	return string(m.ID), s.noteOn(m), nil
}

func (s *Saver) accept(ctx context.Context, in runner.Evaluator, saving variables.Saving) (variables.Manifest, error) {
	messages, err := run(ctx, in, saving.Code)
	if err != nil {
		return variables.Manifest{}, err
	}
	return s.store.Accept(ctx, saving, messages)
}

// run executes a cell of package variables. The first one of a kernel needs the set-up.
func run(ctx context.Context, in runner.Evaluator, code string) ([]kernel.Message, error) {
	messages, err := in.Run(ctx, code)
	if err == nil || !strings.Contains(err.Error(), "KeyError") {
		return messages, err
	}
	if _, err := in.Run(ctx, variables.SetupCell()); err != nil {
		return nil, err
	}
	return in.Run(ctx, code)
}

// noteOn names what a checkpoint does not have, and the checkpoints that the quota had no room for; "" if there is nothing to say.
func (s *Saver) noteOn(m variables.Manifest) string {
	const most = 5
	var parts []string
	for i, u := range m.Unsaved {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(m.Unsaved)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", u.Name, u.Why))
	}
	if len(parts) > 0 {
		parts = []string{"not saved: " + strings.Join(parts, ", ")}
	}
	parts = append(parts, m.Notes...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.deleted) > 0 {
		parts = append(parts, "deleted from the saved variables, "+variables.OverQuota+" of snapshots: checkpoint "+strings.Join(s.deleted, ", "))
		s.deleted = nil
	}
	return strings.Join(parts, "; ")
}

// Load verifies a checkpoint, unless that was done before, and loads it into a new kernel if accept agrees: all of it or nothing. Warnings
// name differences between the environments; with strict, these are a runner.ErrDrift.
func (s *Saver) Load(ctx context.Context, in runner.Evaluator, id string, strict bool, accept func(runner.Checkpoint) error) (warnings []string, err error) {
	m, err := s.verify(ctx, task{variables.ID(id), in.Info.Interpreter.Path})
	if err == nil {
		err = accept(checkpointOf(m))
	}
	if err != nil {
		return nil, err
	}
	loading, err := s.store.LoadCell(variables.ID(id), strict)
	if err != nil {
		return nil, err
	}
	messages, err := run(ctx, in, loading.Code)
	if err != nil {
		return nil, err
	}
	_, warnings, err = loading.Result(messages)
	if drift, ok := errors.AsType[variables.Drift](err); ok {
		err = fmt.Errorf("%w: %w", runner.ErrDrift, drift)
	}
	return warnings, err
}

// Checkpoints returns the checkpoints that are there, the newest first, and why others cannot be loaded.
func (s *Saver) Checkpoints() (list []runner.Checkpoint, notes []string) {
	manifests, damaged := s.store.List()
	if damaged != nil {
		notes = strings.Split(damaged.Error(), "\n")
	}
	for _, m := range slices.Backward(manifests) {
		list = append(list, checkpointOf(m))
	}
	return list, notes
}

func checkpointOf(m variables.Manifest) runner.Checkpoint {
	c := runner.Checkpoint{ID: string(m.ID), At: runner.Key(m.Key)}
	for _, u := range m.Unsaved {
		c.Lost = append(c.Lost, u.Name)
	}
	return c
}

// List describes the variables of a kernel.
func (s *Saver) List(ctx context.Context, in runner.Evaluator) (list []runner.Variable, err error) {
	listing, err := variables.ListCell(disk.RandomHex(8))
	if err != nil {
		return nil, err
	}
	messages, err := run(ctx, in, listing.Code)
	if err != nil {
		return nil, err
	}
	found, _, err := listing.Result(messages)
	for _, v := range found {
		list = append(list, runner.Variable{Name: v.Name, Type: v.Type, Shape: shapeText(v.Shape), Bytes: v.Bytes, Hash: v.Hash, Saved: v.Saved, Why: v.Why})
	}
	return list, err
}

func shapeText(shape []int64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(parts, "×")
}

// enqueue has a checkpoint verified in the background.
func (s *Saver) enqueue(ctx context.Context, t task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, t)
	if s.working || s.closed {
		return
	}
	s.working = true
	s.done.Go(func() { s.work(ctx) })
}

// work verifies the waiting checkpoints. It takes the newest, and leaves older ones unverified: they are loaded only if the newest is
// damaged or lacks a variable.
func (s *Saver) work(ctx context.Context) {
	for {
		s.mu.Lock()
		if len(s.waiting) == 0 || s.closed {
			s.working = false
			s.mu.Unlock()
			return
		}
		next := s.waiting[len(s.waiting)-1]
		s.waiting = nil
		s.mu.Unlock()
		if _, err := s.verify(ctx, next); err == nil {
			s.prune()
		}
	}
}

// prune removes old checkpoints. What could not be removed is removed next time.
func (s *Saver) prune() {
	var r variables.Retention
	if s.cfg.Quota != nil {
		r.Quota = max(1, s.cfg.Quota())
	}
	p, _ := s.store.Prune(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range p.Manifests {
		if p.Why[id] == variables.OverQuota {
			s.deleted = append(s.deleted, string(id))
		}
	}
}

// verify verifies a checkpoint. A failure is remembered, so that it is not tried again and again, unless it is not the checkpoint's.
func (s *Saver) verify(ctx context.Context, t task) (variables.Manifest, error) {
	s.verifying.Lock()
	defer s.verifying.Unlock()
	s.mu.Lock()
	why, failed := s.failed[t.id]
	s.mu.Unlock()
	if failed {
		return variables.Manifest{}, errors.New(why)
	}
	if s.verifier == nil || s.verifier.Python != t.python {
		if s.verifier != nil {
			s.verifier.Close()
		}
		s.verifier = &variables.Verifier{Python: t.python, Environ: s.cfg.Environ, RunAs: s.cfg.RunAs, Limits: s.cfg.Limits}
	}
	m, err := s.store.Verify(ctx, t.id, s.verifier, time.Now())
	if err != nil && ctx.Err() == nil && !errors.Is(err, variables.ErrEnded) {
		s.mu.Lock()
		s.failed[t.id] = err.Error()
		s.mu.Unlock()
	}
	return m, err
}

// Close waits for the verification that runs, and ends the processes of the saver.
func (s *Saver) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.done.Wait()
	s.verifying.Lock()
	defer s.verifying.Unlock()
	if s.verifier != nil {
		s.verifier.Close()
	}
	return nil
}
