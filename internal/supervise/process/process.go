// Package process knows processes beyond the reuse of their numbers: who they are, whom they started, and how to signal
// one without ever reaching another that got its number.
package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

var (
	// ErrGone means that the process is no more, whoever has its number now.
	ErrGone = errors.New("no such process any more")
	// ErrElsewhere means that the process is in another pid namespace: its number says nothing here.
	ErrElsewhere = errors.New("the process is in another pid namespace")
	// ErrUnsure means that a process cannot be told from another one with the same number.
	ErrUnsure = errors.New("this system cannot tell the process from another one with the same number")
)

// Stat is one line of the process table.
type Stat struct {
	PID     int
	Parent  int
	Session int
	Start   uint64        // as in pawl.Process
	CPU     time.Duration // used by it and by the children that it has waited for
	Stopped bool          // by a signal or a debugger
	Dead    bool          // only its entry is left
}

// Identify returns what identifies the process with this number now.
func Identify(pid int) (pawl.Process, error) {
	stat, err := Of(pid)
	if err != nil {
		return pawl.Process{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return pawl.Process{PID: pid, Start: stat.Start, BootID: bootID(), PIDNS: pidNamespace()}, nil
}

// Find returns what the table says of this very process. ErrGone, ErrElsewhere: see there.
func Find(p pawl.Process) (Stat, error) {
	if p.PID <= 0 || !SameBoot(p) {
		return Stat{}, ErrGone
	}
	if here := pidNamespace(); p.PIDNS != "" && here != "" && p.PIDNS != here {
		return Stat{}, ErrElsewhere
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

// SameBoot reports whether the process was seen in this boot of the system.
func SameBoot(p pawl.Process) bool { return p.BootID == "" || p.BootID == bootID() }

// Signal sends a signal to this very process, or says why not: ErrGone, ErrElsewhere, or the system's error. The
// handle is opened before the identity is compared, so that the signal cannot reach a successor with the same number.
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

// KillSurely kills this very process. Where its identity is not on record in full, or the system has no handles on
// processes, it does nothing: ErrUnsure. unless is asked once the handle is open and the identity is the same; its error
// leaves the process alive.
func KillSurely(p pawl.Process, unless func() error) error {
	switch {
	case p.PID <= 0:
		return ErrGone
	case p.BootID == "" || p.PIDNS == "" || bootID() == "":
		return ErrUnsure
	}
	h, err := open(p.PID)
	if err != nil {
		return err
	}
	defer h.close()
	if !h.sure() {
		return ErrUnsure
	}
	if _, err := Find(p); err != nil {
		return err
	}
	if err := unless(); err != nil {
		return err
	}
	return gone(h.signal(syscall.SIGKILL))
}

// gone makes ErrGone of what the system says of a process that is not there.
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrNotExist) {
		return ErrGone
	}
	return err
}

// Below returns the live processes of the session root that are not root, and all descendants of these and of root.
// It is pure; the table is in any order.
func Below(table []Stat, root int) []Stat {
	return Closure(table, func(s Stat) bool { return s.PID != root && (s.Parent == root || s.Session == root) })
}

// Closure returns the live processes that are seeds, and all live descendants of seeds. It is pure.
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

// Held reports whether a process holds the lock on the file at path. A missing file is held by nobody.
//
// It asks for a shared lock: two that ask for an exclusive one at the same time would take each other for the holder.
func Held(path string) (bool, error) {
	f, err := os.Open(path)
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

// Ancestors returns the process and all those from which it descends. It is pure.
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
