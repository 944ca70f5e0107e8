package protocol

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pawl/internal/kernel"
)

// fakeConn is a connection that hands over what is sent.
type fakeConn struct {
	sent  chan sent
	fails chan error // the answer to each Send; nil: none fails
}

type sent struct{ kind, id string }

func newFakeConn() *fakeConn { return &fakeConn{sent: make(chan sent, 100)} }

func (f *fakeConn) Mark(string) {}

func (f *fakeConn) Send(_, kind, id string, _ any) error {
	if f.fails != nil {
		return <-f.fails
	}
	f.sent <- sent{kind, id}
	return nil
}

// next returns the id of the next request of a kind.
func (f *fakeConn) next(kind string) string {
	for {
		if s := <-f.sent; s.kind == kind {
			return s.id
		}
	}
}

func published(c *Client, kind, parent, content string) {
	c.Deliver(Message{Channel: "iopub", Type: kind, Parent: parent, Content: []byte(content)})
}

func replied(c *Client, kind, parent, content string) {
	c.Deliver(Message{Channel: "shell", Type: kind, Parent: parent, Content: []byte(content)})
}

// readyClient returns a client whose kernel is ready, and its connection.
func readyClient(t *testing.T) (*Client, *fakeConn) {
	t.Helper()
	c, conn := NewClient(kernel.Spec{Silence: kernel.DefaultSilence}, kernel.Info{}, func(kernel.Message) {}), newFakeConn()
	c.Connected(conn)
	go func() {
		id := conn.next("kernel_info_request")
		published(c, "status", id, `{"execution_state":"busy"}`)
		replied(c, "kernel_info_reply", id, `{"language_info":{"name":"python"}}`)
	}()
	if err := c.AwaitReady(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	return c, conn
}

// endings executes a cell and hands over how it ends.
func endings(t *testing.T, c *Client) <-chan string {
	ended := make(chan string, 1)
	go func() {
		ending, err := c.Execute(context.WithoutCancel(t.Context()), kernel.Cell{ID: "a"})
		ended <- fmt.Sprint(ending.Status, " ", ending.Why, err)
	}()
	return ended
}

// finish plays a cell that takes a minute.
func finish(c *Client, id string) {
	published(c, "execute_input", id, `{"execution_count":1}`)
	time.Sleep(time.Minute)
	replied(c, "execute_reply", id, `{"status":"ok"}`)
	published(c, "status", id, `{"execution_state":"idle"}`)
}

// TestProbeBeforeCell: a cell that no connection had taken when a probe was sent is not judged by the answer to that probe.
func TestProbeBeforeCell(t *testing.T) {
	for name, loses := range map[string]func(c *Client, first *fakeConn) (sends func()){
		"no connection": func(c *Client, _ *fakeConn) func() {
			c.Connected(nil)
			return func() {}
		},
		"a connection that is lost meanwhile": func(_ *Client, first *fakeConn) func() {
			first.fails = make(chan error)
			return func() { first.fails <- errors.New("lost") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, first := readyClient(t)
				sends := loses(c, first)
				ended := endings(t, c)
				synctest.Wait()
				second := newFakeConn()
				c.Connected(second)
				probe := second.next("kernel_info_request")
				sends()
				replied(c, "kernel_info_reply", probe, `{}`)
				finish(c, second.next("execute_request"))
				if got := <-ended; got != "ok <nil>" {
					t.Errorf("ended: %s", got)
				}
			})
		})
	}
}

// TestOldProbe: only the answer to the newest probe, which is behind the cell, shows that the cell is over.
func TestOldProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := readyClient(t)
		second, third := newFakeConn(), newFakeConn()
		c.Connected(nil)
		c.Connected(second)
		old := second.next("kernel_info_request")
		ended := endings(t, c)
		cell := second.next("execute_request")
		c.Connected(nil)
		c.Connected(third)
		replied(c, "kernel_info_reply", old, `{}`)
		finish(c, cell)
		if got := <-ended; got != "ok <nil>" {
			t.Errorf("ended: %s", got)
		}
		c.End(kernel.Death{Why: "over"})
		if _, err := c.Execute(t.Context(), kernel.Cell{ID: "b"}); !errors.Is(err, kernel.ErrDead) {
			t.Errorf("a cell after death: %v", err)
		}
	})
}
