package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MakeFolders creates the folder at path and its missing parents, durably.
func MakeFolders(path string) error { return makeFolders(path, FolderMode, true) }

// MakeFoldersAs is MakeFolders for a user's folders: they get mode, minus the umask.
func MakeFoldersAs(path string, mode fs.FileMode) error {
	return makeFolders(path, mode, true)
}

// MakePassingFolders is MakeFolders for folders that need not survive a power failure. It reports whether it created the one at path.
func MakePassingFolders(path string) (created bool, err error) {
	return createFolders(path, FolderMode, false)
}

func makeFolders(path string, mode fs.FileMode, durable bool) error {
	_, err := createFolders(path, mode, durable)
	return err
}

func createFolders(path string, mode fs.FileMode, durable bool) (created bool, err error) {
	var missing []string
	there := filepath.Clean(path)
	for ; ; there = filepath.Dir(there) {
		fd, err := openAt(there, folderFlags, 0)
		if err == nil {
			unix.Close(fd)
			break
		}
		if err != unix.ENOENT {
			return false, openError(there, err)
		}
		missing = append(missing, there)
	}
	if durable {
		if err := syncNameOfEmpty(there); err != nil {
			return false, err
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if created, err = makeFolder(missing[i], mode, durable); err != nil {
			return false, err
		}
	}
	return created, nil
}

// syncNameOfEmpty makes the name of a folder durable if the folder is empty: whoever created it may have died before. Nothing is put into a
// folder before its name is durable.
func syncNameOfEmpty(path string) error {
	empty, err := isEmpty(path)
	if err != nil || !empty {
		return err
	}
	in, err := parentOf(path, true)
	if errors.Is(err, fs.ErrPermission) { // then this user did not create the folder
		return nil
	}
	if err != nil {
		return err
	}
	defer in.close()
	return syncFolder(in.fd, filepath.Dir(path))
}

// isEmpty reports whether a folder is readable and empty.
func isEmpty(path string) (bool, error) {
	f, err := openAt(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.EACCES {
		return false, nil
	}
	if err != nil {
		return false, openError(path, err)
	}
	folder := os.NewFile(uintptr(f), path)
	defer folder.Close()
	_, err = folder.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

func makeFolder(path string, mode fs.FileMode, durable bool) (created bool, err error) {
	if err := fault("mkdir"); err != nil {
		return false, fmt.Errorf("make folder %s: %w", path, err)
	}
	in, err := parentOf(path, true)
	if err != nil {
		return false, err
	}
	defer in.close()
	if err := unix.Mkdirat(in.fd, in.name, uint32(mode.Perm())); err == nil {
		created = true
	} else if err != unix.EEXIST {
		return false, &os.PathError{Op: "make folder", Path: path, Err: err}
	}
	if !durable {
		return created, nil
	}
	return created, syncFolder(in.fd, filepath.Dir(path))
}
