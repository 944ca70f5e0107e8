package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CreateBelow durably creates a file at a path below a folder, and the folders that lead to it. It follows no links in the path. It fails
// with fs.ErrExist if the name exists. Nobody sees a part of the content. A crash may leave a temporary file, for which IsPartial reports
// true.
func CreateBelow(root, path string, data []byte) error {
	in, err := makeBelow(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	in.name = filepath.Base(path)
	defer in.close()
	temp := folder{fd: in.fd, name: partialPrefix + RandomHex(8)}
	if err := temp.createAs(in.name, data); err != nil {
		unix.Unlinkat(in.fd, temp.name, 0) // errors do not matter: it may not exist
		return pathError(path, err)
	}
	return syncFolder(in.fd, filepath.Dir(path))
}

const partialPrefix = "partial-"

// IsPartial reports whether a name is one of the temporary files of CreateBelow.
func IsPartial(name string) bool { return strings.HasPrefix(name, partialPrefix) }

// createAs writes a new file durably, and then gives it its name, which must not exist.
func (f folder) createAs(name string, data []byte) error {
	if err := fault("write"); err != nil {
		return err
	}
	file, err := f.create(FileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = File{File: file}.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := fault("link"); err != nil {
		return err
	}
	err = unix.Linkat(f.fd, f.name, f.fd, name, 0)
	if err == unix.EPERM || err == unix.ENOTSUP || err == unix.EOPNOTSUPP || err == unix.ENOSYS { // no hard links here
		return renameNew(f.fd, f.name, name)
	}
	if err != nil {
		return err
	}
	return f.remove()
}

// makeBelow opens a folder below another one, and creates it durably if it is missing. It follows no links in the path.
func makeBelow(root, path string) (folder, error) {
	if !filepath.IsLocal(path) {
		return folder{fd: -1}, pathError(path, unix.EXDEV)
	}
	in, err := openFolderIn(root, ".")
	if err != nil || path == "." {
		return in, err
	}
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		next, err := in.below(name)
		in.close()
		if err != nil {
			return folder{fd: -1}, pathError(path, err)
		}
		in = next
	}
	return in, nil
}

// below opens a folder in this one, and creates it durably if it is missing.
func (f folder) below(name string) (folder, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	open := func() (int, error) { return unix.Openat(f.fd, name, flags, 0) }
	fd, err := retried(open)
	if err == unix.ENOENT {
		if err = fault("mkdir"); err != nil {
			return folder{}, err
		}
		if err = unix.Mkdirat(f.fd, name, uint32(FolderMode.Perm())); err != nil && err != unix.EEXIST {
			return folder{}, err
		}
		if err = syncFolder(f.fd, name); err != nil {
			return folder{}, err
		}
		fd, err = retried(open)
	}
	return folder{fd: fd}, err
}

// openFolderIn opens a folder below another one, without following links in the path.
func openFolderIn(root, path string) (folder, error) {
	fd, err := openIn(root, path, unix.O_DIRECTORY)
	return folder{fd: fd}, err
}

// RemoveBelow removes a file below a folder, without following links in the path. A missing one is not an error.
func RemoveBelow(root, path string) error {
	in, err := openFolderIn(root, filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.close()
	if err := fault("unlink"); err != nil {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	in.name = filepath.Base(path)
	return in.remove()
}

// Info is an entry of a folder.
type Info struct {
	Name     string
	Folder   bool
	Regular  bool
	Size     int64
	Modified time.Time
}

// ListInfoBelow returns the entries of a folder below another one, in no order. It follows no links.
func ListInfoBelow(root, path string) ([]Info, error) {
	in, err := openFolderIn(root, path)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(in.fd), path)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	list := make([]Info, 0, len(names))
	for _, name := range names {
		var st unix.Stat_t
		switch err := unix.Fstatat(in.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case err == unix.ENOENT: // removed meanwhile
			continue
		case err != nil:
			return nil, pathError(filepath.Join(path, name), err)
		}
		kind := st.Mode & unix.S_IFMT
		list = append(list, Info{
			Name: name, Folder: kind == unix.S_IFDIR, Regular: kind == unix.S_IFREG, Size: st.Size, Modified: time.Unix(st.Mtim.Unix()),
		})
	}
	return list, err
}
