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
func (k *live) carry(l *link) {
	for l != nil {
		err := k.deliver(l)
		k.Connected(nil)
		l.conn.CloseNow()
		if l = nil; !k.isDying() {
			l = k.reconnect(err)
		}
	}
	k.End(kernel.Death{Why: k.why})
}

// Pauses between attempts to connect.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// reconnect makes a connection with the same session, on which the server sends what was missed. It returns nil if the kernel is dead
// or given up.
func (k *live) reconnect(cause error) *link {
	lost := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		l, err := k.connect(k.life)
		switch {
		case err == nil:
			k.Tell(fmt.Sprintf("the connection was lost for %s (%s); output that was under way may be missing", time.Since(lost).Round(time.Millisecond), cause))
			k.Connected(l)
			return l
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

// deliver delivers the messages of a connection, until it is lost or the kernel is dead.
func (k *live) deliver(l *link) error {
	for !k.isDying() {
		kind, data, err := l.conn.Read(k.life)
		if err != nil {
			return err
		}
		m, err := decode(l.conn.Subprotocol(), kind == websocket.MessageBinary, data)
		if err != nil {
			k.Refuse(err.Error())
			continue
		}
		if why := k.gone(m); why != "" {
			k.die(why)
			return nil
		}
		k.receive(m)
	}
	return nil
}

// gone says why the kernel is dead, as a message shows; "" if it is not.
func (k *live) gone(w protocol.Message) string {
	purpose, _ := protocol.CellOf(w.Parent)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case w.Channel == "iopub" && w.Type == "shutdown_reply" && k.closed:
		return "shut down"
	case w.Channel == "iopub" && w.Type == "shutdown_reply":
		return "shut down by somebody else"
	case purpose == protocol.PurposeInfo:
		k.noteSession(w.Session)
	case purpose == protocol.PurposeProbe && w.Channel == "shell" && k.session != "" && k.session != several && w.Session != k.session && w.Session != k.spec.Session:
		return "restarted on the server while the connection was lost; its variables are lost"
	}
	return ""
}

// several is the session of a kernel that does not keep to one.
const several = "several"

// noteSession notes the session of a message while the kernel starts. Another one later shows that it was restarted. The caller holds mu.
func (k *live) noteSession(session string) {
	switch {
	case k.IsReady() || session == k.spec.Session:
	case k.session == "":
		k.session = session
	case k.session != session:
		k.session = several
	}
}

// receive delivers a message.
func (k *live) receive(w protocol.Message) {
	m := k.Deliver(w)
	switch {
	case w.Channel == "stdin":
		go func() { _ = k.Interrupt(k.life) }() // without a connection the cell keeps waiting
	case m.Kind == kernel.KindStatus:
		k.status(m.Text)
	case m.Kind == kernel.KindStream && w.Session == k.spec.Session && strings.HasPrefix(m.Text, "IOPub "): // from the server itself
		line, _, _ := strings.Cut(m.Text, "\n")
		k.Remark(w.Parent, "the server dropped output: "+line)
	}
}

// status looks at a status of the kernel itself. The server reports so that the kernel has died.
func (k *live) status(text string) {
	switch text {
	case "restarting", "autorestarting", "autorestarted":
		k.die("found dead by the server, which started an empty kernel in its place")
	case "dead":
		k.die("found dead by the server")
	case "starting":
		if k.IsReady() {
			k.die("restarted on the server; its variables are lost")
		}
	}
}
