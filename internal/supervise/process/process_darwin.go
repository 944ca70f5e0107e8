package process

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// Table returns all processes. Processes that start or end during the call may be missing.
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

// Of returns the table entry of the process that has this number now, or ErrGone.
func Of(pid int) (Stat, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return Stat{}, ErrGone // the answer for an unused number is empty, EIO
	}
	return statOf(info), nil
}

// States of a process in sys/proc.h.
const (
	stopped = 4 // SSTOP
	zombie  = 5 // SZOMB
)

// statOf leaves CPU at 0, since the table does not contain it. Start is in microseconds since 1970.
func statOf(info *unix.KinfoProc) Stat {
	pid := int(info.Proc.P_pid)
	session, _ := unix.Getsid(pid) // 0 if unknown: then it is in no known session
	start := info.Proc.P_starttime
	return Stat{
		PID: pid, Parent: int(info.Eproc.Ppid), Session: session,
		Start:   uint64(start.Sec)*1e6 + uint64(start.Usec),
		Stopped: info.Proc.P_stat == stopped, Dead: info.Proc.P_stat == zombie,
	}
}

// StartedAt returns when the process started, on the clock of Uptime.
func StartedAt(start uint64) time.Duration { return time.Duration(start) * time.Microsecond }

// MeasuresCPU reports whether Stat.CPU is set.
const MeasuresCPU = false

// ReadsEnviron reports whether HasVariable can see a variable of another process.
const ReadsEnviron = false

// HasVariable returns false: environments of other processes are not read on macOS.
func HasVariable(int, string) bool { return false }

// Environ returns nil: environments of other processes are not read on macOS.
func Environ(int) []string { return nil }

// BootID returns the system's boot ID.
var BootID = sync.OnceValue(func() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
})

func pidNamespace() string { return "" }

// Uptime returns the time since 1970, since macOS offers no clock that all processes share and that stops during sleep.
func Uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }

// Booted returns the origin of StartedAt.
func Booted() time.Time { return time.Unix(0, 0) }

// Asleep returns 0: time asleep is not measured on macOS.
func Asleep() time.Duration { return 0 }

// handle is a process number: macOS has no pidfds.
type handle int

func open(pid int) (handle, error)               { return handle(pid), nil }
func (h handle) signal(sig syscall.Signal) error { return unix.Kill(int(h), sig) }
func (handle) sure() bool                        { return false }
func (handle) close()                            {}

// Guarantees reports how well this system distinguishes processes.
func Guarantees() []pawl.Finding {
	return []pawl.Finding{
		{Level: pawl.Warn, What: "no pidfds on macOS: a signal could reach another process if a PID is reused within microseconds"},
		{Level: pawl.Warn, What: "time asleep and CPU time of other processes are not measured on macOS: stall limits are not enforced"},
	}
}

// killed cannot tell: macOS does not show pending signals.
func killed(int) bool { return false }

// SignalMain sends a signal to a process: macOS lets no other process choose the thread.
func SignalMain(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }
