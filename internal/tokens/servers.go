package tokens

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// Server is a server of this user that runs.
type Server struct {
	URL   string    `json:"url"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// serverFiles matches the files of running servers. Each server holds the lock on its own, so a file without a lock is left over.
const serverFiles = "server-*.json"

// Announce records a running server, so that `pawl serve open` finds it. The record counts until release is called or the process ends.
func (s Store) Announce(url string, now time.Time) (release func() error, err error) {
	if err := disk.MakeFolders(s.Folder); err != nil {
		return nil, err
	}
	data, err := json.Marshal(Server{URL: url, PID: os.Getpid(), Since: now.UTC()})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.Folder, strings.Replace(serverFiles, "*", disk.RandomHex(8), 1))
	file, err := disk.Create(path)
	if err == nil {
		err = errors.Join(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), file.Truncate(0))
	}
	if err == nil {
		_, err = file.WriteAt(data, 0)
	}
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(disk.Remove(path), file.Close()) }, nil
}

// Servers returns the running servers, the newest first.
func (s Store) Servers() (running []Server, err error) {
	paths, err := disk.Glob(s.Folder, serverFiles)
	for _, path := range paths {
		if server, alive := readServer(path); alive {
			running = append(running, server)
		}
	}
	slices.SortFunc(running, func(a, b Server) int { return b.Since.Compare(a.Since) })
	return running, err
}

// readServer reads the record of a server, and reports whether it runs. It removes one that is left over.
func readServer(path string) (server Server, alive bool) {
	file, err := disk.Open(path)
	if err != nil {
		return server, false
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		if info, err := file.Stat(); err == nil && info.Size() > 0 { // an empty one is about to be locked
			_ = disk.Remove(path) // the next look tries again
		}
		return server, false
	}
	data, err := disk.ReadFile(path, disk.IdentityLimit)
	return server, err == nil && json.Unmarshal(data, &server) == nil && server.URL != ""
}
