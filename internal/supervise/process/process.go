// Package process identifies processes despite reuse of their numbers. It finds a process by number, start time, boot
// and PID namespace, finds its descendants, and signals it without ever reaching another process that got its number.
package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

var (
	// ErrGone means that the process has ended; its number may be in use again.
	ErrGone = errors.New("the process has ended")
	// ErrOtherNamespace means that the process is in another PID namespace, so its number is meaningless here.
	ErrOtherNamespace = errors.New("the process is in another PID namespace")
	// ErrUnverifiable means that the process cannot be distinguished from another one with the same number.
	ErrUnverifiable = errors.New("the process cannot be distinguished from another one with the same number")
)

// Stat is one entry of the process table.
type Stat struct {
	PID     int
	Parent  int
	Session int
	Start   uint64        // as in pawl.Process
	CPU     time.Duration // of the process and the children that it has waited for
	Stopped bool          // by a signal or a debugger
	Dead    bool          // a zombie
	Exiting bool          // it ends; false where the system does not say so
}

// Identify returns the identity of the process that has this number now.
func Identify(pid int) (pawl.Process, error) {
	stat, err := Of(pid)
	if err != nil {
		return pawl.Process{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return stat.Identity(), nil
}

// Identity returns the identity of a process of this system's table.
func (s Stat) Identity() pawl.Process {
	return pawl.Process{PID: s.PID, Start: s.Start, BootID: BootID(), PIDNS: pidNamespace()}
}

// Find returns the table entry of exactly this process, or ErrGone or ErrOtherNamespace.
func Find(p pawl.Process) (Stat, error) {
	if p.PID <= 0 || !SameBoot(p) {
		return Stat{}, ErrGone
	}
	if here := pidNamespace(); p.PIDNS != here {
		return Stat{}, ErrOtherNamespace
	}
	stat, err := Of(p.PID)
	if err != nil {
		return Stat{}, err
	}
	if stat.Start != p.Start || stat.Dead {
		return Stat{}, ErrGone
	}
	return stat, nil
}

// Dying reports whether exactly this process has ended or was killed: the system releases in a moment what it held. It is false if the
// process cannot be identified here.
func Dying(p pawl.Process) bool {
	if p.PID <= 0 || !SameBoot(p) || p.PIDNS != pidNamespace() {
		return false
	}
	stat, err := Find(p)
	if err != nil {
		return errors.Is(err, ErrGone)
	}
	return stat.Exiting || killed(p.PID)
}

// SameBoot reports whether the process was started since the system's last boot.
// A record without a boot id is of none: it may have come from another machine.
func SameBoot(p pawl.Process) bool { return p.BootID == BootID() }

// Signal sends a signal to exactly this process. It returns ErrGone, ErrOtherNamespace or the system's error. It opens
// the handle before it compares the identity, so that the signal cannot reach a later process with the same number.
func Signal(p pawl.Process, sig syscall.Signal) error {
	if p.PID <= 0 {
		return ErrGone
	}
	h, err := open(p.PID)
	if err != nil {
		return err
	}
	defer h.close()
	if _, err := Find(p); err != nil {
		return err
	}
	return gone(h.signal(sig))
}

// KillVerified kills exactly this process. If the recorded identity is incomplete or the system has no pidfds, it does
// nothing and returns ErrUnverifiable. It calls unless after it has verified the identity; if unless returns an error,
// the process stays alive.
func KillVerified(p pawl.Process, unless func() error) error {
	switch {
	case p.PID <= 0:
		return ErrGone
	case p.BootID == "" || p.PIDNS == "" || BootID() == "":
		return ErrUnverifiable
	}
	h, err := open(p.PID)
	if err != nil {
		return err
	}
	defer h.close()
	if !h.sure() {
		return ErrUnverifiable
	}
	if _, err := Find(p); err != nil {
		return err
	}
	if err := unless(); err != nil {
		return err
	}
	return gone(h.signal(syscall.SIGKILL))
}

// gone converts the system's errors for a missing process to ErrGone.
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrNotExist) {
		return ErrGone
	}
	return err
}

// Below returns the live processes in the session root and the live descendants of these and of root, without root
// itself. It is pure; the table may be in any order.
func Below(table []Stat, root int) []Stat {
	return Closure(table, func(s Stat) bool { return s.PID != root && (s.Parent == root || s.Session == root) })
}

// Closure returns the live seeds and all live descendants of seeds. It is pure.
func Closure(table []Stat, seed func(Stat) bool) []Stat {
	children := map[int][]Stat{}
	var next []Stat
	for _, s := range table {
		children[s.Parent] = append(children[s.Parent], s)
		if seed(s) {
			next = append(next, s)
		}
	}
	seen := map[int]bool{}
	var found []Stat
	for len(next) > 0 {
		s := next[0]
		next = next[1:]
		if seen[s.PID] {
			continue
		}
		seen[s.PID] = true
		next = append(next, children[s.PID]...)
		if !s.Dead {
			found = append(found, s)
		}
	}
	return found
}

// Locked reports whether a process holds the lock on the file at path. A missing file is not locked.
//
// It requests a shared lock: two concurrent requests for an exclusive one would mistake each other for the holder.
func Locked(path string) (bool, error) {
	f, err := disk.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// Ancestors returns the process and all its ancestors. It is pure.
func Ancestors(table []Stat, pid int) map[int]bool {
	parents := map[int]int{}
	for _, s := range table {
		parents[s.PID] = s.Parent
	}
	found := map[int]bool{}
	for ; pid > 0 && !found[pid]; pid = parents[pid] {
		found[pid] = true
	}
	return found
}
