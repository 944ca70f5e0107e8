package snapshot

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// openBelow opens a path below the folder root, one name at a time, and follows no link on the way.
func openBelow(root int, path string, flags int) (int, error) {
	at, above := root, -1
	for {
		name, rest, more := strings.Cut(path, "/")
		how := flags
		if more {
			how = unix.O_RDONLY | unix.O_DIRECTORY
		}
		fd, err := unix.Openat(at, name, how|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if above >= 0 {
			unix.Close(above)
		}
		if err != nil || !more {
			return fd, err
		}
		at, above, path = fd, fd, rest
	}
}

// readNames calls each with every name of an open folder but . and .., and its type.
func readNames(fd int, _ []byte, each func(name []byte, kind byte)) error {
	twin, err := unix.Dup(fd)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(twin), "folder")
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	for _, e := range entries {
		each([]byte(e.Name()), kindOf(e.Type()))
	}
	return err
}

func kindOf(mode os.FileMode) byte {
	switch {
	case mode.IsDir():
		return unix.DT_DIR
	case mode.IsRegular():
		return unix.DT_REG
	case mode&os.ModeSymlink != 0:
		return unix.DT_LNK
	}
	return unix.DT_UNKNOWN
}

func timesOf(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }
