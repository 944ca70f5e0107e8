package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// sweep ends every process of the place: those with its variable, and those whose folder is in it.
func (p place) sweep() {
	for _, pid := range p.processes() {
		syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
}

// processes are the live processes of the place.
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

// owns reports whether a process belongs to the place. A process that cannot be read does not.
func (p place) owns(entry string) bool {
	mark := []byte(placeVar + "=" + p.dir + "\x00")
	if environ, err := os.ReadFile(filepath.Join(entry, "environ")); err == nil && bytes.Contains(environ, mark) {
		return true
	}
	dir, err := os.Readlink(filepath.Join(entry, "cwd"))
	return err == nil && (dir == p.dir || strings.HasPrefix(dir, p.dir+string(filepath.Separator)))
}
