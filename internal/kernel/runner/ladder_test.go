package runner

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"pawl/internal/kernel"
)

// deafKernel is a kernel whose cell only SIGKILL ends. It notes when it got which signal.
type deafKernel struct {
	kernel.Kernel
	began   time.Time
	signals map[string]time.Duration
	end     func()
}

func (k *deafKernel) Stacks(context.Context) (string, error) { return "main thread", nil }

func (k *deafKernel) Interrupt(context.Context) error {
	k.signals["SIGINT"] = time.Since(k.began)
	return nil
}

func (k *deafKernel) Signal(sig kernel.Signal) error {
	k.signals[map[kernel.Signal]string{kernel.SIGTERM: "SIGTERM", kernel.SIGKILL: "SIGKILL"}[sig]] = time.Since(k.began)
	if sig == kernel.SIGKILL {
		k.end()
	}
	return nil
}

// TestLadder: a cell that ignores SIGINT gets SIGTERM five seconds later, and SIGKILL after three more; or as the runner or the caller sets.
func TestLadder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		waits     Waits
		grace     time.Duration
		term, die time.Duration
	}{
		{Waits{}, 0, 5 * time.Second, 8 * time.Second},
		{Waits{Interrupt: time.Second, Terminate: time.Minute}, 0, time.Second, 61 * time.Second},
		{Waits{}, 2 * time.Second, 2 * time.Second, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &Begin{Cell: "c1"}
			k := &deafKernel{began: time.Now(), signals: map[string]time.Duration{}}
			h := &host{cfg: Config{Waits: c.waits}, k: k, running: b, changed: make(chan struct{}), ends: map[kernel.CellID]*End{}}
			k.end = func() { h.set(func() { h.k, h.ends["c1"] = nil, &End{} }) }
			stopped := h.interrupt(t.Context(), "", c.grace)
			if stopped.By != "SIGKILL" || stopped.Alive || time.Duration(stopped.After) != c.die || stopped.Stacks != "main thread" {
				t.Errorf("stopped %+v", stopped)
			}
			if want := map[string]time.Duration{"SIGINT": 0, "SIGTERM": c.term, "SIGKILL": c.die}; !reflect.DeepEqual(k.signals, want) {
				t.Errorf("signals %v, want %v", k.signals, want)
			}
		})
	}
}
