package disk

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// folderFlags open a folder as the start of other calls. Its content need not be readable.
const folderFlags = unix.O_PATH | unix.O_DIRECTORY

// existsFlags open whatever there is at a path, even a link.
const existsFlags = unix.O_PATH | unix.O_NOFOLLOW

// openWithoutLinks opens a path that has no links at all.
func openWithoutLinks(path string, flags int, mode fs.FileMode) (int, error) {
	return openat2(unix.AT_FDCWD, path, flags, mode, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

// openBelow is OpenBelow with the mode of a file that it creates.
func openBelow(root int, path string, flags int, mode fs.FileMode) (int, error) {
	fd, err := openat2(root, path, flags, mode, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err == unix.ENOSYS || err == unix.EPERM { // sandboxes deny the call with one of these
		return openByComponent(root, path, flags, mode)
	}
	return fd, err
}

func openat2(root int, path string, flags int, mode fs.FileMode, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW), Resolve: resolve}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode.Perm())
	}
	for {
		fd, err := unix.Openat2(root, path, &how)
		if err == unix.EINTR || err == unix.EAGAIN { // EAGAIN: a component was renamed concurrently
			continue
		}
		return fd, err
	}
}

// lstat returns information about the path itself, not about the target of a link.
func lstat(path string) (fs.FileInfo, error) {
	fd, err := openAt(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	return statAndClose(fd, path)
}
