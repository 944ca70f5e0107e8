package snapshot

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readNames calls each with the names in an open folder, except . and .., and their types (DT_UNKNOWN if the file
// system does not say). The name is valid only during the call.
func readNames(fd int, buf []byte, each func(name []byte, kind byte)) error {
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		// struct linux_dirent64: inode 8, offset 8, length 2, type 1, name (getdents64(2)).
		for rest := buf[:n]; len(rest) > 19; {
			length := int(binary.NativeEndian.Uint16(rest[16:]))
			name := rest[19:length]
			for i, c := range name {
				if c == 0 {
					name = name[:i]
					break
				}
			}
			if s := string(name); s != "." && s != ".." {
				each(name, rest[18])
			}
			rest = rest[length:]
		}
	}
}

func timesOf(st *unix.Stat_t) (mtime, ctime int64) { return st.Mtim.Nano(), st.Ctim.Nano() }

// statName is fstatat(2) for a name in an open folder. It follows no link. Unlike unix.Fstatat, it allocates nothing.
func statName(fd int, name []byte, st *unix.Stat_t) error {
	var path [unix.NAME_MAX + 1]byte
	if len(name) >= len(path) {
		return unix.ENAMETOOLONG
	}
	copy(path[:], name)
	_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(&path)), uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// timesNames reports whether the file system of an open folder is one that changes the times of a folder with each change of its names.
func timesNames(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}
