// Package disk is the one seam through which pawl writes: files replaced whole and durably, appends, syncs, removals.
//
// Every call that changes the disk passes fault first. In ordinary builds that is nothing; built with the tag
// "faults", the environment says at which call the process dies or the call fails (see fault_on.go), which is how the
// torture command visits every window between two calls.
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

// Modes of everything below .pawl.
const (
	FileMode   fs.FileMode = 0o600
	FolderMode fs.FileMode = 0o700
)

// Replace writes path whole: afterwards, and after a power cut, it holds either its old content or data.
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
	beside := renameio.WithTempDir(filepath.Dir(path)) // else it tries whether a rename from $TMPDIR would do, and leaves files there
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

// ReplaceOthers is Replace for a file that is not ours: it keeps the mode and the owner that the file has. A new one gets
// mode, less what the umask takes. It goes by way of the file Beside(path), which death may leave.
func ReplaceOthers(path string, data []byte, mode fs.FileMode) error {
	if err := replaceOthers(path, data, mode); err != nil {
		os.Remove(Beside(path)) // what may be there of it
		return fmt.Errorf("write %s: %w", path, err)
	}
	return SyncFolder(filepath.Dir(path))
}

// Beside is the file by way of which ReplaceOthers replaces another.
func Beside(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".pawl-new")
}

func replaceOthers(path string, data []byte, mode fs.FileMode) error {
	if err := os.Remove(Beside(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fault("write"); err != nil {
		return err
	}
	f, err := os.OpenFile(Beside(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, likeOld(f, path), File{File: f}.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fault("rename"); err != nil {
		return err
	}
	return os.Rename(Beside(path), path)
}

// likeOld gives a file the mode and the owner of the one that it is to replace, if there is one.
func likeOld(f *os.File, path string) error {
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
			return fmt.Errorf("keep its owner: %w", err)
		}
	}
	return f.Chmod(info.Mode().Perm())
}

// Put writes path whole, like Replace, but does not wait for the disk: after a power cut it may be missing or empty.
// It is for views, caches and everything that is written again when it is missing.
func Put(path string, data []byte) error {
	return PutBy(fmt.Sprintf("%s.tmp%d", path, os.Getpid()), path, data)
}

// PutBy is Put by way of a file of the caller's choice in the same folder: its name says who clears away what death
// leaves of it.
func PutBy(temp, path string, data []byte) error {
	if err := put(temp, path, data); err != nil {
		os.Remove(temp) // what may be there of it
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

// MakeFolders makes path and what is missing above it. The folders that it makes are durable when it returns.
func MakeFolders(path string) error { return MakeFoldersAs(path, FolderMode) }

// MakeFoldersAs is MakeFolders for folders that are not ours: they get mode, less what the umask takes.
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

// Remove removes a file or an empty folder. One that is not there is no error.
func Remove(path string) error {
	if err := fault("unlink"); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveTree removes a folder with all that is in it. One that is not there is no error; cut off, some of it is left.
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

// Rename moves a file or folder and makes the move durable.
func Rename(from, to string) error {
	if err := fault("rename"); err != nil {
		return fmt.Errorf("rename %s: %w", from, err)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// Link gives a file a second name, durably; where the file system knows no second names it makes a durable copy.
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

// Symlink makes path a link to target, in one move where another link is there. It does not wait for the disk.
func Symlink(target, path string) error {
	if err := fault("symlink"); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	return renameio.Symlink(target, path)
}

// Create opens path for reading and writing, and makes it, empty, where it is missing. The file's name is not durable.
func Create(path string) (File, error) {
	if err := fault("create"); err != nil {
		return File{}, fmt.Errorf("open %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, FileMode)
	return File{File: f}, err
}

// Spawning is called before a process is started.
func Spawning() error { return fault("spawn") }

// File is a file that is written through the seam.
type File struct{ *os.File }

// WriteAt writes all of data at the offset, or says why not; a prefix may then be there.
func (f File) WriteAt(data []byte, offset int64) (int, error) {
	if err := fault("write"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(data, offset)
}

// Sync makes the file's data, and its size, durable.
func (f File) Sync() error {
	if err := fault("sync"); err != nil {
		return err
	}
	return syncData(f.File)
}

// Truncate cuts the file at size.
func (f File) Truncate(size int64) error {
	if err := fault("truncate"); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// AppendLine appends a line to a file, making it where it is missing, and waits for the disk. What a writer before left
// unfinished is ended first, so that the line stands alone. Any number of processes may do so at a time.
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
	if cut, err := endsWithin(f); err != nil {
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

// endsWithin reports whether the file ends within a line.
func endsWithin(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] != '\n', err
}

// OpenRegular opens a file for reading that somebody else may have put there. What is no file, such as a pipe or a
// device, could be read without end: it is refused.
func OpenRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that nobody writes to would be waited for
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
