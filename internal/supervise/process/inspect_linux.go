package process

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Limitations describes what the system does not reveal about other processes; nothing on Linux.
const Limitations = ""

func proc(pid int, names ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(pid)}, names...)...)
}

// Command returns the command line of a process, or the name of its program.
func Command(pid int) string {
	data, err := os.ReadFile(proc(pid, "cmdline"))
	if text := strings.Join(strings.Fields(strings.ReplaceAll(string(data), "\x00", " ")), " "); err == nil && text != "" {
		return text
	}
	data, _ = os.ReadFile(proc(pid, "comm")) // a process that is ending has no command line
	return strings.TrimSpace(string(data))
}

// Name returns the name of a process's program, without its arguments, which may contain secrets.
func Name(pid int) string {
	data, _ := os.ReadFile(proc(pid, "comm"))
	return strings.TrimSpace(string(data))
}

// Args returns the arguments of a process, its program's name first, or nil if they are unknown.
func Args(pid int) []string {
	data, err := os.ReadFile(proc(pid, "cmdline"))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// Program returns the path of the program that a process executes, or "" if that is unknown.
func Program(pid int) string {
	path, err := os.Readlink(proc(pid, "exe"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// Self returns the number of this process in the process table. It differs from os.Getpid where /proc shows an outer
// PID namespace.
func Self() int {
	name, err := os.Readlink("/proc/self")
	if err != nil {
		return os.Getpid()
	}
	pid, err := strconv.Atoi(name)
	if err != nil {
		return os.Getpid()
	}
	return pid
}

// Groups returns the control groups (version 2) of this process, or "" if they are unknown.
func Groups() string {
	data, _ := os.ReadFile("/proc/self/cgroup")
	return string(data)
}

// Dir returns the working directory of a process, or "" if that is unknown.
func Dir(pid int) string {
	dir, err := os.Readlink(proc(pid, "cwd"))
	if err != nil {
		return ""
	}
	return dir
}

// Listens returns the TCP addresses on which a process listens.
func Listens(pid int) ([]string, error) {
	sockets, err := listening(pid)
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	var found []string
	err = eachFile(pid, func(_, target string) {
		inode, isSocket := strings.CutPrefix(target, "socket:[")
		if address := sockets[strings.TrimSuffix(inode, "]")]; isSocket && address != "" {
			found = append(found, address)
		}
	})
	slices.Sort(found)
	return slices.Compact(found), err
}

// listening returns the addresses with listeners in a process's network namespace, by socket inode (proc(5),
// /proc/net/tcp).
func listening(pid int) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(proc(pid, "net", name))
		if os.IsNotExist(err) {
			continue // no such protocol, or the process has ended
		}
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			const listens = "0A" // TCP_LISTEN
			fields := strings.Fields(lines.Text())
			if len(fields) > 9 && fields[3] == listens {
				found[fields[9]] = address(fields[1])
			}
		}
		f.Close()
	}
	return found, nil
}

// address parses an address from /proc/net/tcp: 32-bit words in the machine's byte order, which is little-endian on all
// supported platforms, then the port.
func address(text string) string {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	number, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(b)%4 != 0 {
		return text
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	ip, ok := netip.AddrFromSlice(b)
	if !ok {
		return text
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)).String()
}

// Writes returns the files below a folder that a process has open for writing.
func Writes(pid int, folder string) ([]string, error) {
	var found []string
	err := eachFile(pid, func(fd, target string) {
		if strings.HasPrefix(target, folder+"/") && opensToWrite(proc(pid, "fdinfo", fd)) {
			found = append(found, target)
		}
	})
	slices.Sort(found)
	return slices.Compact(found), err
}

// opensToWrite reports whether a file is open for writing, according to its fdinfo (proc(5)).
func opensToWrite(fdinfo string) bool {
	data, err := os.ReadFile(fdinfo)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if octal, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(octal), 8, 64)
			return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return false
}

// eachFile calls do with each open file of a process: its descriptor and the target of that link.
func eachFile(pid int, do func(fd, target string)) error {
	fds, err := os.ReadDir(proc(pid, "fd"))
	if err != nil {
		return gone(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(proc(pid, "fd", fd.Name())); err == nil {
			do(fd.Name(), target)
		}
	}
	return nil
}

// Written returns the number of bytes that a process has caused to be written to disk.
func Written(pid int) (uint64, error) {
	data, err := os.ReadFile(proc(pid, "io"))
	if err != nil {
		return 0, gone(err)
	}
	for line := range strings.Lines(string(data)) {
		if number, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			return strconv.ParseUint(strings.TrimSpace(number), 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no write_bytes", proc(pid, "io"))
}

// Memory returns the resident and the virtual memory of a process, in bytes.
func Memory(pid int) (resident, virtual int64, err error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, 0, gone(err)
	}
	var pages [2]int64
	if _, err := fmt.Sscan(string(data), &pages[0], &pages[1]); err != nil {
		return 0, 0, fmt.Errorf("read statm: %w", err)
	}
	size := int64(os.Getpagesize())
	return pages[1] * size, pages[0] * size, nil
}
