package supervise

import (
	"os"
	"syscall"
	"time"

	"pawl/internal/supervise/process"
)

// Adopt makes this process the parent of every descendant whose own parent dies, where the system has that: then
// EndBelow reaches them all. It is for a leader that starts one thing after another, none of which may outlive its time.
func Adopt() { adoptOrphans() }

// EndBelow ends everything that this process has started, which must not wait for any of it at the same time: it is
// terminated, and what still lives after wait is killed. It returns what could not be killed.
func EndBelow(wait time.Duration) (left []int) {
	if belowEnds(syscall.SIGTERM, wait) {
		return nil
	}
	belowEnds(syscall.SIGKILL, killWait)
	return pids(below())
}

// belowEnds sends a signal to all descendants, and reports whether they are gone in time.
func belowEnds(sig syscall.Signal, wait time.Duration) bool {
	for end := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		members := below()
		if len(members) == 0 {
			return true
		}
		for _, m := range members {
			signalStat(m, sig) // one that is gone meanwhile needs none
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// below returns the live descendants of this process. Those that have ended are taken in.
func below() []process.Stat {
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
