package jupyter

import (
	"syscall"

	"golang.org/x/sys/unix"

	"pawl/internal/kernel"
)

// KillHelper kills the helper of a kernel, and waits until it is gone.
func KillHelper(of kernel.Kernel) bool {
	l := of.(*live).link.Load()
	if l == nil || l.cmd.Process.Kill() != nil {
		return false
	}
	<-l.exited
	return true
}

// SignalHelper sends a signal to the helper of a kernel.
func SignalHelper(of kernel.Kernel, sig syscall.Signal) bool {
	l := of.(*live).link.Load()
	return l != nil && l.cmd.Process.Signal(sig) == nil
}

// Waits reports whether a command waits until the helper of a kernel reads it.
func Waits(of kernel.Kernel) bool {
	l := of.(*live).link.Load()
	if l == nil {
		return false
	}
	n := 0
	commands, err := l.commands.SyscallConn()
	if err == nil {
		err = commands.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) // 0 after an error
	}
	return err == nil && n > 0
}
