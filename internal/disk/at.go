package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The calls below work on names in an open folder, so that what happens to the folders above meanwhile cannot lead them
// elsewhere. None of them waits for the disk.

// CreateAt makes a new file in the folder. One that is there, be it a link, is an error.
func CreateAt(folder int, name string) (File, error) {
	if err := fault("create"); err != nil {
		return File{}, fmt.Errorf("make %s: %w", name, err)
	}
	fd, err := unix.Openat(folder, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return File{}, &os.PathError{Op: "make", Path: name, Err: err}
	}
	return File{File: os.NewFile(uintptr(fd), name)}, nil
}

// RenameAt moves a name within the folder, over what may be there.
func RenameAt(folder int, from, to string) error {
	if err := fault("rename"); err != nil {
		return fmt.Errorf("rename %s: %w", to, err)
	}
	if err := unix.Renameat(folder, from, folder, to); err != nil {
		return &os.PathError{Op: "rename", Path: to, Err: err}
	}
	return nil
}

// RemoveAt removes a file or link, or where isFolder an empty folder.
func RemoveAt(folder int, name string, isFolder bool) error {
	if err := fault("unlink"); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	flags := 0
	if isFolder {
		flags = unix.AT_REMOVEDIR
	}
	if err := unix.Unlinkat(folder, name, flags); err != nil {
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

// MakeFolderAt makes a folder.
func MakeFolderAt(folder int, name string) error {
	if err := fault("mkdir"); err != nil {
		return fmt.Errorf("make folder %s: %w", name, err)
	}
	if err := unix.Mkdirat(folder, name, uint32(FolderMode)); err != nil {
		return &os.PathError{Op: "make folder", Path: name, Err: err}
	}
	return nil
}

// SymlinkAt makes a link.
func SymlinkAt(target string, folder int, name string) error {
	if err := fault("symlink"); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	if err := unix.Symlinkat(target, folder, name); err != nil {
		return &os.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

// Mode sets the permission bits of an open file or folder, with setuid, setgid and sticky as the system has them.
func Mode(fd int, mode uint32) error {
	if err := fault("chmod"); err != nil {
		return err
	}
	return unix.Fchmod(fd, mode)
}
