package bridge

import "syscall"

// attributes starts the kernel in a session of its own, so it has no terminal that input could come from. When this process ends, the
// kernel reads the end of its requests, and ends after the running cell.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: as}
}

// memory is what the system says about memory: on macOS only the peak of an ended child.
type memory struct{ kills int64 }

func readMemory() memory { return memory{} }

// peakOf returns the peak of an ended child, in bytes.
func (memory) peakOf(usage *syscall.Rusage) int64 { return usage.Maxrss }

// peakOf returns 0: unknown.
func peakOf(int) int64 { return 0 }
