package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData calls fdatasync(2), which omits timestamps; nothing depends on those.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}

// SyncFileSystem makes the whole file system of path durable with syncfs(2). It returns false if the system has no such
// call.
func SyncFileSystem(path string) (done bool, err error) {
	if err := fault("sync"); err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return false, os.NewSyscallError("syncfs", err)
	}
	return true, nil
}
