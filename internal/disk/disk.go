// Package disk is the only package through which pawl writes to disk: it replaces files atomically, appends, syncs and
// removes.
//
// Every call that changes the disk calls fault first. In ordinary builds that does nothing. In builds with the tag
// "faults", the environment selects the call at which the process dies or the call fails (see fault_on.go). Tests use
// that to crash between any two calls.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
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
	return SyncFolder(filepath.Dir(path))
}

func replace(path string, data []byte) error {
	if err := fault("write"); err != nil {
		return err
	}
	beside := renameio.WithTempDir(filepath.Dir(path)) // the default tries a rename from $TMPDIR and leaves files there
	f, err := renameio.NewPendingFile(path, beside, renameio.WithPermissions(FileMode), renameio.IgnoreUmask())
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := fault("sync"); err != nil {
		return err
	}
	if err := fault("rename"); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace() // syncs, then renames
}

// ReplacePreserving is Replace for a user's file: it preserves the file's mode and owner. A new file gets mode, minus
// the umask. It writes to TempPath(path) first, which a crash may leave behind.
func ReplacePreserving(path string, data []byte, mode fs.FileMode) error {
	if err := replacePreserving(path, data, mode); err != nil {
		os.Remove(TempPath(path)) // errors do not matter: it may not exist
		return fmt.Errorf("write %s: %w", path, err)
	}
	return SyncFolder(filepath.Dir(path))
}

// TempPath is the temporary file that ReplacePreserving uses for path.
func TempPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".pawl-new")
}

func replacePreserving(path string, data []byte, mode fs.FileMode) error {
	if err := os.Remove(TempPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fault("write"); err != nil {
		return err
	}
	f, err := os.OpenFile(TempPath(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, copyModeAndOwner(f, path), File{File: f}.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fault("rename"); err != nil {
		return err
	}
	return os.Rename(TempPath(path), path)
}

// copyModeAndOwner gives a file the mode and owner of the file that it replaces, if there is one.
func copyModeAndOwner(f *os.File, path string) error {
	info, err := os.Stat(path)
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
	if err := put(temp, path, data); err != nil {
		os.Remove(temp) // errors do not matter: it may not exist
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func put(temp, path string, data []byte) error {
	if err := fault("write"); err != nil {
		return err
	}
	if err := os.WriteFile(temp, data, FileMode); err != nil {
		return err
	}
	if err := fault("rename"); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	if err := fault("sync"); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// MakeFolders creates the folder at path and its missing parents, durably.
func MakeFolders(path string) error { return MakeFoldersAs(path, FolderMode) }

// MakeFoldersAs is MakeFolders for a user's folders: they get mode, minus the umask.
func MakeFoldersAs(path string, mode fs.FileMode) error {
	var missing []string
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, p)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := fault("mkdir"); err != nil {
			return fmt.Errorf("make folder %s: %w", missing[i], err)
		}
		if err := os.Mkdir(missing[i], mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := SyncFolder(filepath.Dir(missing[i])); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a file or an empty folder. A missing one is no error.
func Remove(path string) error {
	if err := fault("unlink"); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveTree removes a folder and its content. A missing one is no error. A crash may leave part of it.
func RemoveTree(path string) error {
	entries, err := os.ReadDir(path)
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
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// Link durably gives a file a second name. On file systems without hard links it makes a durable copy.
func Link(from, to string) error {
	if err := fault("link"); err != nil {
		return fmt.Errorf("link %s: %w", to, err)
	}
	if err := os.Link(from, to); err != nil {
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		data, readErr := os.ReadFile(from)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		return Replace(to, data)
	}
	return SyncFolder(filepath.Dir(to))
}

// Symlink makes path a symbolic link to target, and atomically replaces an existing link. It does not sync.
func Symlink(target, path string) error {
	if err := fault("symlink"); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	return renameio.Symlink(target, path)
}

// Create opens the file at path for reading and writing, and creates an empty one if it is missing. The name is not
// durable.
func Create(path string) (File, error) {
	if err := fault("create"); err != nil {
		return File{}, fmt.Errorf("open %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, FileMode)
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
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, FileMode)
	if err != nil {
		return err
	}
	defer f.Close()
	if cut, err := endsMidLine(f); err != nil {
		return err
	} else if cut {
		line = append([]byte{'\n'}, line...)
	}
	if err := fault("write"); err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return File{File: f}.Sync()
}

// endsMidLine reports whether the file's last line lacks its newline.
func endsMidLine(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] != '\n', err
}

// OpenRegular opens a file that may come from somebody else for reading. It rejects anything but a regular file:
// reading a pipe or device might never end.
func OpenRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without O_NONBLOCK, open waits for the writer of a pipe
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", filepath.Base(path))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
