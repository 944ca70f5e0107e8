//go:build !linux

package disk

import "golang.org/x/sys/unix"

func renameNew(folder int, from, to string) error {
	return unix.RenameatxNp(folder, from, folder, to, unix.RENAME_EXCL)
}
