package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel"
)

// prepare brings the variables to where the cells of a request can continue, and returns the first cell to execute.
func (h *host) prepare(ctx context.Context, req Request) (*Prepared, error) {
	if p := h.reattached(req); p != nil {
		return p, nil
	}
	if err := h.lockKernel(ctx, queueWait); err != nil {
		return nil, err
	}
	defer h.releaseKernel()
	h.mu.Lock()
	before, ok := h.history.lineage(req.Base)
	live := h.at
	h.mu.Unlock()
	if !ok {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: errors.New("the log of the session does not have the cells of the earlier steps; rerun those steps: pawl retry STEP")}
	}
	all := append(before, req.Cells...)
	checkpoints, notes := h.checkpoints()
	p := &Prepared{Notes: notes}
	from, err := h.place(ctx, p, origins(all, live, checkpoints), req.Strict)
	if err != nil {
		return nil, err
	}
	p.Next = max(0, from.index+1-len(before))
	if again := h.again(all[from.index+1:]); len(again) > 0 {
		why := "the variables are gone with the earlier kernel"
		if req.Once {
			return nil, &pawl.Error{Kind: pawl.KindAtGate, Err: fmt.Errorf("%s would run again, because %s, and the step may not be repeated (idempotent: false); to allow it, remove that from the plan", strings.Join(again, ", "), why)}
		}
		p.Notes = append(p.Notes, fmt.Sprintf("%s run again: %s", strings.Join(again, ", "), why))
	}
	p.Notes = append(p.Notes, from.skipped...)
	for _, l := range all[from.index+1 : max(from.index+1, len(before))] {
		if err := h.replay(ctx, l); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkpoints returns the checkpoints that this session's log names, the newest first.
func (h *host) checkpoints() ([]Checkpoint, []string) {
	list, notes := h.cfg.Saver.Checkpoints()
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(list, func(c Checkpoint) bool { return !h.history.saved[c.ID] }), notes
}

// reattached returns that a cell of the request is running, or nil.
func (h *host) reattached(req Request) *Prepared {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running == nil {
		return nil
	}
	for i, l := range req.Cells {
		if l.Key == h.running.Key {
			return &Prepared{Next: i, Live: true}
		}
	}
	return nil
}

// place brings the kernel to the first of the origins that it can be brought to. With strict, a checkpoint from another environment is an
// error, because cells would run again in that environment.
func (h *host) place(ctx context.Context, p *Prepared, list []origin, strict bool) (origin, error) {
	for _, o := range list {
		if o.live {
			p.Live = true
			return o, nil
		}
		if !h.isFresh() {
			if err := h.startKernel(ctx); err != nil {
				return o, err
			}
		}
		if o.checkpoint == "" {
			return o, nil
		}
		warnings, err := h.load(ctx, o, strict)
		if errors.Is(err, ErrDrift) {
			return o, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("checkpoint %s was not loaded: %w; restore that environment, or remove \"strict\" to load the variables anyway", o.checkpoint, err)}
		}
		if err != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("checkpoint %s was not loaded: %v", o.checkpoint, err))
			continue
		}
		return o, h.loaded(p, o, warnings)
	}
	return origin{}, errors.New("no state to continue from") // the last origin is always a new kernel
}

// loadTries is how often a checkpoint is loaded if the kernel dies meanwhile.
const loadTries = 3

// load loads a checkpoint into a new kernel. A kernel that dies meanwhile was probably killed: loading the checkpoint before this one would
// execute finished cells again.
func (h *host) load(ctx context.Context, o origin, strict bool) (warnings []string, err error) {
	for try := 1; ; try++ {
		h.mu.Lock()
		k := h.k
		h.mu.Unlock()
		if k == nil {
			err = errors.New("the kernel died before the variables were loaded")
		} else {
			warnings, err = h.cfg.Saver.Load(ctx, h.evaluator(k), o.checkpoint, strict, func(c Checkpoint) error {
				if name := firstUsed(c.Lost, o.later); name != "" {
					return fmt.Errorf("it does not have the variable %s", name)
				}
				h.set(func() { h.at = "" }) // until it is loaded
				return nil
			})
		}
		if err == nil || try == loadTries || k != nil && !died(k, err) {
			return warnings, err
		}
		if started := h.startKernel(ctx); started != nil {
			return nil, errors.Join(err, started)
		}
	}
}

// loaded records that the variables of a checkpoint are in the kernel.
func (h *host) loaded(p *Prepared, o origin, warnings []string) error {
	p.Notes = append(p.Notes, warnings...)
	p.Checkpoint = o.checkpoint
	if _, err := h.write(Record{Loaded: &Loaded{Checkpoint: o.checkpoint, Key: o.key, Time: time.Now().UTC()}}); err != nil {
		return err
	}
	h.set(func() { h.at = o.key })
	return nil
}

// isFresh reports whether the kernel is alive and has executed nothing.
func (h *host) isFresh() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.k != nil && h.at == Root
}

// again names the cells of a list that were finished before.
func (h *host) again(links []Link) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range links {
		if c, ok := h.history.at[l.Key]; ok {
			names = append(names, c.begin.Title())
		}
	}
	return names
}

// replay executes a cell of an earlier step again. The caller holds kernelLock.
func (h *host) replay(ctx context.Context, l Link) error {
	h.mu.Lock()
	was, ok := h.history.at[l.Key]
	at := h.at
	h.mu.Unlock()
	x := &Execution{Link: l, After: at}
	if ok {
		x.Step, x.Seed = was.begin.Step, was.begin.Seed
	}
	b, err := h.send(ctx, x)
	if err != nil {
		return err
	}
	defer func() { h.kernelLock <- struct{}{} }() // execute has released it
	h.untilEnded(ctx, b)
	h.mu.Lock()
	end := h.ends[b.Cell]
	h.mu.Unlock()
	switch {
	case end == nil:
		return context.Cause(ctx)
	case !end.Finished(b):
		return fmt.Errorf("%s ran again, because its variables are gone, and failed: %s", b.Title(), end.Reason())
	}
	return nil
}

// Reason says in one clause why a cell is not finished.
func (end *End) Reason() string {
	limit := fmt.Sprintf("interrupted after %s, the limit of a cell", end.Limit)
	switch {
	case end.Limit == 0:
		return end.cause()
	case end.Status == kernel.Interrupted:
		return limit
	}
	return limit + "; " + end.cause()
}

func (end *End) cause() string {
	switch {
	case end.Error != nil:
		return end.Error.Title()
	case end.Death != nil:
		return end.Death.String()
	}
	return string(end.Status) + ": " + end.Why
}

// untilEnded waits until a cell has ended.
func (h *host) untilEnded(ctx context.Context, b *Begin) {
	for {
		h.mu.Lock()
		over, changed := h.ends[b.Cell] != nil, h.changed
		h.mu.Unlock()
		if over {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// restart starts a new kernel. With keep, it loads the newest checkpoint of the variables.
func (h *host) restart(ctx context.Context, keep bool) (*Prepared, error) {
	if err := h.lockKernel(ctx, queueWait); err != nil {
		return nil, err
	}
	defer h.releaseKernel()
	if err := h.startKernel(ctx); err != nil {
		return nil, err
	}
	p := &Prepared{}
	if !keep {
		return p, nil
	}
	list, notes := h.checkpoints()
	p.Notes = notes
	var all []origin
	for _, c := range list {
		all = append(all, origin{checkpoint: c.ID, key: c.At})
	}
	_, err := h.place(ctx, p, append(all, origin{index: -1}), false)
	return p, err
}

// environ sets variables of the kernel's environment. Languages other than Python and R keep the environment of the start.
func (h *host) environ(ctx context.Context, env []string) error {
	if err := h.lockKernel(ctx, queueWait); err != nil {
		return err
	}
	defer h.releaseKernel()
	h.mu.Lock()
	k := h.k
	h.mu.Unlock()
	if k == nil {
		return nil // the client sends them again before the first cell of the next kernel
	}
	code := environCode(k.Info().Language, env)
	if code == "" {
		return nil
	}
	_, err := h.evaluator(k).Run(ctx, code)
	return err
}

// variables describes the variables of the kernel.
func (h *host) variables(ctx context.Context) ([]Variable, error) {
	var list []Variable
	err := h.withIdle(ctx, func(k kernel.Kernel) (err error) {
		if !h.saves(k) {
			return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("pawl cannot list the variables of %s", whose(k))}
		}
		list, err = h.cfg.Saver.List(ctx, h.evaluator(k))
		return err
	})
	return list, err
}

// whose says what kind of kernel it is whose variables pawl cannot read.
func whose(k kernel.Kernel) string {
	if info := k.Info(); info.PID != 0 {
		return "the language " + info.Language
	}
	return "a kernel on a Jupyter server"
}

// saveNow saves a checkpoint of the variables, and returns its id and a note on what it does not have.
func (h *host) saveNow(ctx context.Context) (id, note string, err error) {
	err = h.withIdle(ctx, func(k kernel.Kernel) error {
		h.mu.Lock()
		at := h.at
		h.mu.Unlock()
		if at == "" {
			return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("the last cell failed, so the variables are in between two states; execute a cell, or restart the kernel")}
		}
		if !h.saves(k) {
			return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("pawl cannot save the variables of %s", whose(k))}
		}
		if id, note, err = h.cfg.Saver.Save(ctx, h.evaluator(k), at); err == nil {
			_, err = h.write(Record{Saved: id})
		}
		return err
	})
	return id, note, err
}

// withIdle calls do with a live kernel that executes nothing.
func (h *host) withIdle(ctx context.Context, do func(kernel.Kernel) error) error {
	if err := h.lockKernel(ctx, queueWait); err != nil {
		return err
	}
	defer h.releaseKernel()
	h.mu.Lock()
	k := h.k
	h.mu.Unlock()
	if k == nil {
		return errDead
	}
	return do(k)
}
