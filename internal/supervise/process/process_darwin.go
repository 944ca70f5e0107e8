package process

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// Table returns all processes. One that starts or ends meanwhile may be missing.
func Table() ([]Stat, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	table := make([]Stat, len(infos))
	for i := range infos {
		table[i] = statOf(&infos[i])
	}
	return table, nil
}

// Of returns the table's line for the process that has this number now, or ErrGone.
func Of(pid int) (Stat, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return Stat{}, ErrGone // for a number that is not in use the answer is empty, EIO
	}
	return statOf(info), nil
}

// The states of a process in sys/proc.h.
const (
	stopped = 4 // SSTOP
	zombie  = 5 // SZOMB
)

// statOf leaves CPU at 0: the table does not have it. Start is in microseconds since 1970.
func statOf(info *unix.KinfoProc) Stat {
	pid := int(info.Proc.P_pid)
	session, _ := unix.Getsid(pid) // 0 where it is not to be had: then it is in no session that we know
	start := info.Proc.P_starttime
	return Stat{
		PID: pid, Parent: int(info.Eproc.Ppid), Session: session,
		Start:   uint64(start.Sec)*1e6 + uint64(start.Usec),
		Stopped: info.Proc.P_stat == stopped, Dead: info.Proc.P_stat == zombie,
	}
}

// StartedAt returns when the process started, by the clock of Uptime.
func StartedAt(start uint64) time.Duration { return time.Duration(start) * time.Microsecond }

// MeasuresCPU says that Stat.CPU is known.
const MeasuresCPU = false

// Carries reports false: other processes' environments are not read here.
func Carries(int, string) bool { return false }

// Environ returns nil: other processes' environments are not read here.
func Environ(int) []string { return nil }

var bootID = sync.OnceValue(func() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
})

func pidNamespace() string { return "" }

// Uptime returns the time since 1970: a clock that all processes share and that stands still in sleep is not at hand.
func Uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }

// Asleep returns 0: time asleep is not measured here.
func Asleep() time.Duration { return 0 }

// handle is a process by its number: there are no pidfds.
type handle int

func open(pid int) (handle, error)               { return handle(pid), nil }
func (h handle) signal(sig syscall.Signal) error { return unix.Kill(int(h), sig) }
func (handle) sure() bool                        { return false }
func (handle) close()                            {}

// Guarantees says what this system offers to tell processes apart.
func Guarantees() []pawl.Finding {
	return []pawl.Finding{
		{Level: pawl.Warn, What: "no pidfds on macOS: a process number reused within microseconds could be signalled"},
		{Level: pawl.Warn, What: "time asleep and other processes' processor time are not measured on macOS: stall limits are not enforced"},
	}
}
