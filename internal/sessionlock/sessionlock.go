// Package sessionlock takes and judges the lock files of Gyoshu's sessions. A session changes a notebook, a report or a queue only while it
// has created the lock file of it. These files lie outside the project.
package sessionlock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"pawl/internal/supervise/process"
	"pawl/internal/textedit/jsonedit"
)

// Lock is the content of a lock file.
type Lock struct {
	ID       string
	PID      int64
	Started  int64 // start of its process, in ticks since boot; 0: unknown
	Host     string
	Acquired time.Time
}

// Read reads a lock file.
func Read(data []byte) (Lock, error) {
	root, err := jsonedit.Read(data)
	if err != nil {
		return Lock{}, err
	}
	l := Lock{ID: root.Get("lockId").Text(), Host: root.Get("hostname").Text()}
	l.PID, _ = root.Get("pid").Int()
	l.Started, _ = root.Get("processStartTime").Int()
	l.Acquired, _ = time.Parse(time.RFC3339, root.Get("acquiredAt").Text())
	if l.ID == "" || l.PID <= 0 {
		return l, errors.New("lockId or pid is missing")
	}
	return l, nil
}

// ownID begins the id of a lock that a process of pawl took.
const ownID = "pawl-"

// Own reports whether a process of pawl took the lock.
func (l Lock) Own() bool { return strings.HasPrefix(l.ID, ownID) }

// Host is the machine that a lock may name.
type Host struct {
	Now     time.Time
	Name    string
	Process func(pid int64) (alive bool, started int64) // started: in clock ticks since boot; 0: unknown
}

// Here returns this machine, now.
func Here() Host {
	name, _ := os.Hostname()
	return Host{Now: time.Now().UTC(), Name: name, Process: alive}
}

// alive implements Host.Process.
func alive(pid int64) (bool, int64) {
	stat, err := process.Of(int(pid))
	if err != nil || stat.Dead {
		return err != nil && !errors.Is(err, process.ErrGone), 0
	}
	if runtime.GOOS != "linux" {
		return true, 0 // the start time is not in clock ticks
	}
	return true, int64(stat.Start)
}

// Ages from which Gyoshu considers a lock stale, if its owner is dead or on another host.
const (
	staleAge     = time.Minute
	otherHostAge = 5 * time.Minute
)

// Held reports whether a lock is held, as far as its file shows, whether a process of pawl took it, and why. A live process that took the
// lock holds it at any age. Gyoshu waits forever for an unreadable lock: its writer died while writing it, or is writing it now.
func (on Host) Held(data []byte, changed time.Time) (held, own bool, why string) {
	l, err := Read(data)
	if err != nil {
		return on.Now.Sub(changed) <= staleAge, false, "it cannot be read"
	}
	age, dead := on.Now.Sub(l.Acquired), staleAge
	if l.Own() {
		dead = -1 // pawl tells a process from another one with its number
	}
	if l.Host != on.Name {
		return age <= otherHostAge, l.Own(), "it was taken on " + strconv.Quote(l.Host) + ", whose processes cannot be checked from here"
	}
	process := "its process " + strconv.FormatInt(l.PID, 10)
	alive, started := on.Process(l.PID)
	switch {
	case alive && l.Started != 0 && started != 0 && l.Started != started:
		return false, l.Own(), process + " has ended, and another process has its PID"
	case alive:
		return true, l.Own(), process + " is running"
	}
	return age <= dead, l.Own(), process + " has ended"
}

// content returns the content of a lock that a process of pawl takes.
func content(id string, pid int64, on Host) []byte {
	lock := map[string]any{"lockId": ownID + id, "pid": pid, "hostname": on.Name, "acquiredAt": on.Now.UTC().Format("2006-01-02T15:04:05.000Z")}
	if _, started := on.Process(pid); started != 0 {
		lock["processStartTime"] = started
	}
	data, err := json.MarshalIndent(lock, "", "  ")
	if err != nil {
		panic("a lock holds only strings and numbers: " + err.Error())
	}
	return data
}

// Folder returns the folder of lock files and sockets, which matter only while a session lives; empty if the user has no home. getenv is
// os.Getenv.
func Folder(system, home string, getenv func(string) string) string {
	if dir := getenv("GYOSHU_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return dir
	}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gyoshu")
	}
	switch {
	case home == "":
		return ""
	case system == "darwin":
		return filepath.Join(home, "Library", "Caches", "gyoshu", "runtime")
	}
	return filepath.Join(home, ".cache", "gyoshu", "runtime")
}

// FolderHere returns the folder of lock files of this user.
func FolderHere() string {
	home, _ := os.UserHomeDir()
	return Folder(runtime.GOOS, home, os.Getenv)
}

// Notebook returns the lock file of a research's notebook.
func Notebook(folder, title string) string { return lockPath(folder, "notebook", "nb:"+title) }

// Report returns the lock file of a research's report.
func Report(folder, title string) string { return lockPath(folder, "report", "rpt:"+title) }

// Queue returns the lock file of the queue of a run.
func Queue(folder, title, run string) string {
	return lockPath(folder, "queue", "q:"+title+":"+run)
}

// Session returns the lock file of a session's kernel.
func Session(folder, session string) string {
	return filepath.Join(folder, shortID(session), "session.lock")
}

func lockPath(folder, kind, id string) string {
	return filepath.Join(folder, "locks", kind, shortID(id)+".lock")
}

// shortID returns the 12 hexadecimal digits that stand for an id in the names of locks and sockets.
func shortID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:12]
}
