package jupyter

import "pawl/internal/kernel"

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
