package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// sweep ends every process of the place: those that carry its mark, and those that stand in it.
func (p place) sweep() {
	for _, pid := range p.processes() {
		syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
}

// processes are those that are alive in the place.
func (p place) processes() []int {
	var list []int
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err == nil && pid != os.Getpid() && p.owns(entry) {
			list = append(list, pid)
		}
	}
	return list
}

// owns looks at a process. One that cannot be looked at is somebody else's.
func (p place) owns(entry string) bool {
	mark := []byte(placeVar + "=" + p.dir + "\x00")
	if environ, err := os.ReadFile(filepath.Join(entry, "environ")); err == nil && bytes.Contains(environ, mark) {
		return true
	}
	dir, err := os.Readlink(filepath.Join(entry, "cwd"))
	return err == nil && (dir == p.dir || strings.HasPrefix(dir, p.dir+string(filepath.Separator)))
}
