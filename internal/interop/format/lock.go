package format

import "time"

// Home is where a user's own files are.
type Home struct {
	Dir    string
	System string // as GOOS
	Getenv func(string) string
}

// Host is the machine that a lock file may name.
type Host struct {
	Now     time.Time
	Name    string
	Process func(pid int64) (alive bool, started int64) // started: in clock ticks since boot; 0: unknown
}
