package permission

import "slices"

// readers are the commands that work in an untrusted project. They write nothing.
var readers = []string{
	"status", "runs", "output", "log", "stats", "why", "explain", "brief", "gates", "checkpoints", "show", "memory", "processes", "verify",
	"doctor", "trust", "plan",
}

// changers are flags that make a reading command write, end processes or read what only a trusted project has.
var changers = []string{"end", "repair", "update"}

// Reader reports whether a command works in an untrusted project.
func Reader(command string) bool { return slices.Contains(readers, command) }

// ReadsOnly reports whether a command line only reads. changed reports whether a flag was given.
func ReadsOnly(command string, changed func(flag string) bool) bool {
	return Reader(command) && !slices.ContainsFunc(changers, changed)
}

// continuers are commands that need a run of the user's own.
var continuers = []string{
	"resume", "retry", "skip", "done", "approve", "answer", "reject", "review", "restore", "fork", "rollback", "pause", "stop", "unblock",
}

// Continues reports whether a command continues a run or its files, so that a run that was made elsewhere must be adopted before.
func Continues(command string) bool { return slices.Contains(continuers, command) }
