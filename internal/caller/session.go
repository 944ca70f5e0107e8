package caller

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
	"pawl/internal/userdir"
)

// A Session is a session of an attached agent, as its hooks recorded it in the user's state folder. One process has one
// record, that of its newest session.
type Session struct {
	Process pawl.Process `json:"process"` // of the agent
	Agent   string       `json:"agent"`
	Session string       `json:"session"` // the agent's own id; empty for the client of an MCP server

	Server int `json:"server,omitempty"` // number of the MCP server's process, for its client
}

// folder is the folder of the records in the state folder.
const folder = "sessions"

// name is the file name of the record of a process.
func name(pid int, start uint64) string { return fmt.Sprintf("%d-%d.json", pid, start) }

// Record records an agent's session in the user's state folder, and removes the records of processes that have ended.
func Record(s Session) error {
	dir, err := userdir.State(folder)
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, name(s.Process.PID, s.Process.Start)), s)
}

// write writes a record, and removes those of processes that have ended.
func write(path string, s Session) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := disk.MakeFolders(dir); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.tmp%d-%d", path, os.Getpid(), time.Now().UnixNano()) // two sessions of a process may begin at once
	return errors.Join(disk.PutBy(temp, path, data), removeEnded(dir))
}

func removeEnded(dir string) error {
	entries, err := disk.ReadDir(dir)
	for _, entry := range entries {
		s, readErr := read(filepath.Join(dir, entry.Name()))
		if readErr != nil {
			continue // not ours, or just being written
		}
		if _, gone := process.Find(s.Process); errors.Is(gone, process.ErrGone) {
			err = errors.Join(err, disk.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

// maxRecord is the maximum size of a record in bytes.
const maxRecord = 64 << 10

func read(path string) (s Session, err error) {
	info, err := disk.Lstat(path)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return s, errors.New("not a record of a session")
	}
	data, err := disk.ReadFile(path, disk.IdentityLimit)
	if err != nil {
		return s, err
	}
	return parse(data)
}

func parse(data []byte) (s Session, err error) { return s, json.Unmarshal(data, &s) }

// recordedSession returns the session of the nearest ancestor that has a record, and which ancestor that is. The
// environment of this process may name another state folder than the agent's own, which is therefore searched too.
func recordedSession(environ []string, above []ancestor) (s Session, at int, found bool) {
	own, all := stateFolders(environ), records{}
	for i, a := range above {
		dirs := slices.Concat(own, stateFolders(a.environ))
		for at, dir := range dirs {
			if slices.Contains(dirs[:at], dir) {
				continue
			}
			s, err := all.of(a, filepath.Join(dir, folder))
			if err != nil {
				continue
			}
			if _, err := process.Find(s.Process); err == nil && s.Process.PID == a.PID {
				return s, i, true
			}
		}
	}
	return Session{}, 0, false
}

// records has the names of the records in each folder, so that each is listed once.
type records map[string][]string

// of returns the record in dir of an ancestor: its own, else that of its connection to another server than this process.
func (r records) of(a ancestor, dir string) (s Session, err error) {
	names, listed := r[dir]
	if !listed {
		entries, err := disk.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return read(filepath.Join(dir, name(a.PID, a.Start))) // a folder that cannot be listed may have it
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		r[dir] = names
	}
	if own := name(a.PID, a.Start); slices.Contains(names, own) {
		if s, err = read(filepath.Join(dir, own)); err == nil {
			return s, nil
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, connectionPrefix(a)) {
			continue
		}
		if s, err = read(filepath.Join(dir, name)); err == nil && s.Server != process.Self() {
			return s, nil
		}
	}
	return Session{}, errors.Join(err, fs.ErrNotExist)
}

// stateFolders returns the state folders that an environment may mean.
func stateFolders(environ []string) []string {
	var dirs []string
	add := func(base string, below ...string) {
		if filepath.IsAbs(base) {
			dirs = append(dirs, filepath.Join(append([]string{base}, below...)...))
		}
	}
	add(variable(environ, "PAWL_STATE"))
	add(variable(environ, "XDG_STATE_HOME"), "pawl")
	add(variable(environ, "HOME"), strings.Split(".local/state/pawl", "/")...)
	return dirs
}
