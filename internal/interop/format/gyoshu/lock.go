package gyoshu

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// Lock is a session's lock file: who works on a notebook, a report, a queue, or with a bridge.
type Lock struct {
	ID       string
	PID      int64
	Started  int64 // start of its process, in ticks since boot; 0: unknown
	Host     string
	Acquired time.Time
}

// ReadLock reads a lock file.
func ReadLock(data []byte) (Lock, error) {
	root, err := jsonedit.Read(data)
	if err != nil {
		return Lock{}, err
	}
	l := Lock{ID: root.Get("lockId").Text(), Host: root.Get("hostname").Text()}
	l.PID, _ = root.Get("pid").Int()
	l.Started, _ = root.Get("processStartTime").Int()
	l.Acquired, _, _ = format.ParseTime(root.Get("acquiredAt").Text())
	if l.ID == "" || l.PID <= 0 {
		return l, errors.New("lockId or pid is missing")
	}
	return l, nil
}

// Ages from which Gyoshu considers a lock stale, if its owner is dead or on another host.
const (
	staleLock     = time.Minute
	otherHostLock = 5 * time.Minute
)

// held reports whether a lock is held, as far as its file shows. A live process that took the lock holds it at any age.
// Gyoshu waits forever for an unreadable lock: its writer died while writing it, or is writing it now.
func held(lock format.File, on format.Host) (held bool, why string) {
	l, err := ReadLock(lock.Data)
	if err != nil {
		return on.Now.Sub(lock.Changed) <= staleLock, "it cannot be read"
	}
	age, dead := on.Now.Sub(l.Acquired), staleLock
	if strings.HasPrefix(l.ID, ownLock) {
		dead = -1 // pawl tells a process from another one with its number
	}
	if l.Host != on.Name {
		return age <= otherHostLock, "it was taken on " + strconv.Quote(l.Host) + ", whose processes cannot be checked from here"
	}
	process := "its process " + strconv.FormatInt(l.PID, 10)
	alive, started := on.Process(l.PID)
	switch {
	case alive && l.Started != 0 && started != 0 && l.Started != started:
		return false, process + " has ended, and another process has its PID"
	case alive:
		return true, process + " is running"
	}
	return age <= dead, process + " has ended"
}

// ownLock begins the id of a lock that pawl took.
const ownLock = "pawl-"

// isOwnLock reports whether a process of pawl took a lock.
func isOwnLock(lock format.File) bool {
	l, err := ReadLock(lock.Data)
	return err == nil && strings.HasPrefix(l.ID, ownLock)
}

// newLock returns the content of a lock that a process of pawl takes.
func newLock(id string, pid int64, on format.Host) []byte {
	_, started := on.Process(pid)
	lock := map[string]any{"lockId": ownLock + id, "pid": pid, "hostname": on.Name, "acquiredAt": instantOf(on.Now)}
	if started != 0 {
		lock["processStartTime"] = started
	}
	data, err := json.MarshalIndent(lock, "", "  ")
	if err != nil {
		panic("a lock holds only strings and numbers: " + err.Error())
	}
	return data
}

// locks returns the locks of notebook, report and queue of a run's research or, without a run, those of all researches and
// their sessions.
func locks(files format.Files, run *pawl.State, home format.Home) []string {
	dir := runtimeDir(home)
	if run != nil {
		return locksOf(dir, titleOf(run.Name), []string{string(run.Run), run.Import.ID})
	}
	var all []string
	for _, title := range titles(files) {
		r := newResearch(files, title, format.Env{})
		all = append(all, locksOf(dir, title, r.runs())...)
		for _, session := range r.sessions() {
			all = append(all, filepath.Join(dir, shortID(session), "session.lock"))
		}
	}
	return all
}

func locksOf(dir, title string, runs []string) []string {
	lock := func(kind, id string) string { return filepath.Join(dir, "locks", kind, shortID(id)+".lock") }
	locks := []string{lock("notebook", "nb:"+title), lock("report", "rpt:"+title)}
	for _, run := range runs {
		if run != "" {
			locks = append(locks, lock("queue", "q:"+title+":"+run))
		}
	}
	return locks
}

// sessions returns the sessions in the files of a research.
func (r *research) sessions() []string {
	var ids []string
	if r.loop != nil {
		ids = append(ids, r.loop.Session)
	}
	for _, rec := range r.records {
		if rec.Manifest != nil {
			ids = append(ids, rec.Manifest.Session)
		}
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// runtimeDir returns the folder for files that only matter while a session lives.
func runtimeDir(home format.Home) string {
	if dir := home.Getenv("GYOSHU_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return dir
	}
	if dir := home.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gyoshu")
	}
	if home.System == "darwin" {
		return filepath.Join(home.Dir, "Library", "Caches", "gyoshu", "runtime")
	}
	return filepath.Join(home.Dir, ".cache", "gyoshu", "runtime")
}

// shortID returns the 12 hexadecimal digits that stand for an id in the names of locks and sockets.
func shortID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:12]
}
