package process

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// tick is the unit of CPU and start times in /proc: USER_HZ is 100 on all of Go's architectures.
const tick = 10 * time.Millisecond

// Table returns all processes. Processes that start or end during the call may be missing.
func Table() ([]Stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	table := make([]Stat, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := Of(pid); err == nil {
			table = append(table, s)
		}
	}
	return table, nil
}

// Of returns the table entry of the process that has this number now, or ErrGone.
func Of(pid int) (Stat, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0) // os.ReadFile would try to poll it
	if err != nil {
		return Stat{}, gone(err)
	}
	defer unix.Close(fd)
	data := make([]byte, 4<<10)
	n, err := unix.Read(fd, data)
	if err != nil {
		return Stat{}, gone(err)
	}
	return parseStat(data[:n])
}

// parseStat parses /proc/PID/stat. The second field, the program's name, may contain anything, even ") R 1"; the third
// field of proc(5) follows the last ')'.
func parseStat(data []byte) (Stat, error) {
	pid, _, _ := bytes.Cut(data, []byte(" "))
	end := bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[end+1:]))
	if end < 0 || len(fields) < 20 {
		return Stat{}, fmt.Errorf("/proc/PID/stat: cannot read %q", data)
	}
	var failed error
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		failed = errors.Join(failed, err)
		return n
	}
	cpu := number(fields[11]) + number(fields[12]) + number(fields[13]) + number(fields[14])
	s := Stat{
		PID: int(number(string(pid))), Parent: int(number(fields[1])), Session: int(number(fields[3])),
		Start: number(fields[19]), CPU: time.Duration(cpu) * tick,
		Stopped: strings.Contains("Tt", fields[0]), Dead: strings.Contains("ZXx", fields[0]),
		Exiting: number(fields[6])&flagExiting != 0,
	}
	return s, failed
}

// flagExiting is PF_EXITING of the kernel.
const flagExiting = 0x4

// killed reports whether a process has SIGKILL pending: it has not noticed yet that it was killed.
func killed(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		name, mask, _ := strings.Cut(line, ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if pending, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64); err == nil && pending>>(syscall.SIGKILL-1)&1 == 1 {
			return true
		}
	}
	return false
}

// StartedAt returns when the process started, as time since the system's start, including time asleep.
func StartedAt(start uint64) time.Duration { return time.Duration(start) * tick }

// MeasuresCPU reports whether Stat.CPU is set.
const MeasuresCPU = true

// ReadsEnviron reports whether HasVariable can see a variable of another process.
const ReadsEnviron = true

// HasVariable reports whether the process was started with this variable, given as NAME=VALUE, in its environment.
func HasVariable(pid int, variable string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, data...), []byte("\x00"+variable+"\x00"))
}

// Environ returns the environment that the process was started with, or nil if it is unreadable.
func Environ(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
}

// BootID returns the system's boot ID; "" if it has none. Tests of power cuts replace it.
var BootID = sync.OnceValue(func() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, boots are not distinguished; doctor warns
	return strings.TrimSpace(string(data))
})

var pidNamespace = sync.OnceValue(func() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
})

// Uptime returns how long the system has been up, without time asleep.
func Uptime() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

// Asleep returns how long the system has been asleep since it started.
func Asleep() time.Duration {
	asleep := time.Duration(math.MaxInt64)
	for range tries { // between the two clocks this process may have to wait for a processor, which is no sleep of the system
		awake := clock(unix.CLOCK_MONOTONIC) // read first, so that the difference cannot be negative
		asleep = min(asleep, clock(unix.CLOCK_BOOTTIME)-awake)
	}
	return asleep.Round(10 * time.Millisecond)
}

// Booted returns when the system started, by its clock now. StartedAt is relative to that.
func Booted() time.Time {
	return booted(func() reading {
		before := clock(unix.CLOCK_BOOTTIME)
		return reading{before: before, now: time.Now(), after: clock(unix.CLOCK_BOOTTIME)}
	})
}

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// handle is a pidfd: it never refers to a later process with the same number. On systems without pidfds, such as some
// sandboxes, it is only the number, and a window of microseconds between check and signal remains.
type handle struct{ pid, fd int }

func open(pid int) (handle, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return handle{pid: pid, fd: -1}, nil
	}
	return handle{pid: pid, fd: fd}, gone(err)
}

func (h handle) signal(sig syscall.Signal) error {
	if h.fd < 0 {
		return unix.Kill(h.pid, sig)
	}
	return unix.PidfdSendSignal(h.fd, sig, nil, 0)
}

// sure reports whether the handle refers to one process only.
func (h handle) sure() bool { return h.fd >= 0 }

func (h handle) close() {
	if h.fd >= 0 {
		unix.Close(h.fd)
	}
}

// Guarantees reports how well this system distinguishes processes.
func Guarantees() []pawl.Finding {
	return []pawl.Finding{pidfds(), boots(), namespaces()}
}

func pidfds() pawl.Finding {
	h, err := open(os.Getpid())
	defer h.close()
	if err == nil && h.fd >= 0 {
		return pawl.Finding{Level: pawl.OK, What: "pidfds are available: signals cannot reach another process after a PID is reused"}
	}
	return pawl.Finding{Level: pawl.Warn, What: "no pidfds: a signal could reach another process if a PID is reused within microseconds"}
}

func boots() pawl.Finding {
	if id := BootID(); id != "" {
		return pawl.Finding{Level: pawl.OK, What: "the boot ID is available: processes of an earlier boot are recognized", Evidence: "boot id " + id}
	}
	return pawl.Finding{Level: pawl.Warn, What: "no boot ID: processes of an earlier boot are recognized by their start times only"}
}

func namespaces() pawl.Finding {
	if name := pidNamespace(); name != "" {
		return pawl.Finding{Level: pawl.OK, What: "PID namespaces are distinguished", Evidence: name}
	}
	return pawl.Finding{Level: pawl.Warn, What: "PID namespaces cannot be distinguished: do not share a project between containers"}
}

// SignalMain sends a signal to the main thread of a process. A signal to the process could reach another thread.
func SignalMain(pid int, sig syscall.Signal) error { return unix.Tgkill(pid, pid, sig) }
