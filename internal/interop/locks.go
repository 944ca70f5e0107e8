package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
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
	why  string
}

// maxLockSize limits the lock files that are read, in bytes.
const maxLockSize = 64 << 10

// findLocks returns the lock files that exist for the files of a run; a nil run means all files.
func findLocks(f format.Format, files format.Files, run *pawl.State) []lockFile {
	home, err := os.UserHomeDir()
	if f.Locks == nil || err != nil {
		return nil
	}
	name, _ := os.Hostname()
	host := format.Host{Now: time.Now().UTC(), Name: name, Process: processAlive}
	var found []lockFile
	for _, path := range f.Locks(files, run, format.Home{Dir: home, System: runtime.GOOS, Getenv: os.Getenv}) {
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
		found = append(found, lockFile{path, held, why})
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

// checkLocks returns an error while a session of the system holds a lock on the files of a run.
func (m *Mirror) checkLocks(files format.Files, run *pawl.State) error {
	for _, l := range findLocks(m.Format, files, run) {
		if l.held {
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("a session of %s holds the lock %s: %s", m.Format.Name, l.path, l.why)}
		}
	}
	return nil
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
