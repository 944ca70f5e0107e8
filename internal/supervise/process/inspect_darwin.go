package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Limitations describes what macOS does not reveal about other processes.
const Limitations = "macOS does not say at which ports processes listen, which files they write, or with which environment they were " +
	"started: what left the session of its step is not seen"

var errUnknown = errors.New("not known on macOS")

// Command returns the name of a process's program.
func Command(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Proc.P_comm[:])
}

// Dir returns "": macOS does not reveal it.
func Dir(int) string { return "" }

// Listens fails: macOS does not reveal it.
func Listens(int) ([]string, error) { return nil, errUnknown }

// Writes fails: macOS does not reveal it.
func Writes(int, string) ([]string, error) { return nil, errUnknown }

// Written fails: macOS does not reveal it.
func Written(int) (uint64, error) { return 0, errUnknown }
