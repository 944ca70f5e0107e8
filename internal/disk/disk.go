// Package disk is the only package through which pawl writes to disk: it replaces files atomically, appends, syncs and
// removes. It also opens, lists and reads all files below .pawl.
//
// What lies below .pawl may have arrived with a clone or an archive. From that folder on no call follows a link, reads
// anything but a regular file of this user, or reads more than the limit of the file's kind. Paths elsewhere are the
// caller's responsibility: links in them are followed.
//
// Every call that changes the disk calls fault first. Tests use that to crash between any two calls (see disktest). It does nothing in
// programs that were built without the tag "faults".
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Modes of everything in .pawl.
const (
	FileMode   fs.FileMode = 0o600
	FolderMode fs.FileMode = 0o700
)

// Replace atomically and durably replaces the file at path. After a crash or power failure, it holds its old content or
// data.
func Replace(path string, data []byte) error {
	if err := replace(path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(path string, data []byte) error {
	if err := fault("write"); err != nil {
		return err
	}
	in, err := parentOf(path, true)
	if err != nil {
		return err
	}
	defer in.close()
	temp := folder{fd: in.fd, name: "." + in.name + RandomHex(6)}
	if err := temp.replaceBy(data, in.name); err != nil {
		unix.Unlinkat(in.fd, temp.name, 0) // errors do not matter: it may not exist
		return err
	}
	return syncFolder(in.fd, filepath.Dir(path))
}

// replaceBy writes a new file durably and renames it to name.
func (f folder) replaceBy(data []byte, name string) error {
	file, err := f.create(FileMode)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Chmod(FileMode); err != nil { // whatever the umask
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := fault("sync"); err != nil {
		return err
	}
	if err := fault("rename"); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return f.rename(name)
}

// create creates the file, which must not exist, even as a link.
func (f folder) create(mode fs.FileMode) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retried(func() (int, error) { return unix.Openat(f.fd, f.name, flags, uint32(mode)) })
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: f.name, Err: err}
	}
	return os.NewFile(uintptr(fd), f.name), nil
}

// rename gives the file another name in its folder, and replaces what has that name.
func (f folder) rename(to string) error {
	if err := unix.Renameat(f.fd, f.name, f.fd, to); err != nil {
		return &os.PathError{Op: "rename", Path: to, Err: err}
	}
	return nil
}

// remove removes the file, which may be missing.
func (f folder) remove() error {
	if err := unix.Unlinkat(f.fd, f.name, 0); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "remove", Path: f.name, Err: err}
	}
	return nil
}

// ReplacePreserving is Replace for a user's file: it preserves the file's mode and owner. A new file gets mode, minus
// the umask. It writes to TempPath(path) first, which a crash may leave behind.
func ReplacePreserving(path string, data []byte, mode fs.FileMode) error {
	return ReplacePreservingIf(path, data, mode, func() error { return nil })
}

// ReplacePreservingIf is ReplacePreserving if check returns nil once the new content is synced, just before it replaces the file.
func ReplacePreservingIf(path string, data []byte, mode fs.FileMode, check func() error) error {
	in, err := parentOf(path, true)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer in.close()
	temp := folder{fd: in.fd, name: filepath.Base(TempPath(path))}
	if err := temp.replacePreserving(path, data, mode, check); err != nil {
		temp.remove() // errors do not matter
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncFolder(in.fd, filepath.Dir(path))
}

// TempPath is the temporary file that ReplacePreserving uses for path.
func TempPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+tempSuffix)
}

const tempSuffix = ".pawl-new"

// IsTemp reports whether a path can be the TempPath of another one.
func IsTemp(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, tempSuffix)
}

func (f folder) replacePreserving(path string, data []byte, mode fs.FileMode, check func() error) error {
	if err := f.remove(); err != nil {
		return err
	}
	if err := fault("write"); err != nil {
		return err
	}
	file, err := f.create(mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, copyModeAndOwner(file, path), File{File: file}.Sync(), file.Close()); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if err := fault("rename"); err != nil {
		return err
	}
	return f.rename(filepath.Base(path))
}

// copyModeAndOwner gives a file the mode and owner of the file that it replaces, if there is one.
func copyModeAndOwner(f *os.File, path string) error {
	stat := os.Stat
	if _, _, guarded := split(path); guarded {
		stat = Lstat
	}
	info, err := stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if known && (int(owner.Uid) != os.Geteuid() || int(owner.Gid) != os.Getegid()) {
		if err := f.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("preserve the owner: %w", err)
		}
	}
	return f.Chmod(info.Mode().Perm())
}

// Put atomically replaces the file at path, but does not sync: after a power failure the file may be missing or empty.
// It is meant for views, caches and anything else that is written again when missing.
func Put(path string, data []byte) error {
	return PutBy(fmt.Sprintf("%s.tmp%d", path, os.Getpid()), path, data)
}

// PutBy is Put with a temporary file chosen by the caller, in the same folder. The caller removes the file after a
// crash.
func PutBy(temp, path string, data []byte) error {
	in, err := parentOf(path, false)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer in.close()
	from := folder{fd: in.fd, name: filepath.Base(temp)}
	if err := from.put(in.name, data); err != nil {
		from.remove() // errors do not matter: it may not exist
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// PutNew writes a new file, but does not sync. It fails with fs.ErrExist if there is one. Readers, and a crash, may find a part of it.
func PutNew(path string, data []byte) error {
	if err := fault("write"); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	file, err := openRegular(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, FileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

func (f folder) put(name string, data []byte) error {
	if err := fault("write"); err != nil {
		return err
	}
	file, err := f.create(FileMode)
	if errors.Is(err, fs.ErrExist) { // a process with this number left it
		if err = f.remove(); err == nil {
			file, err = f.create(FileMode)
		}
	}
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := fault("rename"); err != nil {
		return err
	}
	return f.rename(name)
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	if err := fault("sync"); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	fd, err := openAt(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return openError(path, err)
	}
	defer unix.Close(fd)
	return fsyncFolder(fd, path)
}

// syncFolder makes the names in an open folder durable.
func syncFolder(fd int, path string) error {
	if err := fault("sync"); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return fsyncFolder(fd, path)
}

func fsyncFolder(fd int, path string) error {
	if _, err := retried(func() (int, error) { return 0, fsync(fd) }); err != nil {
		return &os.PathError{Op: "sync", Path: path, Err: err}
	}
	return nil
}

// Remove removes a file or an empty folder. A missing one is not an error.
func Remove(path string) error {
	if err := fault("unlink"); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func remove(path string) error {
	in, err := parentOf(path, false)
	if err != nil {
		return err
	}
	defer in.close()
	err = unix.Unlinkat(in.fd, in.name, 0)
	if err == unix.EISDIR || err == unix.EPERM { // EPERM: a folder on macOS
		if folderErr := unix.Unlinkat(in.fd, in.name, unix.AT_REMOVEDIR); folderErr != unix.ENOTDIR {
			err = folderErr
		}
	}
	if err != nil {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// RemoveTree removes a folder and its content. A missing one is not an error. A crash may leave part of it.
func RemoveTree(path string) error {
	entries, err := ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		below := filepath.Join(path, entry.Name())
		if entry.IsDir() {
			err = RemoveTree(below)
		} else {
			err = Remove(below)
		}
		if err != nil {
			return err
		}
	}
	return Remove(path)
}

// Rename durably renames a file or folder.
func Rename(from, to string) error {
	if err := fault("rename"); err != nil {
		return fmt.Errorf("rename %s: %w", from, err)
	}
	return between("rename", from, to, func(source, target folder) error {
		return unix.Renameat(source.fd, source.name, target.fd, target.name)
	})
}

// between calls do with the folders of two paths, and then makes the name of the second durable.
func between(op, from, to string, do func(source, target folder) error) error {
	source, err := parentOf(from, false)
	if err != nil {
		return err
	}
	defer source.close()
	target, err := parentOf(to, true)
	if err != nil {
		return err
	}
	defer target.close()
	if err := do(source, target); err != nil {
		return &os.LinkError{Op: op, Old: from, New: to, Err: err}
	}
	return syncFolder(target.fd, filepath.Dir(to))
}

// Link durably gives a regular file a second name. On file systems without hard links it makes a durable copy.
func Link(from, to string) error {
	if err := fault("link"); err != nil {
		return fmt.Errorf("link %s: %w", to, err)
	}
	f, err := Open(from) // rejects links
	if err != nil {
		return err
	}
	defer f.Close()
	err = between("link", from, to, func(source, target folder) error {
		return unix.Linkat(source.fd, source.name, target.fd, target.name, 0)
	})
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || Exists(to) {
		return err
	}
	data, readErr := io.ReadAll(f)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return Replace(to, data)
}

// Symlink makes path a symbolic link to target, and atomically replaces an existing link. It does not sync.
func Symlink(target, path string) error {
	if err := fault("symlink"); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	in, err := parentOf(path, false)
	if err != nil {
		return err
	}
	defer in.close()
	temp := folder{fd: in.fd, name: "." + in.name + RandomHex(6)}
	if err := unix.Symlinkat(target, in.fd, temp.name); err != nil {
		return &os.PathError{Op: "link", Path: path, Err: err}
	}
	if err := temp.rename(in.name); err != nil {
		temp.remove() // errors do not matter
		return err
	}
	return nil
}

// Create opens the file at path for reading and writing, and creates an empty one if it is missing. It makes the same
// checks as Open and never truncates. The name is not durable.
func Create(path string) (File, error) {
	if err := fault("create"); err != nil {
		return File{}, fmt.Errorf("open %s: %w", path, err)
	}
	f, err := openRegular(path, unix.O_RDWR|unix.O_CREAT, FileMode)
	return File{File: f}, err
}

// BeforeSpawn is called before a process is started, as a point for faults.
func BeforeSpawn() error { return fault("spawn") }

// File is a file whose writes can be made to fail.
type File struct{ *os.File }

// WriteAt writes data at the offset. After an error, a prefix may have been written.
func (f File) WriteAt(data []byte, offset int64) (int, error) {
	if err := fault("write"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(data, offset)
}

// Sync makes the file's data and size durable.
func (f File) Sync() error {
	if err := fault("sync"); err != nil {
		return err
	}
	return syncData(f.File)
}

// Truncate changes the size of the file.
func (f File) Truncate(size int64) error {
	if err := fault("truncate"); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// AppendLine durably appends a line to a file, and creates the file if it is missing. If an earlier writer left an
// incomplete line, it ends that first. Several processes may append concurrently.
func AppendLine(path string, line []byte) error {
	if err := appendLine(path, line); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	return nil
}

func appendLine(path string, line []byte) error {
	f, err := openRegular(path, unix.O_CREAT|unix.O_RDWR|unix.O_APPEND, FileMode)
	if err != nil {
		return err
	}
	defer f.Close()
	empty, cut, err := lastLine(f)
	if err != nil {
		return err
	}
	if cut {
		line = append([]byte{'\n'}, line...)
	}
	if err := fault("write"); err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := (File{File: f}).Sync(); err != nil || !empty {
		return err
	}
	return SyncFolder(filepath.Dir(path)) // the file may be new
}

// lastLine reports whether a file is empty, and whether its last line lacks its newline.
func lastLine(f *os.File) (empty, cut bool, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true, false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return false, last[0] != '\n', err
}
