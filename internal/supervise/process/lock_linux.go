package process

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// HasLock reports whether the process itself holds an exclusive flock on the file at path, according to its open files.
// The pid in /proc/locks would not be enough: it may be that of a process that held the lock before.
func HasLock(pid int, path string) (bool, error) {
	lock, err := disk.Open(path)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return false, gone(err)
	}
	for _, fd := range fds {
		var file unix.Stat_t
		if unix.Stat(filepath.Join(proc, "fd", fd.Name()), &file) != nil || !disk.IsOpenAs(lock, file) {
			continue
		}
		if locked(filepath.Join(proc, "fdinfo", fd.Name())) {
			return true, nil
		}
	}
	return false, nil
}

// locked reports whether an open file holds an exclusive flock, according to its fdinfo (proc(5)).
func locked(fdinfo string) bool {
	f, err := os.Open(fdinfo)
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) > 4 && words[0] == "lock:" && words[2] == "FLOCK" && words[4] == "WRITE" {
			return true
		}
	}
	return false
}

// PathOf returns the present path of an open file of this process.
func PathOf(fd int) (string, error) { return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)) }
