//go:build !linux

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData calls Sync, which uses F_FULLFSYNC on macOS.
func syncData(f *os.File) error { return f.Sync() }

// SyncFileSystem returns false: on other systems sync(2) only starts writing.
func SyncFileSystem(string) (done bool, err error) { return false, nil }

// fsync makes an open folder durable, as far as the system can.
func fsync(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	return unix.Fsync(fd)
}
