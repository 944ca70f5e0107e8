package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/supervise/process"
)

// lockFile is a lock file of another system's sessions.
type lockFile struct {
	path string
	held bool
	own  bool // a pawl process took it
	why  string
}

// lockPaths returns the paths of the lock files for the files of a run; a nil run means all files.
func lockPaths(f format.Format, files format.Files, run *pawl.State) []string {
	home, err := os.UserHomeDir()
	if f.Locks == nil || err != nil {
		return nil
	}
	return f.Locks(files, run, format.Home{Dir: home, System: runtime.GOOS, Getenv: os.Getenv})
}

func thisHost() format.Host {
	name, _ := os.Hostname()
	return format.Host{Now: time.Now().UTC(), Name: name, Process: processAlive}
}

// maxLockSize limits the lock files that are read, in bytes.
const maxLockSize = 64 << 10

// findLocks returns the lock files that exist for the files of a run; a nil run means all files.
func findLocks(f format.Format, files format.Files, run *pawl.State) []lockFile {
	host := thisHost()
	var found []lockFile
	for _, path := range lockPaths(f, files, run) {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		file := format.File{Path: path, Changed: info.ModTime()}
		if info.Mode().IsRegular() && info.Size() <= maxLockSize {
			if file.Data, err = disk.ReadFile(path, maxLockSize); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		held, why := f.Held(file, host)
		found = append(found, lockFile{path: path, held: held, own: f.OwnLock(file), why: why})
	}
	return found
}

// processAlive implements format.Host.Process.
func processAlive(pid int64) (bool, int64) {
	stat, err := process.Of(int(pid))
	if err != nil || stat.Dead {
		return err != nil && !errors.Is(err, process.ErrGone), 0
	}
	if runtime.GOOS != "linux" {
		return true, 0 // the start time is not in clock ticks
	}
	return true, int64(stat.Start)
}

// lock takes the locks of the system's sessions for the files of a run, and returns what releases them. It fails while a
// session holds one. A lock is taken only in an existing folder: without it, no session of the system has ever taken one here. A
// stale lock of another program stays, and is not taken.
func (m *Mirror) lock(files format.Files, run *pawl.State) (release func() error, err error) {
	var taken []string
	release = func() error {
		var errs []error
		for _, path := range taken {
			errs = append(errs, disk.Remove(path))
		}
		return errors.Join(errs...)
	}
	for _, l := range findLocks(m.Format, files, run) {
		if l.own && !l.held {
			if err := disk.Remove(l.path); err != nil {
				return nil, err
			}
		}
	}
	for _, path := range lockPaths(m.Format, files, run) {
		switch err := m.takeLock(path); {
		case err == nil:
			taken = append(taken, path)
		case !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist):
			return nil, errors.Join(err, release())
		}
	}
	for _, l := range findLocks(m.Format, files, run) {
		if l.held && !slices.Contains(taken, l.path) {
			held := &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("a session of %s holds the lock %s: %s", m.Format.Name, l.path, l.why)}
			return nil, errors.Join(held, release())
		}
	}
	return release, nil
}

// takeLock creates a lock file. It appears with its whole content: a session would wait for ever for an empty one.
func (m *Mirror) takeLock(path string) error {
	if _, err := os.Lstat(filepath.Dir(path)); err != nil {
		return err
	}
	id := disk.RandomHex(16)
	temp := path + "." + id
	if err := disk.Put(temp, m.Format.NewLock(id, int64(os.Getpid()), thisHost())); err != nil {
		return err
	}
	return errors.Join(disk.Link(temp, path), disk.Remove(temp))
}

// lockRetryPause is the wait between two attempts to write locked files.
const lockRetryPause = 50 * time.Millisecond

// lockFindings returns a finding for each lock file: who holds it, or that it is stale.
func lockFindings(f format.Format, files format.Files) []pawl.Finding {
	var found []pawl.Finding
	for _, l := range findLocks(f, files, nil) {
		finding := pawl.Finding{Level: pawl.Warn, Where: l.path, What: "lock held: " + l.why}
		if !l.held {
			finding.What, finding.Hint = "stale lock: "+l.why, "remove it"
		}
		found = append(found, finding)
	}
	return found
}
