// Package jupyter is the driver "jupyter": it runs any Jupyter kernel that is installed on this machine, in any language.
//
// It finds kernelspecs where Jupyter does, without running Jupyter, and starts the kernel itself. An embedded Python program, the helper,
// carries the messages by jupyter_client, the library of Jupyter. All rules of the protocol are in this package. If the helper dies, a new
// one takes over in the middle of a cell; no code is sent again for that.
//
// Kernels listen on Unix sockets in a folder that no other user can enter. A kernel that cannot do that listens on TCP ports of this
// machine, where any user of it can read the output; a message of the kernel says so.
package jupyter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// Driver starts Jupyter kernels.
type Driver struct{}

var _ kernel.Driver = Driver{}

var (
	errNoSockets  = errors.New("the kernel does not listen on Unix sockets")
	errPortsTaken = errors.New("another program took a port of the kernel")
)

// Start starts the kernel that spec.Name names, and waits until it answers requests and publishes output.
func (Driver) Start(ctx context.Context, spec kernel.Spec, emit func(kernel.Message)) (kernel.Kernel, error) {
	spec, err := withDefaults(spec)
	if err != nil {
		return nil, err
	}
	found, err := findSpec(spec)
	if err != nil {
		return nil, err
	}
	c, err := found.command(spec)
	if err != nil {
		return nil, err
	}
	if err := prepare(spec); err != nil {
		return nil, err
	}
	late := fmt.Errorf("kernel %s is not ready after %s", found.name, spec.StartLimit)
	limited, cancel := context.WithTimeoutCause(ctx, spec.StartLimit, late)
	defer cancel()
	if !c.tcp {
		k, err := launch(ctx, limited, spec, found, c, emit)
		if !errors.Is(err, errNoSockets) {
			return started(k, err)
		}
		c.tcp = true
	}
	emit(kernel.Message{Time: time.Now(), Kind: kernel.KindStatus,
		Text: "kernel " + found.name + " cannot use Unix sockets; other users of this machine can read its output over TCP"})
	k, err := launch(ctx, limited, spec, found, c, emit)
	if errors.Is(err, errPortsTaken) {
		k, err = launch(ctx, limited, spec, found, c, emit)
	}
	return started(k, err)
}

// started returns the kernel as an interface, which must not hold a nil pointer.
func started(k *live, err error) (kernel.Kernel, error) {
	if err != nil {
		return nil, err
	}
	return k, nil
}

func withDefaults(spec kernel.Spec) (kernel.Spec, error) {
	if spec.StartLimit <= 0 {
		spec.StartLimit = kernel.DefaultStartLimit
	}
	if spec.Silence <= 0 {
		spec.Silence = kernel.DefaultSilence
	}
	if spec.Session == "" {
		spec.Session = disk.RandomHex(16)
	}
	if spec.Log == "" {
		spec.Log = filepath.Join(spec.Runtime, "log")
	}
	for _, path := range []string{spec.Dir, spec.Runtime, spec.Log} {
		if !filepath.IsAbs(path) {
			return spec, fmt.Errorf("path %q of the kernel's Spec is not absolute", path)
		}
	}
	return spec, nil
}

// launch starts the kernel and a helper, and waits until the kernel is ready. limited ends when it must be.
func launch(ctx, limited context.Context, spec kernel.Spec, found *kernelSpec, c command, emit func(kernel.Message)) (*live, error) {
	if err := writeConnection(spec, found.name, c.tcp); err != nil {
		return nil, err
	}
	_ = os.Remove(stacksFile(spec)) // of a kernel before
	leader, err := startLeader(c, spec)
	if err != nil {
		return nil, err
	}
	if spec.Process != nil {
		spec.Process(leader.pid)
	}
	k := newLive(spec, found, c, leader, emit)
	l, python, err := connect(limited, spec, c.interpreters(spec), leader.pid)
	if err != nil {
		leader.kill("its helper did not start")
		<-leader.dead
		leader.sweep()
		return nil, err
	}
	k.python = python
	k.connected(l)
	go k.carry(context.WithoutCancel(ctx), l)
	if err := k.awaitReady(limited); err != nil {
		k.discard("the kernel did not become ready")
		return nil, k.explain(err)
	}
	return k, nil
}

// awaitReady waits until the kernel is ready. A kernel that does not listen on its sockets after half of the time never will.
func (k *live) awaitReady(limited context.Context) error {
	deadline, _ := limited.Deadline()
	begun := time.Now()
	half := begun.Add(deadline.Sub(begun) / 2)
	return k.AwaitReady(limited, func() error {
		if time.Now().After(half) && !k.command.tcp && !k.found.isIPython() && !disk.Exists(socketPath(k.spec, 1)) {
			return errNoSockets
		}
		return nil
	})
}

// explain says why a kernel did not start, with its last own output, and how to fix it.
func (k *live) explain(err error) error {
	if errors.Is(err, errNoSockets) || !errors.Is(err, kernel.ErrDead) {
		return err
	}
	said := logTail(k.spec.Log)
	if k.command.tcp && (strings.Contains(said, "ddress already in use") || strings.Contains(said, "EADDRINUSE")) {
		return errPortsTaken
	}
	fault := &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("kernel %s %s before it was ready", k.found.name, k.Death().Why)}
	if strings.Contains(said, "No module named ipykernel") {
		fault.Err = fmt.Errorf("%s (%s) has no ipykernel", k.command.interpreter.Path, k.command.interpreter.Why)
		fault.Hint = "install it: " + installs(k.command.interpreter.Path, "ipykernel")
	} else if said != "" {
		fault.Err = fmt.Errorf("%w:\n%s", fault.Err, said)
	}
	return fault
}
