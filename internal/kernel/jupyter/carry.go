package jupyter

import (
	"context"
	"errors"
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
		k.setLink(nil)
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
	k.tell("dead: " + k.leader.death.Why)
	close(k.done)
}

func (k *live) setLink(l *link) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.link = l
	close(k.relinked)
	k.relinked = make(chan struct{})
}

// reconnect starts another helper with the same identity, which gets the rest of a running cell. A probe behind that cell will show
// when it is over, in case its end got lost.
func (k *live) reconnect(ctx context.Context) (*link, error) {
	lost := time.Now()
	limited, cancel := context.WithTimeout(ctx, k.spec.StartLimit)
	defer cancel()
	l, _, err := connect(limited, k.spec, []string{k.python}, k.leader.pid)
	if err != nil {
		return nil, err
	}
	k.lost = lost
	k.setLink(l)
	go k.provoke(ctx, l)
	k.mu.Lock()
	running := k.cell != nil
	if running {
		k.cell.progress.Reconnected()
		k.wake()
	}
	k.mu.Unlock()
	if running {
		_ = l.send("shell", "kernel_info_request", k.requests.ID(protocol.PurposeProbe, ""), struct{}{}) // else another helper will
	}
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
		_, _ = l.ask(limited, "kernel_info_request", k.requests.ID(protocol.PurposeInfo, ""), struct{}{}) // what it publishes counts
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

// tell emits a message about the kernel itself.
func (k *live) tell(text string) {
	k.emit(kernel.Message{Time: time.Now(), Kind: kernel.KindStatus, Text: text})
}

// deliver delivers the messages of a helper, until there are no more.
func (k *live) deliver(l *link) {
	for {
		w, err := readWire(l.messages)
		if err != nil {
			return
		}
		switch w.Channel {
		case "iopub":
			k.resume(l)
			k.publish(w)
		case "shell":
			k.receive(w)
		case "stdin":
			k.refuseInput(l, w)
		case "helper":
			switch w.Type {
			case "drained":
				return
			case "mark":
				k.update(w.Parent, (*protocol.Progress).MarkBack)
			default:
				k.refuse(errors.New(reasonOf(w, true)))
			}
		}
	}
}

// resume notes that the helper gets what the kernel publishes.
func (k *live) resume(l *link) {
	if closed(l.resumed) {
		return
	}
	close(l.resumed)
	if !k.lost.IsZero() {
		k.tell(fmt.Sprintf("the connection was lost for %s; output of that time may be missing", time.Since(k.lost).Round(time.Millisecond)))
	}
}

// maxRefused is how many refused messages pawl reports: a stranger could send any number.
const maxRefused = 20

// refuse tells that a message was refused.
func (k *live) refuse(err error) {
	if k.refused++; k.refused <= maxRefused {
		k.tell("a message was refused: " + err.Error())
	}
}

// publish delivers what the kernel published.
func (k *live) publish(w wire) {
	m, err := protocol.Published(w.message())
	if err != nil {
		k.refuse(err)
		return
	}
	purpose, id := protocol.CellOf(w.Parent)
	if purpose == protocol.PurposeInfo {
		k.progressOfStart(func() { k.published = true })
	}
	if m.Kind == "" {
		return
	}
	m.Cell = id
	if m.Kind == kernel.KindBusy || m.Kind == kernel.KindIdle {
		if purpose != protocol.PurposeCell {
			return
		}
		m.Text = ""
	}
	if m.Text == "starting" && m.Kind == kernel.KindStatus && closed(k.ready) {
		m.Text = "restarting"
		defer k.leader.kill("the kernel restarted itself; its variables are lost")
	}
	k.emit(m)
	k.update(w.Parent, func(p *protocol.Progress) { p.Published(m, time.Now()) })
}

// receive delivers a reply.
func (k *live) receive(w wire) {
	purpose, id := protocol.CellOf(w.Parent)
	switch {
	case w.Type == "kernel_info_reply" && purpose == protocol.PurposeInfo:
		if err := k.inform(w); err != nil {
			k.refuse(err)
		}
	case purpose == protocol.PurposeProbe:
		k.mu.Lock()
		if k.cell != nil {
			k.cell.progress.Probed(time.Now())
			k.wake()
		}
		k.mu.Unlock()
	case w.Type == "execute_reply" && purpose == protocol.PurposeCell && k.expects(w.Parent):
		m, r, err := protocol.Replied(w.message())
		if err != nil {
			k.refuse(err)
			return
		}
		m.Cell = id
		k.emit(m)
		k.update(w.Parent, func(p *protocol.Progress) { p.Replied(r, time.Now()) })
	}
}

// expects reports whether the reply to a request is still to come. A second one counts for nothing.
func (k *live) expects(request string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cell != nil && k.cell.progress.Request() == request && !k.cell.progress.HasReply()
}

// inform notes the reply to a request for information.
func (k *live) inform(w wire) error {
	if closed(k.ready) {
		return nil
	}
	if err := k.describe(w); err != nil {
		return err
	}
	k.progressOfStart(func() { k.answered = true })
	return nil
}

// progressOfStart notes a sign of a starting kernel.
func (k *live) progressOfStart(note func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	note()
	if k.answered && k.published && !closed(k.ready) {
		close(k.ready)
	}
}

// refuseInput interrupts a cell that asks for input although it was told that there is none. An answer could be taken for consent.
func (k *live) refuseInput(l *link, w wire) {
	_, id := protocol.CellOf(w.Parent)
	k.update(w.Parent, (*protocol.Progress).Interrupted)
	k.emit(kernel.Message{Time: time.Now(), Cell: id, Kind: kernel.KindStream, Stream: kernel.Stderr,
		Text: "pawl: the cell asks for input, and nobody can answer; it is interrupted\n"})
	if k.found.InterruptMode == "message" {
		_ = l.send("control", "interrupt_request", k.requests.ID("interrupt", ""), struct{}{}) // the cell keeps waiting if the connection is lost
		return
	}
	if k.leader.signal(syscall.SIGINT) == nil {
		// R notices the interrupt only when it stops waiting.
		_ = l.send("stdin", "input_reply", k.requests.ID("input", ""), map[string]string{"value": ""})
	}
}
