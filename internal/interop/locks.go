package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/supervise/process"
)

// strangerLock is a lock file of another system's sessions.
type strangerLock struct {
	path string
	held bool
	why  string
}

// maxLock is how large a lock file is that is read, in bytes.
const maxLock = 64 << 10

// locksOf returns the lock files that are there of what is written of a run; without one, of all files. Nothing, where the
// system has none.
func locksOf(codec format.Format, files format.Files, run *pawl.State) []strangerLock {
	home, err := os.UserHomeDir()
	if codec.Locks == nil || err != nil {
		return nil
	}
	name, _ := os.Hostname()
	on := format.Host{Now: time.Now().UTC(), Name: name, Process: alive}
	var found []strangerLock
	for _, path := range codec.Locks(files, run, format.Home{Dir: home, System: runtime.GOOS, Getenv: os.Getenv}) {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		file := format.File{Path: path, Changed: info.ModTime()}
		if info.Mode().IsRegular() && info.Size() <= maxLock {
			if file.Data, err = os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		held, why := codec.Held(file, on)
		found = append(found, strangerLock{path, held, why})
	}
	return found
}

// alive is a format.Host's Process.
func alive(pid int64) (bool, int64) {
	stat, err := process.Of(int(pid))
	if err != nil || stat.Dead {
		return err != nil && !errors.Is(err, process.ErrGone), 0
	}
	if runtime.GOOS != "linux" {
		return true, 0 // what it began at is told in other units
	}
	return true, int64(stat.Start)
}

// unlocked is an error as long as somebody holds a lock of what is to be written of a run.
func (m *Mirror) unlocked(files format.Files, run *pawl.State) error {
	for _, l := range locksOf(m.Codec, files, run) {
		if l.held {
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("somebody of %s holds %s: %s", m.Codec.Name, l.path, l.why)}
		}
	}
	return nil
}

// lockPause is how long is waited for a lock between two tries.
const lockPause = 50 * time.Millisecond

// examineLocks tells of lock files: who holds them, and which are left over.
func examineLocks(codec format.Format, files format.Files) []pawl.Finding {
	var found []pawl.Finding
	for _, l := range locksOf(codec, files, nil) {
		f := pawl.Finding{Level: pawl.Warn, Where: l.path, What: "it is held: " + l.why}
		if !l.held {
			f.What, f.Hint = "it is left over: "+l.why, "remove it"
		}
		found = append(found, f)
	}
	return found
}
