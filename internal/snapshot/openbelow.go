package snapshot

import (
	"strings"

	"golang.org/x/sys/unix"
)

// openByComponent is openBelow for systems without openat2: it opens one path component at a time.
func openByComponent(root int, path string, flags int) (int, error) {
	if len(path) > maxPath {
		return -1, unix.ENAMETOOLONG
	}
	at, above := root, -1
	for {
		name, rest, more := strings.Cut(path, "/")
		how := flags
		if more {
			how = unix.O_RDONLY | unix.O_DIRECTORY
		}
		fd, err := unix.Openat(at, name, how|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err == unix.EINTR {
			continue
		}
		if above >= 0 {
			unix.Close(above)
		}
		if err != nil || !more {
			return fd, err
		}
		at, above, path = fd, fd, rest
	}
}
