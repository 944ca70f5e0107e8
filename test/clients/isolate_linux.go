package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolated restarts this command in a separate network namespace, waits for it, and returns how it ended. If the system refuses that,
// it returns an error or, if open is set, prints a warning.
func isolated(ctx context.Context, args []string, open bool, out io.Writer) error {
	cmd, err := startIsolated(ctx, args, out)
	if err != nil && open {
		fmt.Fprintf(out, "not isolated: %v\n", err)
		cmd = again(ctx, append(args, "-open"), out)
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start in a network namespace: %w\n"+
			"  this system does not allow one; with -open the agents run without isolation, and may reach the network", err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %w", errSaidInside, err)
	}
	return nil
}

// startIsolated creates a namespace as root or, if that fails, with a user namespace.
func startIsolated(ctx context.Context, args []string, out io.Writer) (*exec.Cmd, error) {
	var errs []error
	for _, attributes := range []*syscall.SysProcAttr{
		{Cloneflags: unix.CLONE_NEWNET},
		{
			Cloneflags:  unix.CLONE_NEWNET | unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		},
	} {
		cmd := again(ctx, append(args, "-open=false"), out) // in its namespace it must be isolated
		cmd.SysProcAttr = attributes
		err := cmd.Start()
		if err == nil {
			return cmd, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// again is this command once more. When ctx ends it is asked to end, too.
func again(ctx context.Context, args []string, out io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args[1:]...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// loopbackOnly brings the loopback up and checks that it is the only interface.
func loopbackOnly() error {
	if err := raise("lo"); err != nil {
		return fmt.Errorf("bring up the loopback: %w", err)
	}
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return fmt.Errorf("the namespace has a way out: %s", i.Name)
		}
	}
	return nil
}

// raise is `ip link set NAME up`.
func raise(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
