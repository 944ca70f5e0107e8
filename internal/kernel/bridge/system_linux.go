package bridge

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// attributes starts the kernel in a session of its own, so it has no terminal that input could come from. The kernel is killed when the
// thread that started it ends.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Credential: as}
}

// memory is what the system says about memory.
type memory struct {
	own   int64 // peak resident memory of this process, in bytes
	kills int64 // processes that the system has killed because memory ran out, in any cgroup
}

func readMemory() memory {
	return memory{own: field("/proc/self/status", "VmHWM:") << 10, kills: field("/proc/vmstat", "oom_kill")}
}

// peakOf returns the peak of an ended child. The system counts memory of the parent before the child's program was loaded, so a small
// value says nothing.
func (m memory) peakOf(usage *syscall.Rusage) int64 {
	peak := int64(usage.Maxrss) << 10
	if peak <= max(m.own, readMemory().own) {
		return 0
	}
	return peak
}

// peakOf returns the peak of the resident memory of a running process, in bytes; 0: unknown.
func peakOf(pid int) int64 { return field("/proc/"+strconv.Itoa(pid)+"/status", "VmHWM:") << 10 }

// field returns a number in a file of /proc; 0: there is none.
func field(path, name string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if words := bytes.Fields(line); len(words) > 1 && string(words[0]) == name {
			n, _ := strconv.ParseInt(string(words[1]), 10, 64)
			return n
		}
	}
	return 0
}
