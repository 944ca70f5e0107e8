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
	fd, err := openAt(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, openError(path, err)
	}
	defer unix.Close(fd)
	if err := unix.Syncfs(fd); err != nil {
		return false, os.NewSyscallError("syncfs", err)
	}
	return true, nil
}

// fsync makes an open folder durable.
func fsync(fd int) error { return unix.Fsync(fd) }
