package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Limitations describes what macOS does not reveal about other processes.
const Limitations = "macOS does not say at which ports processes listen, which files they write, or with which environment they were " +
	"started: pawl does not find processes that left the session of their step"

var errUnknown = errors.New("not known on macOS")

// Command returns the name of a process's program.
func Command(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(info.Proc.P_comm[:])
}

// Name returns the name of a process's program.
func Name(pid int) string { return Command(pid) }

// Args returns the arguments of a process, its program's name first, or nil if they are unknown.
func Args(pid int) []string {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(data) < 4 {
		return nil
	}
	count := int(binary.NativeEndian.Uint32(data)) // then the program's path, padding, the arguments, the environment
	_, rest, _ := bytes.Cut(data[4:], []byte{0})
	parts := strings.Split(string(bytes.TrimLeft(rest, "\x00")), "\x00")
	return parts[:min(count, len(parts))]
}

// Program returns the name of the program that a process executes, or "" if that is unknown.
func Program(pid int) string { return Command(pid) }

// Self returns the number of this process in the process table.
func Self() int { return os.Getpid() }

// Groups returns "": macOS has no control groups.
func Groups() string { return "" }

// Dir returns "": macOS does not reveal it.
func Dir(int) string { return "" }

// Listens fails: macOS does not reveal it.
func Listens(int) ([]string, error) { return nil, errUnknown }

// Writes fails: macOS does not reveal it.
func Writes(int, string) ([]string, error) { return nil, errUnknown }

// Written fails: macOS does not reveal it.
func Written(int) (uint64, error) { return 0, errUnknown }

// Memory is not known here.
func Memory(int) (resident, virtual int64, err error) { return 0, 0, errUnknown }
