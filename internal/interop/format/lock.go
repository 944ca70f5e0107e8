package format

import (
	"time"

	"pawl"
)

// Locker is a codec of a system whose sessions keep lock files outside of the project while they write.
type Locker interface {
	// Locks returns where the locks lie of what is written of a run; without one, of all that is there.
	Locks(files Files, run *pawl.State, home Home) []string
	// Held says whether somebody holds a lock, as its file tells, and why.
	Held(lock File, on Host) (held bool, why string)
}

// Home is where a user's own files are.
type Home struct {
	Dir    string
	System string // as GOOS
	Getenv func(string) string
}

// Host is what a lock file may speak of.
type Host struct {
	Now     time.Time
	Name    string
	Process func(pid int64) (alive bool, started int64) // at which tick since the boot; 0: unknown
}
