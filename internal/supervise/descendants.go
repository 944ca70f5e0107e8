package supervise

import (
	"os"
	"syscall"
	"time"

	"pawl/internal/supervise/process"
)

// AdoptOrphans makes this process the parent of every descendant whose own parent dies, if the system supports that.
// TerminateDescendants then reaches all of them. It is meant for a process that starts one program after another, none
// of which may stay behind.
func AdoptOrphans() { adoptOrphans() }

// TerminateDescendants ends every process that this process has started: it sends SIGTERM, and SIGKILL to those that
// still live after wait. It returns the processes that could not be killed. The caller must not wait for a child at the
// same time.
func TerminateDescendants(wait time.Duration) (left []int) {
	if signalDescendants(syscall.SIGTERM, wait) {
		return nil
	}
	signalDescendants(syscall.SIGKILL, killWait)
	return pids(descendants())
}

// signalDescendants sends a signal to all descendants, and reports whether they end in time.
func signalDescendants(sig syscall.Signal, wait time.Duration) bool {
	for end := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		members := descendants()
		if len(members) == 0 {
			return true
		}
		for _, m := range members {
			signalStat(m, sig) // a process that has just ended is not an error
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// descendants returns the live descendants of this process. It reaps those that have ended.
func descendants() []process.Stat {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil && err != syscall.EINTR || pid == 0 {
			break
		}
	}
	table, err := process.Table()
	if err != nil {
		return nil
	}
	self := os.Getpid()
	return process.Closure(table, func(s process.Stat) bool { return s.Parent == self })
}
