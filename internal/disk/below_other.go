//go:build !linux

package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// folderFlags open a folder as the start of other calls.
const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY

// existsFlags open what is at a path, unless it is a link or cannot be read.
const existsFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY

// openWithoutLinks returns ENOSYS: only Linux has such a call.
func openWithoutLinks(string, int, fs.FileMode) (int, error) { return -1, unix.ENOSYS }

// openBelow is OpenBelow with the mode of a file that it creates.
func openBelow(root int, path string, flags int, mode fs.FileMode) (int, error) {
	return openByComponent(root, path, flags, mode)
}

// lstat returns information about the path itself, not about the target of a link. It checks the parent folder for
// links and then uses the path, so a concurrent change can make it describe another file, but opens none.
func lstat(path string) (fs.FileInfo, error) {
	in, err := parentOf(path, false)
	if err != nil {
		return nil, err
	}
	in.close()
	return os.Lstat(path)
}
