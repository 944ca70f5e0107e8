package snapshot

import (
	"encoding/binary"

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
