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
	k := &live{driver: d, api: api, spec: spec}
	info, err := k.create(ctx)
	if err != nil {
		api.client.CloseIdleConnections()
		return nil, fmt.Errorf("start a remote kernel: %w", err)
	}
	k.Client = protocol.NewClient(spec, info, emit)
	k.life, k.end = context.WithCancel(context.WithoutCancel(ctx))
	limited, cancel := context.WithTimeout(ctx, spec.StartLimit)
	defer cancel()
	l, err := k.connect(limited)
	if err == nil {
		k.Connected(l)
		go k.carry(l)
		err = k.awaitReady(limited)
	} else {
		k.die("never connected")
		k.End(kernel.Death{Why: "never connected"})
	}
	if err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			err = fmt.Errorf("the kernel was not ready within %s", spec.StartLimit)
		}
		if k.attached { // it has the variables of others, and perhaps runs a cell
			k.leave("never ready")
			return nil, fmt.Errorf("attach to a remote kernel: %w", err)
		}
		return nil, fmt.Errorf("start a remote kernel: %w", errors.Join(err, k.Close(ctx)))
	}
	return k, nil
}

// create starts the kernel on the server, or finds the one to attach to. Once the request is sent, its answer is awaited also if ctx
// ends: without the id in it, nobody could end the kernel.
func (k *live) create(ctx context.Context) (kernel.Info, error) {
	var found model
	name := k.spec.Name
	if id := k.spec.Extra[KernelID]; id != "" {
		if err := k.api.call(ctx, http.MethodGet, nil, &found, "kernels", id); err != nil {
			return kernel.Info{}, fmt.Errorf("kernel %s: %w", id, err)
		}
		k.id, k.attached, name = id, true, found.Name
	}
	info, err := k.api.choose(ctx, name)
	if err != nil {
		return info, err
	}
	if k.id == "" {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.spec.StartLimit)
		defer cancel()
		if err := k.api.call(limited, http.MethodPost, map[string]string{"name": info.Name}, &found, "kernels"); err != nil {
			return info, err
		}
		if k.id = found.ID; k.id == "" {
			return info, errors.New("the server does not name the kernel that it started")
		}
	}
	info.KernelID, info.ExtraLost = k.id, mayLose
	return info, nil
}

func (k *live) connect(ctx context.Context) (*link, error) {
	subprotocols := []string{v1}
	if k.driver.defaultProtocol {
		subprotocols = nil
	}
	conn, err := k.api.connect(ctx, k.id, k.spec.Session, subprotocols)
	if err != nil {
		return nil, err
	}
	return &link{k, conn}, nil
}

// busyAnswer is how long a kernel to attach to has to say what it is. It may run a cell, and then answers only afterwards. Whether it does, the
// server cannot tell: its status is that of the last message, also of a message about something else than the cell.
const busyAnswer = 2 * time.Second

func (k *live) awaitReady(ctx context.Context) error {
	begun := time.Now()
	return k.AwaitReady(ctx, func() error {
		if k.attached && time.Since(begun) > busyAnswer {
			k.Ready()
		}
		return nil
	})
}
