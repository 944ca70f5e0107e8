package gyoshu

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"time"

	"pawl/internal/foreign"
	"pawl/internal/foreign/splice"
)

// Lock is a session's lock file: who works on a notebook, a report, a queue, or with a bridge.
type Lock struct {
	ID       string
	PID      int64
	Started  int64 // ticks since the boot at which its process began; 0: it does not say
	Host     string
	Acquired time.Time
}

// ReadLock reads a lock file.
func ReadLock(data []byte) (Lock, error) {
	root, err := splice.ReadJSON(data)
	if err != nil {
		return Lock{}, err
	}
	l := Lock{ID: root.Get("lockId").Text(), Host: root.Get("hostname").Text()}
	l.PID, _ = root.Get("pid").Int()
	l.Started, _ = root.Get("processStartTime").Int()
	l.Acquired, _, _ = foreign.ParseTime(root.Get("acquiredAt").Text())
	if l.ID == "" || l.PID <= 0 {
		return l, errors.New("a lock names its lockId and its pid")
	}
	return l, nil
}

// Process says whether a process of this machine is there, and at which tick since the boot it began; 0: unknown.
type Process func(pid int64) (alive bool, started int64)

// Ages from which Gyoshu gives a lock up, where its owner is gone, and where nobody here can know.
const (
	staleLock   = time.Minute
	foreignLock = 5 * time.Minute
)

// Held says whether somebody holds a lock, as far as can be known, and why. Age alone proves nothing: a process that is
// there and is the one that took the lock holds it, however long ago that was.
func (l Lock) Held(now time.Time, host string, process Process) (held bool, why string) {
	age := now.Sub(l.Acquired)
	if l.Host != host {
		return age <= foreignLock, "it was taken on " + l.Host + ", where nobody here can look"
	}
	alive, started := process(l.PID)
	switch {
	case alive && l.Started != 0 && started != 0 && l.Started != started:
		return false, "its process is gone, and another one has its number"
	case alive:
		return true, "its process is there"
	}
	return age <= staleLock, "its process is gone"
}

// BrokenHeld says whether a lock file that cannot be read is held. Gyoshu waits for such a one for ever; whoever wrote it
// has died on the way, or is at it this moment.
func BrokenHeld(now, changed time.Time) bool { return now.Sub(changed) <= staleLock }

// ShortID returns the 12 hexadecimal digits that an id has in the names of locks and sockets.
func ShortID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:12]
}

// Paths of locks below the folder for what does not outlive a session.
func sessionLock(session string) string { return path.Join(ShortID(session), "session.lock") }

// LockPaths returns where, below the folder for what does not outlive a session, the locks of a research lie.
func LockPaths(title, run, session string) map[string]string {
	return map[string]string{
		"notebook": path.Join("locks", "notebook", ShortID("nb:"+title)+".lock"),
		"report":   path.Join("locks", "report", ShortID("rpt:"+title)+".lock"),
		"queue":    path.Join("locks", "queue", ShortID("q:"+title+":"+run)+".lock"),
		"session":  sessionLock(session),
	}
}
