package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

// live is a running kernel.
type live struct {
	*protocol.Client

	driver   Driver
	api      *api
	spec     kernel.Spec
	id       string          // of the kernel on the server
	life     context.Context // ends with the kernel
	end      context.CancelFunc
	attached bool // another process started the kernel, and it may be busy

	mu      sync.Mutex // guards the following
	session string     // of the kernel's process; empty: it uses that of the requests, or several
	dying   bool       // nothing is sent any more
	why     string     // it is dying
	closed  bool       // it was deleted on the server
}

// Stacks implements kernel.Kernel: a server has no way to get them.
func (k *live) Stacks(context.Context) (string, error) { return "", nil }

// Signal implements kernel.Kernel.
func (k *live) Signal(kernel.Signal) error {
	return fmt.Errorf("send a signal to a remote kernel: %w", errors.ErrUnsupported)
}

// die notes that the kernel is dead. Nothing is sent from now on. carry then ends the client.
func (k *live) die(why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.dying {
		k.dying, k.why = true, why
		k.end()
	}
}

func (k *live) isDying() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dying
}

// link is a connection to a kernel.
type link struct {
	kernel *live
	conn   *websocket.Conn
}

// Send implements protocol.Conn. A message that was not written as a whole has no effect.
func (l *link) Send(channel, kind, id string, content any) error {
	k := l.kernel
	k.mu.Lock()
	over := k.dying || k.closed
	k.mu.Unlock()
	if over {
		return kernel.ErrDead
	}
	data, err := encode(l.conn.Subprotocol(), channel, k.spec.Session, kind, id, content)
	if err != nil {
		return err
	}
	as := websocket.MessageText
	if l.conn.Subprotocol() == v1 {
		as = websocket.MessageBinary
	}
	return l.conn.Write(k.life, as, data)
}

// Mark implements protocol.Conn. The server answers a ping after what it has already sent, and the answer is read after that was delivered.
func (l *link) Mark(request string) {
	go func() {
		if l.conn.Ping(l.kernel.life) == nil {
			l.kernel.MarkBack(request)
		}
	}()
}

// Interrupt implements kernel.Kernel.
func (k *live) Interrupt(ctx context.Context) error {
	if !k.Interrupted() || k.isDying() {
		return nil
	}
	if err := k.api.call(ctx, http.MethodPost, nil, nil, "kernels", k.id, "interrupt"); err != nil && !errors.Is(err, errNotFound) {
		return fmt.Errorf("interrupt the remote kernel: %w", err)
	}
	return nil
}

const (
	deleteTries = 3
	deleteLimit = 20 * time.Second // in all, also if the caller's context has ended: else the kernel would stay on the server
)

// Close implements kernel.Kernel. It interrupts a running cell, so that its clean-up runs, and deletes the kernel on the server, also one
// that the server has restarted.
func (k *live) Close(ctx context.Context) error {
	k.mu.Lock()
	closed := k.closed
	k.closed = true
	k.mu.Unlock()
	var err error
	if !closed {
		_ = k.Interrupt(ctx) // the kernel is deleted all the same
		err = k.remove(ctx)
	}
	k.leave("shut down")
	if err != nil {
		k.mu.Lock()
		k.closed = false // the next call tries again
		k.mu.Unlock()
		return fmt.Errorf("kernel %s may still run on the Jupyter server at %s: %w", k.id, k.api.base, err)
	}
	return nil
}

// leave ends the connection. The kernel stays on the server.
func (k *live) leave(why string) {
	k.die(why)
	<-k.Done()
	k.api.client.CloseIdleConnections()
}

func (k *live) remove(ctx context.Context) (err error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteLimit)
	defer cancel()
	for pause, try := time.Duration(0), 0; try < deleteTries; pause, try = 4*pause+100*time.Millisecond, try+1 {
		select {
		case <-limited.Done():
			return err
		case <-time.After(pause):
		}
		err = k.api.call(limited, http.MethodDelete, nil, nil, "kernels", k.id)
		if err == nil || errors.Is(err, errNotFound) {
			return nil
		}
	}
	return err
}
