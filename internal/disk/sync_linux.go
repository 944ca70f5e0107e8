package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData is fdatasync(2): it leaves out times, which nothing here depends on.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}

// SyncFileSystem makes everything on path's file system durable by syncfs(2), where the system has that.
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
