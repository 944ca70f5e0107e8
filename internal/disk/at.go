package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The functions below take a name in an open folder, so that changes to the path of that folder cannot redirect them.
// None of them syncs.

// CreateAt creates a new file in the folder. It fails if the name exists, even as a link.
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

// RenameAt renames a name within the folder, and replaces an existing one.
func RenameAt(folder int, from, to string) error {
	if err := fault("rename"); err != nil {
		return fmt.Errorf("rename %s: %w", to, err)
	}
	if err := unix.Renameat(folder, from, folder, to); err != nil {
		return &os.PathError{Op: "rename", Path: to, Err: err}
	}
	return nil
}

// RenameNewAt renames a name within the folder, and fails with EEXIST if the new one exists. On a file system that cannot do that in
// one step, it looks first.
func RenameNewAt(folder int, from, to string) error {
	if err := fault("rename"); err != nil {
		return fmt.Errorf("rename %s: %w", to, err)
	}
	err := renameNew(folder, from, to)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		var st unix.Stat_t
		switch err = unix.Fstatat(folder, to, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case err == nil:
			err = unix.EEXIST
		case errors.Is(err, unix.ENOENT):
			err = unix.Renameat(folder, from, folder, to)
		}
	}
	if err != nil {
		return &os.PathError{Op: "rename", Path: to, Err: err}
	}
	return nil
}

// RemoveAt removes a file or link, or an empty folder if isFolder is set.
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

// MakeFolderAt creates a folder.
func MakeFolderAt(folder int, name string) error {
	if err := fault("mkdir"); err != nil {
		return fmt.Errorf("make folder %s: %w", name, err)
	}
	if err := unix.Mkdirat(folder, name, uint32(FolderMode)); err != nil {
		return &os.PathError{Op: "make folder", Path: name, Err: err}
	}
	return nil
}

// SymlinkAt creates a symbolic link.
func SymlinkAt(target string, folder int, name string) error {
	if err := fault("symlink"); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	if err := unix.Symlinkat(target, folder, name); err != nil {
		return &os.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

// Chmod sets the permission bits of an open file or folder, including setuid, setgid and sticky.
func Chmod(fd int, mode uint32) error {
	if err := fault("chmod"); err != nil {
		return err
	}
	return unix.Fchmod(fd, mode)
}

// GiveAt gives an open file to the owner of the file with a name in the folder, else to the owner of the folder. Only root can do that; for
// another user it does nothing.
func GiveAt(folder int, name string, file int) error {
	if thisUser() != 0 {
		return nil
	}
	var st unix.Stat_t
	err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		err = unix.Fstat(folder, &st)
	}
	if err != nil || st.Uid == 0 {
		return err
	}
	if err := fault("chown"); err != nil {
		return err
	}
	return unix.Fchown(file, int(st.Uid), int(st.Gid))
}

// GiveFolderAt gives a new folder to the owner of the folder that it is in, as GiveAt does.
func GiveFolderAt(folder int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(folder, &st); err != nil || thisUser() != 0 || st.Uid == 0 {
		return err
	}
	if err := fault("chown"); err != nil {
		return err
	}
	return unix.Fchownat(folder, name, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW)
}
