package remote

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coder/websocket"

	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

// carry delivers the messages of the kernel until it is dead. If the connection is lost, it makes another one.
func (k *live) carry(s *socket) {
	for s != nil {
		err := k.deliver(s)
		k.setSocket(nil)
		s.conn.CloseNow()
		if s = nil; !k.isDying() {
			s = k.reconnect(err)
		}
	}
	k.tell("dead: " + k.death.Why)
	close(k.done)
}

// tell emits a message about the kernel itself.
func (k *live) tell(text string) {
	k.emit(kernel.Message{Time: time.Now(), Kind: kernel.KindStatus, Text: text})
}

// Pauses between attempts to connect.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// reconnect makes a connection with the same session, on which the server sends what was missed. It returns nil if the kernel is dead
// or given up. A probe behind a running cell will show when that is over, in case its end got lost.
func (k *live) reconnect(cause error) *socket {
	lost := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		s, err := k.connect(k.life)
		switch {
		case err == nil:
			k.tell(fmt.Sprintf("the connection was lost for %s (%s); output that was under way may be missing", time.Since(lost).Round(time.Millisecond), cause))
			k.setSocket(s)
			go k.probe()
			return s
		case errors.Is(err, errNotFound):
			k.die("no longer on the server: it was deleted, or the server was restarted")
			return nil
		case time.Since(lost) > k.driver.Reconnect:
			k.die(fmt.Sprintf("connection lost for %s: %s; the kernel may still run on the server", k.driver.Reconnect, err))
			return nil
		}
		select {
		case <-time.After(pause):
		case <-k.life.Done():
			return nil
		}
	}
}

// probe asks the kernel for something after a new connection. The answer shows whether it is the same process, and that what was sent
// before is done.
func (k *live) probe() {
	k.mu.Lock()
	if k.cell != nil {
		k.cell.progress.Reconnected()
		k.wake()
	}
	k.mu.Unlock()
	_ = k.send(k.life, "kernel_info_request", k.requests.ID(protocol.PurposeProbe, ""), struct{}{}) // fails only for a dead kernel
}

// deliver delivers the messages of a connection, until it is lost or the kernel is dead.
func (k *live) deliver(s *socket) error {
	for !k.isDying() {
		kind, data, err := s.conn.Read(k.life)
		if err != nil {
			return err
		}
		m, err := decode(s.conn.Subprotocol(), kind == websocket.MessageBinary, data)
		if err != nil {
			k.refuse(err)
			continue
		}
		switch m.Channel {
		case "iopub":
			k.publish(m)
		case "shell":
			k.receive(m)
		case "stdin":
			k.refuseInput(m)
		}
	}
	return nil
}

// maxRefused is how many refused messages pawl reports.
const maxRefused = 20

// refuse tells that a message was refused.
func (k *live) refuse(err error) {
	if k.refused++; k.refused <= maxRefused {
		k.tell("a message was refused: " + err.Error())
	}
}

// publish delivers what the kernel, or the server, published.
func (k *live) publish(w protocol.Message) {
	m, err := protocol.Published(w)
	if err != nil {
		k.refuse(err)
		return
	}
	purpose, id := protocol.CellOf(w.Parent)
	if purpose == protocol.PurposeInfo {
		k.note(func() { k.published = true; k.sameSession(w.Session) })
	}
	if w.Type == "shutdown_reply" {
		k.die(k.shutDown())
		return
	}
	if m.Kind == "" {
		return
	}
	m.Cell = id
	switch {
	case m.Kind == kernel.KindBusy || m.Kind == kernel.KindIdle:
		if purpose != protocol.PurposeCell {
			return
		}
		m.Text = ""
	case m.Kind == kernel.KindStatus:
		k.status(m)
		return
	}
	k.emit(m)
	dropped := w.Session == k.spec.Session && m.Kind == kernel.KindStream && strings.HasPrefix(m.Text, "IOPub ")
	k.update(w.Parent, func(c *cell) {
		c.progress.Published(m, time.Now())
		if dropped {
			line, _, _ := strings.Cut(m.Text, "\n")
			c.dropped = "the server dropped output: " + line
		}
	})
}

// shutDown says who shut the kernel down.
func (k *live) shutDown() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return "shut down"
	}
	return "shut down by somebody else"
}

// status delivers a status of the kernel itself. The server reports so that the kernel has died.
func (k *live) status(m kernel.Message) {
	k.emit(m)
	switch m.Text {
	case "restarting", "autorestarting", "autorestarted":
		k.die("found dead by the server, which started an empty kernel in its place")
	case "dead":
		k.die("found dead by the server")
	case "starting":
		if isClosed(k.ready) {
			k.die("restarted on the server; its variables are lost")
		}
	}
}

// note notes a sign of a starting kernel.
func (k *live) note(sign func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	sign()
	if k.answered && k.published {
		k.setReady()
	}
}

// setReady is called with mu held.
func (k *live) setReady() {
	if !isClosed(k.ready) {
		close(k.ready)
	}
}

// several is the session of a kernel that does not keep to one.
const several = "several"

// sameSession notes the session of a message while the kernel starts. Another one later shows that it was restarted. The caller holds mu.
func (k *live) sameSession(session string) {
	switch {
	case isClosed(k.ready) || session == k.spec.Session:
	case k.session == "":
		k.session = session
	case k.session != session:
		k.session = several
	}
}

// receive delivers a reply.
func (k *live) receive(w protocol.Message) {
	purpose, id := protocol.CellOf(w.Parent)
	switch {
	case w.Type == "kernel_info_reply" && purpose == protocol.PurposeInfo:
		k.inform(w)
	case purpose == protocol.PurposeProbe:
		k.probed(w)
	case w.Type == "execute_reply" && purpose == protocol.PurposeCell:
		m, r, err := protocol.Replied(w)
		if err != nil {
			k.refuse(err)
			return
		}
		if m.Cell = id; k.replied(w.Parent) {
			return
		}
		k.emit(m)
		k.update(w.Parent, func(c *cell) { c.progress.Replied(r, time.Now()) })
	}
}

// refuseInput interrupts a cell that asks for input although it was told that there is none. An answer could be taken for consent.
func (k *live) refuseInput(w protocol.Message) {
	_, id := protocol.CellOf(w.Parent)
	k.emit(kernel.Message{Time: time.Now(), Cell: id, Kind: kernel.KindStream, Stream: kernel.Stderr,
		Text: "pawl: the cell asks for input, and nobody can answer; it is interrupted\n"})
	go func() { _ = k.Interrupt(k.life) }() // without a connection the cell keeps waiting
}

// replied reports whether the reply to a request of the running cell has already come.
func (k *live) replied(request string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cell != nil && k.cell.progress.Request() == request && k.cell.progress.HasReply()
}

// probed looks at the answer to a probe.
func (k *live) probed(w protocol.Message) {
	k.mu.Lock()
	other := k.session != "" && k.session != several && w.Session != k.session && w.Session != k.spec.Session
	if k.cell != nil && !other {
		k.cell.progress.Probed(time.Now())
		k.wake()
	}
	k.mu.Unlock()
	if other {
		k.die("restarted on the server while the connection was lost; its variables are lost")
	}
}

// inform notes the reply to a request for information.
func (k *live) inform(w protocol.Message) {
	if isClosed(k.ready) {
		return
	}
	said, err := protocol.Described(w)
	if err != nil {
		k.refuse(err)
		return
	}
	k.note(func() {
		if !isClosed(k.ready) {
			k.info.Language, k.info.Version, k.info.Implementation, k.info.LanguageInfo = said.Language, said.Version, said.Implementation, said.LanguageInfo
			k.answered = true
			k.sameSession(w.Session)
		}
	})
}
