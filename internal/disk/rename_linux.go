package disk

import "golang.org/x/sys/unix"

func renameNew(folder int, from, to string) error {
	return unix.Renameat2(folder, from, folder, to, unix.RENAME_NOREPLACE)
}
