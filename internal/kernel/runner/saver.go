package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/variables"
)

// Saver saves the variables of a session's kernel and loads them.
type Saver struct {
	store    *variables.Store
	verifier *variables.Verifier

	prepared kernel.Kernel // that has pawl's program; used by one goroutine at a time
	checks   sync.WaitGroup
	order    sync.Mutex // held during a check: one at a time
}

// NewSaver returns the saver of a session. Without Python, it saves nothing.
func NewSaver(dir string, spec kernel.Spec) (*Saver, error) {
	store, err := variables.Open(filepath.Join(dir, variablesName))
	if err != nil {
		return nil, err
	}
	return &Saver{store: store, verifier: &variables.Verifier{Python: spec.Python.Path, Environ: spec.Environ, RunAs: spec.RunAs}}, nil
}

// evaluator executes pawl's own code in a kernel.
type evaluator struct {
	kernel.Kernel
	// run executes code silently, and returns what it displayed. If it raised an error, run returns that.
	run func(ctx context.Context, code string) ([]kernel.Message, error)
}

// supports reports whether the variables of a kernel can be saved: pawl must be able to load them in a fresh process.
func (s *Saver) supports(k kernel.Kernel) bool {
	return variables.Supports(k.Info().Language) && s.verifier.Python != "" && k.Info().PID != 0
}

// setUp executes pawl's program in a kernel, once.
func (s *Saver) setUp(ctx context.Context, in evaluator) error {
	if s.prepared == in.Kernel {
		return nil
	}
	if _, err := in.run(ctx, variables.SetupCell()); err != nil {
		return err
	}
	s.prepared = in.Kernel
	return nil
}

// save saves the variables durably. Whether they load in a fresh process is checked in the background.
func (s *Saver) save(ctx context.Context, in evaluator, at Key) (*Saved, error) {
	if err := s.setUp(ctx, in); err != nil {
		return nil, err
	}
	saving, err := s.store.SaveCell(variables.Key(at), variables.Limits{})
	if err != nil {
		return nil, err
	}
	shown, err := in.run(ctx, saving.Code)
	if err != nil {
		return nil, err
	}
	m, err := s.store.Accept(ctx, saving, shown, time.Now())
	if err != nil {
		return nil, err
	}
	s.checks.Go(func() {
		s.order.Lock()
		defer s.order.Unlock()
		_, err := s.store.Verify(context.WithoutCancel(ctx), m.ID, s.verifier, time.Now())
		if err == nil {
			_, err = s.store.Prune(variables.Retention{})
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, errorPrefix+"check the variables of %s: %v\n", m.ID, err) // it is checked again before it is loaded
		}
	})
	return &Saved{ID: string(m.ID), SHA256: m.SHA256, Lost: lostOf(m.Unsaved), Notes: m.Notes}, nil
}

func lostOf(list []variables.Unsaved) (lost []Lost) {
	for _, u := range list {
		lost = append(lost, Lost{Name: u.Name, Type: u.Type, Why: u.Why})
	}
	return lost
}

// checkpoints returns the checkpoints of a session that can be loaded, the newest first, and why others cannot. Those that were not
// checked before a crash are checked now.
func (s *Saver) checkpoints(ctx context.Context) (list []Checkpoint, notes []string, err error) {
	s.checks.Wait()
	pending, err := s.store.Pendings()
	if err != nil {
		return nil, nil, err
	}
	for _, m := range pending {
		if _, err := s.store.Verify(ctx, m.ID, s.verifier, time.Now()); err != nil {
			notes = append(notes, fmt.Sprintf("checkpoint %s is not used: %v", m.ID, err))
		}
	}
	all, err := s.store.List()
	for _, m := range slices.Backward(all) {
		c := Checkpoint{ID: string(m.ID), At: Key(m.Key)}
		for _, u := range m.Unsaved {
			c.Lost = append(c.Lost, u.Name)
		}
		list = append(list, c)
	}
	return list, notes, err
}

// load loads a checkpoint into a new kernel: all of it or nothing. Warnings name differences between the environments.
func (s *Saver) load(ctx context.Context, in evaluator, id, sha256 string) (warnings []string, err error) {
	if err := s.setUp(ctx, in); err != nil {
		return nil, err
	}
	loading, err := s.store.LoadCell(variables.ID(id), sha256, false)
	if err != nil {
		return nil, err
	}
	shown, err := in.run(ctx, loading.Code)
	if err != nil {
		return nil, err
	}
	_, warnings, err = loading.Result(shown)
	return warnings, err
}

// list describes the variables of a kernel.
func (s *Saver) list(ctx context.Context, in evaluator) ([]Variable, error) {
	if err := s.setUp(ctx, in); err != nil {
		return nil, err
	}
	listing, err := variables.ListCell("list")
	if err != nil {
		return nil, err
	}
	shown, err := in.run(ctx, listing.Code)
	if err != nil {
		return nil, err
	}
	listed, _, err := listing.Result(shown)
	if err != nil {
		return nil, err
	}
	all := make([]Variable, len(listed))
	for i, v := range listed {
		all[i] = Variable{Name: v.Name, Type: v.Type, Shape: shapeOf(v.Shape), Bytes: v.Bytes, Hash: v.Hash, Saved: v.Saved, Why: v.Why}
	}
	return all, nil
}

// shapeOf writes a shape as Python does.
func shapeOf(shape []int64) string {
	if shape == nil {
		return ""
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "×")
}

// close waits for the checks and ends their process.
func (s *Saver) close() {
	s.checks.Wait()
	s.verifier.Close()
}
