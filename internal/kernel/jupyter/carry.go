package jupyter

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

// maxHelpers is how many helpers may die before the kernel is given up.
const maxHelpers = 5

// carry delivers the messages of the kernel until it is dead. If the helper dies alone, another one takes over.
func (k *live) carry(ctx context.Context, l *link) {
	for n := 1; ; n++ {
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			select {
			case <-k.leader.dead:
				_ = l.command(map[string]string{"op": "drain"}) // it may have ended
			case <-l.exited:
			}
		}()
		k.deliver(l)
		l.end()
		<-drained
		k.connected(nil)
		var err error
		if !k.leader.alive() {
			break
		}
		if n == maxHelpers {
			k.leader.kill("the connection was lost too often")
			<-k.leader.dead
			break
		}
		if l, err = k.reconnect(ctx); err != nil {
			k.leader.kill("the connection was lost: " + err.Error())
			<-k.leader.dead
			break
		}
	}
	k.leader.sweep()
	k.lastStacks()
	k.End(k.leader.death)
}

// reconnect starts another helper with the same identity, which gets the rest of a running cell.
func (k *live) reconnect(ctx context.Context) (*link, error) {
	lost := time.Now()
	limited, cancel := context.WithTimeout(ctx, k.spec.StartLimit)
	defer cancel()
	l, _, err := connect(limited, k.spec, []string{k.python}, k.leader.pid)
	if err != nil {
		return nil, err
	}
	k.lost = lost
	k.connected(l)
	go k.provoke(ctx, l)
	return l, nil
}

// How often a kernel is made to publish something after a loss.
const (
	provokeEvery = 50 * time.Millisecond
	maxProvoked  = 100
)

// provoke makes the kernel publish something, so that it shows when the helper gets what it publishes. It asks on the control channel,
// which most kernels answer also while a cell runs.
func (k *live) provoke(ctx context.Context, l *link) {
	tick := time.NewTicker(provokeEvery)
	defer tick.Stop()
	for range maxProvoked {
		limited, cancel := context.WithTimeout(ctx, provokeEvery)
		_, _ = l.ask(limited, "kernel_info_request", k.RequestID(protocol.PurposeInfo), struct{}{}) // what it publishes counts
		cancel()
		select {
		case <-l.resumed:
			return
		case <-l.exited:
			return
		case <-tick.C:
		}
	}
}

// deliver delivers the messages of a helper, until there are no more.
func (k *live) deliver(l *link) {
	for {
		w, err := readWire(l.messages)
		if err != nil {
			return
		}
		switch {
		case w.Channel != "helper":
			k.receive(l, w)
		case w.Type == "drained":
			return
		case w.Type == "mark":
			k.MarkBack(w.Parent)
		default:
			k.Refuse(reasonOf(w, true))
		}
	}
}

// receive delivers a message of the kernel.
func (k *live) receive(l *link, w wire) {
	if w.Channel == "iopub" {
		k.resume(l)
	}
	m := k.Deliver(w.message())
	switch {
	case w.Channel == "stdin":
		k.refuseInput(l)
	case m.Kind == kernel.KindStatus && m.Text == "starting" && k.IsReady():
		k.Tell("restarting")
		k.leader.kill("the kernel restarted itself; its variables are lost")
	}
}

// resume notes that the helper gets what the kernel publishes.
func (k *live) resume(l *link) {
	select {
	case <-l.resumed:
		return
	default:
		close(l.resumed)
	}
	if !k.lost.IsZero() {
		k.Tell(fmt.Sprintf("the connection was lost for %s; output of that time may be missing", time.Since(k.lost).Round(time.Millisecond)))
	}
}

// refuseInput interrupts a cell that asks for input.
func (k *live) refuseInput(l *link) {
	if k.found.InterruptMode == "message" {
		_ = l.Send("control", "interrupt_request", k.RequestID("interrupt"), struct{}{}) // the cell keeps waiting if the connection is lost
		return
	}
	if k.leader.signal(syscall.SIGINT) == nil {
		// R notices the interrupt only when it stops waiting.
		_ = l.Send("stdin", "input_reply", k.RequestID("input"), map[string]string{"value": ""})
	}
}
