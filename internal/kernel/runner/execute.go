package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/kernel"
)

// queueWait is how long a client waits for the cell of another one, as in Gyoshu's bridge.
const queueWait = 30 * time.Second

// begin sends a cell to the kernel, unless that is done already: a finished cell is not executed again, and a running one is
// re-attached. It returns the cell's Begin.
func (h *host) begin(ctx context.Context, x *Execution) (*Begin, error) {
	h.mu.Lock()
	if done, ok := h.history.at[x.Key]; ok && x.Key != "" && h.at == x.Key {
		h.mu.Unlock()
		return done.begin, nil
	}
	if h.running != nil && x.Key != "" && h.running.Key == x.Key {
		defer h.mu.Unlock()
		return h.running, nil
	}
	h.mu.Unlock()
	if err := h.lockKernel(ctx, queueWait); err != nil {
		return nil, err
	}
	b, err := h.send(ctx, x)
	if err != nil {
		h.releaseKernel()
	}
	return b, err
}

// errDead is the error of a request that needs a kernel, and there is none.
var errDead = &pawl.Error{Kind: pawl.KindDamaged, Err: errors.New("the kernel is dead; restart it")}

// send journals a cell and sends it to the kernel. The caller holds kernelLock, which the end of the cell releases.
func (h *host) send(ctx context.Context, x *Execution) (*Begin, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.k == nil {
		return nil, errDead
	}
	if x.Key != "" && h.at != x.After {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: errors.New("the variables of the kernel are not where the cell needs them: something else was executed in between")}
	}
	b := &Begin{Cell: kernel.CellID(fmt.Sprintf("c%06d", h.history.next+1)), Key: x.Key, After: h.at, Name: x.Name, Step: x.Step, Seed: x.Seed, Code: x.Code,
		Time: time.Now().UTC(), MayFail: x.MayFail}
	if b.Key == "" {
		b.Key = freeKey(b)
	}
	at, err := h.writeLocked(Record{Begin: b})
	if err != nil {
		return nil, err
	}
	b.offset = at
	k := h.k
	h.running, h.state, h.at, h.forced = b, Busy, "", false
	h.announce()
	go h.execute(context.WithoutCancel(ctx), k, b, time.Duration(x.Timeout))
	return b, nil
}

// freeKey returns the key of a cell that nobody planned.
func freeKey(b *Begin) Key {
	sum := sha256.Sum256([]byte(string(b.After) + "\x00" + string(b.Cell) + "\x00" + b.Time.Format(time.RFC3339Nano) + "\x00" + b.Code))
	return Key(hex.EncodeToString(sum[:]))
}

// execute executes a cell, saves the variables and journals the end. It releases kernelLock.
func (h *host) execute(ctx context.Context, k kernel.Kernel, b *Begin, limit time.Duration) {
	defer h.releaseKernel()
	var timer *time.Timer
	if limit > 0 {
		timer = time.AfterFunc(limit, func() { h.interrupt(ctx, b.Cell, 0) })
	}
	ending, err := k.Execute(ctx, kernel.Cell{ID: b.Cell, Code: b.Code})
	if err != nil {
		ending = kernel.Ending{Status: kernel.Lost, Why: err.Error()}
	}
	end := &End{Cell: b.Cell, Ending: ending}
	if timer != nil && !timer.Stop() && ending.Status != kernel.OK {
		end.Limit = pawl.Duration(limit)
	}
	if end.Finished(b) {
		end.Key = b.Key
		h.save(ctx, k, b, end)
	}
	end.Time = time.Now().UTC()
	h.mu.Lock()
	defer h.mu.Unlock()
	end.Tries = h.history.cut[b.Key]
	if end.Death != nil && h.forced {
		death := *end.Death
		death.Why += ", because the interrupt did not end the cell"
		end.Death = &death
	}
	if h.running = nil; h.k == k {
		h.state = Idle
	}
	if h.k == k && end.Status != kernel.Lost {
		h.at = end.Key
	}
	if h.logErr != nil {
		end.Ending = kernel.Ending{Status: kernel.Lost, Why: h.logErr.Error()}
		h.ends[b.Cell] = end
		h.at = ""
	} else {
		_, _ = h.writeLocked(Record{End: end})
	}
	h.announce()
}

// save saves the variables after a cell. If that fails, the cell is finished all the same, and the note says why; unless the kernel is dead:
// then nothing has what the cell did to them.
func (h *host) save(ctx context.Context, k kernel.Kernel, b *Begin, end *End) {
	if !h.saves(k) {
		if b.Step != "" {
			end.Note = "variables of this kernel are not saved: if it dies, all cells run again"
		}
		return
	}
	var err error
	if end.Saved, end.Note, err = h.cfg.Saver.Save(ctx, h.evaluator(k), end.Key); err == nil {
		return
	}
	end.Note = "the variables were not saved: " + err.Error()
	if died(k, err) {
		death := k.Death()
		end.Ending = kernel.Ending{Status: kernel.Lost, Why: "the kernel died before the variables were saved", Death: &death}
		end.Key = ""
	}
}

// died reports whether a kernel is dead after code of pawl has failed in it. If it does not answer, its death may be noticed a little later.
func died(k kernel.Kernel, err error) bool {
	patience := time.Duration(0)
	if errors.Is(err, errNoAnswer) {
		patience = closeLimit
	}
	select {
	case <-k.Done():
		return true
	case <-time.After(patience):
	}
	select {
	case <-k.Done():
		return true
	default:
		return false
	}
}

// errNoAnswer is the error of code that the kernel did not execute to its end, perhaps because it died.
var errNoAnswer = errors.New("the kernel does not answer")

// saves reports whether the variables of a kernel are saved. Those of a kernel elsewhere cannot be written to this machine.
func (h *host) saves(k kernel.Kernel) bool {
	info := k.Info()
	return info.PID != 0 && h.cfg.Saver.Supports(info.Language)
}

// evaluator executes pawl's own code in a kernel. The caller holds kernelLock.
func (h *host) evaluator(k kernel.Kernel) Evaluator {
	return Evaluator{k.Info(), func(ctx context.Context, code string) ([]kernel.Message, error) {
		h.mu.Lock()
		h.silent++
		id := kernel.CellID(fmt.Sprintf("s%06d", h.silent))
		h.captured[id] = nil
		h.mu.Unlock()
		ending, err := k.Execute(ctx, kernel.Cell{ID: id, Code: code, Silent: true})
		h.mu.Lock()
		shown := h.captured[id]
		delete(h.captured, id)
		h.mu.Unlock()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
		case ending.Status == kernel.Lost:
			return nil, fmt.Errorf("%w: %s", errNoAnswer, ending.Why)
		case ending.Error != nil:
			return nil, errors.New(ending.Error.Title())
		case ending.Status != kernel.OK:
			return nil, fmt.Errorf("%s: %s", ending.Status, ending.Why)
		}
		return shown, nil
	}}
}

// Waits are those of the interrupt ladder.
type Waits struct {
	Interrupt time.Duration // from SIGINT to SIGTERM. Defaults to 5s, as in Gyoshu's bridge.
	Terminate time.Duration // from SIGTERM to SIGKILL. Defaults to 3s, as there.
}

func (w Waits) withDefaults() Waits {
	return Waits{cmp.Or(w.Interrupt, 5*time.Second), cmp.Or(w.Terminate, 3*time.Second)}
}

// interrupt ends a cell: with an interrupt, then SIGTERM, then SIGKILL to the kernel. An empty id is the running cell.
func (h *host) interrupt(ctx context.Context, id kernel.CellID, grace time.Duration) Stopped {
	h.mu.Lock()
	k, running := h.k, h.running
	if k == nil || running == nil || id != "" && running.Cell != id {
		alive := k != nil
		h.mu.Unlock()
		return Stopped{Alive: alive}
	}
	h.state = Interrupting
	h.announce()
	h.mu.Unlock()
	waits := h.cfg.Waits.withDefaults()
	began := time.Now()
	stopped := Stopped{By: "SIGINT"}
	stopped.Stacks, _ = k.Stacks(ctx) // a kernel that cannot say is interrupted all the same
	_ = k.Interrupt(ctx)              // if it does not arrive, the next signal does
	if !h.ended(running, cmp.Or(grace, waits.Interrupt)) {
		stopped.By = "SIGTERM"
		h.set(func() { h.forced = h.running == running })
		_ = k.Signal(kernel.SIGTERM)
		if !h.ended(running, waits.Terminate) {
			stopped.By = "SIGKILL"
			_ = k.Signal(kernel.SIGKILL)
			h.ended(running, closeLimit)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	end := h.ends[running.Cell]
	lost := end != nil && end.Status == kernel.Lost // then the kernel may be dead before watch says so
	stopped.After, stopped.Alive = pawl.Duration(time.Since(began).Round(time.Millisecond)), h.k == k && !lost
	return stopped
}

// ended waits until a cell has ended, and reports whether it has.
func (h *host) ended(b *Begin, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		h.mu.Lock()
		over, changed := h.ends[b.Cell] != nil, h.changed
		h.mu.Unlock()
		if over {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}
