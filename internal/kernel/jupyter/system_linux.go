package jupyter

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"pawl"
	"pawl/internal/account"
)

// maxrssUnit is the unit of the peak of resident memory in bytes.
const maxrssUnit = 1024

// attributes start a child in a process group of its own, as a user unless that is nil. It dies with the thread that started it.
func attributes(as *pawl.Account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: account.Credential(as)}
}

// peak returns the maximum resident memory of a process, in bytes; 0 if it is unknown.
func peak(pid int) int64 {
	kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(statusOf(pid, "VmHWM:"), " kB"), 10, 64)
	return kilobytes * 1024
}

// catches reports whether a process has a handler for a signal. Without one, most signals would end it.
func catches(pid int, sig syscall.Signal) bool {
	set, err := strconv.ParseUint(statusOf(pid, "SigCgt:"), 16, 64)
	return err == nil && set&(1<<(uint(sig)-1)) != 0
}

// statusOf returns a field of /proc/PID/status.
func statusOf(pid int, field string) string {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // it may have ended
	for line := range strings.Lines(string(data)) {
		if value, is := strings.CutPrefix(line, field); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// killedForMemory returns how many processes the system has killed for want of memory: on the whole machine.
func killedForMemory() (n uint64) {
	data, _ := os.ReadFile("/proc/vmstat")
	for line := range strings.Lines(string(data)) {
		if value, is := strings.CutPrefix(line, "oom_kill "); is {
			n, _ = strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		}
	}
	return n
}
