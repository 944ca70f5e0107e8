package snapshot

import (
	"os"

	"golang.org/x/sys/unix"
)

// readNames calls each with the names in an open folder, except . and .., and their types.
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

// statName is fstatat(2) for a name in an open folder. It follows no link.
func statName(fd int, name []byte, st *unix.Stat_t) error {
	return unix.Fstatat(fd, string(name), st, unix.AT_SYMLINK_NOFOLLOW)
}

// timesNames reports whether the file system of an open folder is one that changes the times of a folder with each change of its names.
func timesNames(int) bool { return false }
