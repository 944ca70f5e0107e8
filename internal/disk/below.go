package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Guarded is the name of the folders whose content is opened without following links. The content of such a folder may
// have arrived with a clone or an archive.
const Guarded = ".pawl"

// ErrUnsafe is the error for a file that pawl does not open: anything but a regular file and, below a guarded folder, a
// path with a link or a file of another user.
var ErrUnsafe = errors.New("not a regular file of this user")

// unsafeError is an ErrUnsafe with its reason.
type unsafeError string

// ErrLinked is the error for a file below a guarded folder that would be changed in place and has other names (hard links): the
// content would change under them too, and they may lie anywhere.
var ErrLinked = errors.New("the file has other names")

// linkedError is an ErrLinked, and an ErrUnsafe, with the number of names.
type linkedError int

func (e linkedError) Error() string {
	return fmt.Sprintf("the file has %d names (hard links), and writing it would change it under all of them; replace it by a copy: cp FILE COPY && mv COPY FILE", int(e))
}
func (e linkedError) Is(target error) bool { return target == ErrUnsafe || target == ErrLinked }

func (e unsafeError) Error() string        { return string(e) }
func (e unsafeError) Is(target error) bool { return target == ErrUnsafe }

// maxPath is the longest path that system calls accept, in bytes.
const maxPath = 4095

// split divides a path at its first guarded folder. root is the path above that folder, below is the rest. guarded is
// false if there is no such folder.
func split(path string) (root, below string, guarded bool) {
	for at := 0; at < len(path); {
		name, _, _ := strings.Cut(path[at:], "/")
		if name == Guarded {
			root = path[:at]
			if root == "" {
				root = "."
			}
			return root, path[at:], true
		}
		at += len(name) + 1
	}
	return "", "", false
}

// openAt opens a path. From a guarded folder on, it follows no links.
func openAt(path string, flags int, mode fs.FileMode) (int, error) {
	flags |= unix.O_CLOEXEC
	root, below, guarded := split(path)
	if !guarded {
		return retried(func() (int, error) { return unix.Open(path, flags, uint32(mode)) })
	}
	if strings.Contains(below+"/", "/../") { // which might lead back to a place above
		return -1, unix.EINVAL
	}
	if fd, err := openWithoutLinks(path, flags, mode); err == nil || !undecided(err) {
		return fd, err
	}
	folder, err := retried(func() (int, error) { return unix.Open(root, folderFlags, 0) })
	if err != nil {
		return -1, err
	}
	defer unix.Close(folder)
	return openBelow(folder, below, flags, mode)
}

// undecided reports whether an error of openWithoutLinks says nothing about the path below the guarded folder: links
// above it are allowed, and sandboxes and old systems lack the call.
func undecided(err error) bool {
	return err == unix.ELOOP || err == unix.ENOSYS || err == unix.EPERM
}

// OpenBelow opens a path below an open folder without following links, so that a component that becomes a link cannot
// lead out of the folder.
func OpenBelow(root int, path string, flags int) (int, error) { return openBelow(root, path, flags, 0) }

// ExistsBelow reports whether there is anything at a path below an open folder. It follows no links.
func ExistsBelow(root int, path string) bool {
	fd, err := openBelow(root, path, existsFlags, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// openByComponent is openBelow for systems without openat2: it opens one path component at a time.
func openByComponent(root int, path string, flags int, mode fs.FileMode) (int, error) {
	if len(path) > maxPath {
		return -1, unix.ENAMETOOLONG
	}
	at, above := root, -1
	for {
		name, rest, more := strings.Cut(path, "/")
		how, as := flags, uint32(mode)
		if more {
			how, as = folderFlags, 0
		}
		fd, err := retried(func() (int, error) { return unix.Openat(at, name, how|unix.O_CLOEXEC|unix.O_NOFOLLOW, as) })
		if above >= 0 {
			unix.Close(above)
		}
		if err != nil || !more {
			return fd, err
		}
		at, above, path = fd, fd, rest
	}
}

// retried repeats a system call that a signal interrupted.
func retried(call func() (int, error)) (int, error) {
	for {
		fd, err := call()
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// A folder is the open parent of a path, for calls that take a name in a folder.
type folder struct {
	fd   int
	name string // the last component of the path
}

// parentOf opens the folder of a path. sync is set if the caller syncs the folder.
func parentOf(path string, sync bool) (folder, error) {
	name := filepath.Base(path)
	if name == "." || name == ".." || name == "/" {
		return folder{fd: -1}, &os.PathError{Op: "open", Path: path, Err: unix.EINVAL}
	}
	flags := folderFlags
	if sync {
		flags = unix.O_RDONLY | unix.O_DIRECTORY
	}
	dir := filepath.Dir(path)
	fd, err := openAt(dir, flags, 0)
	if err != nil {
		return folder{fd: -1}, openError(dir, err)
	}
	return folder{fd: fd, name: name}, nil
}

func (f folder) close() { unix.Close(f.fd) }

// openError returns the error of an open call, in words if a link or a special file is the cause.
func openError(path string, err error) error {
	if _, _, guarded := split(path); guarded {
		switch {
		case err == unix.ELOOP || err == unix.ENOTDIR:
			if link := linkIn(path); link != "" {
				return &os.PathError{Op: "open", Path: path, Err: unsafeError(link + " is a symbolic link")}
			}
		case err == unix.ENXIO:
			return &os.PathError{Op: "open", Path: path, Err: unsafeError("not a regular file: it is a socket, a named pipe or a device")}
		case err == unix.EINVAL:
			err = fs.ErrInvalid
		}
	}
	return &os.PathError{Op: "open", Path: path, Err: err}
}

// linkIn returns the first symbolic link in a path from its guarded folder on, or "". It is for messages only.
func linkIn(path string) string {
	root, below, _ := split(path)
	at := root
	for name := range strings.SplitSeq(below, "/") {
		at = filepath.Join(at, name)
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}
