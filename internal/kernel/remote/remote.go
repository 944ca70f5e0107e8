// Package remote is the driver "remote": kernels of a Jupyter server or a kernel gateway, by its REST API and one WebSocket.
//
// If the connection is cut, the kernel keeps running. The driver connects again with the same session, and the server sends what was missed.
// A server restarts a kernel that has died by itself. The new one has no variables, so the driver takes the kernel for dead, and never
// sends it anything.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/kernel/protocol"
)

// Driver starts kernels on a Jupyter server.
type Driver struct {
	// Reconnect is how long the connection may be lost until the kernel is given up. Defaults to 10 minutes.
	Reconnect time.Duration

	defaultProtocol bool // for tests: without the newer protocol of the WebSocket
}

// KernelID is the key of Spec.Extra that names a running kernel to attach to, in place of a new one.
const KernelID = "kernel_id"

const defaultReconnect = 10 * time.Minute

// mayLose is Info.ExtraLost. The server does not say what its limits are.
const mayLose = "the server drops output above its limits: start it with --ServerApp.iopub_msg_rate_limit=0 --ServerApp.iopub_data_rate_limit=0; " +
	"output that is under way when a connection breaks is lost"

var _ kernel.Driver = Driver{}

// Start implements kernel.Driver. The working folder and the environment of the kernel are those of the server.
func (d Driver) Start(ctx context.Context, spec kernel.Spec, emit func(kernel.Message)) (kernel.Kernel, error) {
	if spec.StartLimit <= 0 {
		spec.StartLimit = kernel.DefaultStartLimit
	}
	if spec.Silence <= 0 {
		spec.Silence = kernel.DefaultSilence
	}
	if d.Reconnect <= 0 {
		d.Reconnect = defaultReconnect
	}
	if spec.Session == "" {
		spec.Session = disk.RandomHex(16)
	}
	api, err := newAPI(spec.Server)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	k := &live{
		driver: d, api: api, spec: spec, emit: emit, life: life, end: end, requests: protocol.Requests{Tag: disk.RandomHex(4)},
		ready: make(chan struct{}), done: make(chan struct{}), relinked: make(chan struct{}),
	}
	if err := k.create(ctx); err != nil {
		end()
		api.client.CloseIdleConnections()
		return nil, fmt.Errorf("start a remote kernel: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, spec.StartLimit)
	defer cancel()
	s, err := k.connect(limited)
	if err == nil {
		k.setSocket(s)
		go k.carry(s)
		err = k.awaitReady(limited)
	} else {
		k.die("never connected")
		close(k.done)
	}
	if err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			err = fmt.Errorf("the kernel was not ready within %s", spec.StartLimit)
		}
		return nil, fmt.Errorf("start a remote kernel: %w", errors.Join(err, k.Close(ctx)))
	}
	return k, nil
}

// create starts the kernel on the server, or finds the one to attach to. Once the request is sent, its answer is awaited also if ctx
// ends: without the id in it, nobody could end the kernel.
func (k *live) create(ctx context.Context) error {
	var found model
	if id := k.spec.Extra[KernelID]; id != "" {
		if err := k.api.call(ctx, http.MethodGet, nil, &found, "kernels", id); err != nil {
			return fmt.Errorf("kernel %s: %w", id, err)
		}
		k.attached, k.id, k.spec.Name = true, id, found.Name
		k.busy = found.State == "busy"
	}
	var err error
	if k.info, err = k.api.choose(ctx, k.spec.Name); err != nil {
		return err
	}
	if !k.attached {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.spec.StartLimit)
		defer cancel()
		if err := k.api.call(limited, http.MethodPost, map[string]string{"name": k.info.Name}, &found, "kernels"); err != nil {
			return err
		}
		if k.id = found.ID; k.id == "" {
			return errors.New("the server does not name the kernel that it started")
		}
	}
	k.info.KernelID, k.info.ExtraLost = k.id, mayLose
	return nil
}

func (k *live) connect(ctx context.Context) (*socket, error) {
	subprotocols := []string{v1}
	if k.driver.defaultProtocol {
		subprotocols = nil
	}
	return k.api.connect(ctx, k.id, k.spec.Session, subprotocols)
}

const (
	askEvery   = 500 * time.Millisecond // requests and messages can get lost before the server's connections are complete
	busyAnswer = 2 * time.Second        // how long a busy kernel to attach to has to say what it is
)

// awaitReady asks the kernel what it is until it has answered and published something.
func (k *live) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	begun := time.Now()
	for {
		if err := k.send(ctx, "kernel_info_request", k.requests.ID(protocol.PurposeInfo, ""), struct{}{}); err != nil {
			return err
		}
		select {
		case <-k.ready:
			return nil
		case <-k.done:
			return fmt.Errorf("%w: %s", kernel.ErrDead, k.death.Why)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if k.busy && time.Since(begun) > busyAnswer {
			k.mu.Lock()
			k.setReady()
			k.mu.Unlock()
			return nil
		}
	}
}
