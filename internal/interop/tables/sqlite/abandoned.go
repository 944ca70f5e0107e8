package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// deadManSwitch is the byte of the shared memory file that every connection to a database in WAL mode holds a read lock on.
const deadManSwitch = 128

// Abandoned reports whether every process that had a database open has died: the last one to close it would have removed the shared
// memory file, and whoever has it open holds a lock on that file. It is false if that cannot be told, as without a write-ahead log.
func Abandoned(path string) bool {
	if info, err := os.Lstat(path + "-shm"); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path + "-shm")
	if err != nil {
		return false
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: deadManSwitch, Len: 1}
	return unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock) == nil && lock.Type == unix.F_UNLCK
}
