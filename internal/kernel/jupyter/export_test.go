package jupyter

import (
	"strings"
	"syscall"

	"pawl/internal/kernel"
)

// KillHelper kills the helper of a kernel, and waits until it is gone.
func KillHelper(of kernel.Kernel) bool {
	k := of.(*live)
	k.mu.Lock()
	l := k.link
	k.mu.Unlock()
	if l == nil || l.cmd.Process.Kill() != nil {
		return false
	}
	<-l.exited
	return true
}

// SignalHelper sends a signal to the helper of a kernel.
func SignalHelper(of kernel.Kernel, sig syscall.Signal) bool {
	k := of.(*live)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.link != nil && k.link.cmd.Process.Signal(sig) == nil
}

// Sent reports whether the helper of a kernel was told to send a cell.
func Sent(of kernel.Kernel, cell kernel.CellID) bool {
	k := of.(*live)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cell != nil && strings.HasSuffix(k.cell.progress.Request(), "/"+string(cell)) && k.cell.sent
}
