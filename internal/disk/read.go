package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The largest files of each kind that pawl reads into memory, in bytes.
const (
	ConfigLimit   = 1 << 20   // config.yaml and other settings
	IdentityLimit = 64 << 10  // project.json, registry entries, holders of locks
	MemoryLimit   = 4 << 20   // MEMORY.md
	PlanLimit     = 16 << 20  // plans
	RecordLimit   = 16 << 20  // records of one attempt, session or import: begun.json, exit.json, job.json and so on
	ViewLimit     = 64 << 20  // views, events.jsonl and lists of items
	CacheLimit    = 512 << 20 // caches of a whole run or workspace: state.json, blobs, stat caches
	JournalLimit  = 4 << 30   // a whole damaged journal, when it is rebuilt
)

// ErrTooLarge is the error for a file that is larger than its limit.
var ErrTooLarge = errors.New("the file is too large")

// largeError is an ErrTooLarge with the limit in bytes.
type largeError int64

func (e largeError) Error() string {
	return "the file is larger than " + size(int64(e)) + ", the most that pawl reads"
}
func (e largeError) Is(target error) bool { return target == ErrTooLarge }

// Open opens a regular file for reading. It rejects anything else: reading a pipe or device might never end. Below
// .pawl it follows no links and rejects files of other users.
func Open(path string) (*os.File, error) { return openRegular(path, unix.O_RDONLY, 0) }

// OpenOwn is Open for a file of this user. It does not follow a link at the end of path.
func OpenOwn(path string) (*os.File, error) {
	f, err := openRegular(path, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &st); err == nil && !ownerAllowed(st.Uid) {
		err = unsafeError(fmt.Sprintf("the file belongs to another user (uid %d)", st.Uid))
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// OpenWritable opens an existing regular file for reading and writing, with the same checks as Open. Below .pawl the file must
// have no other names than path and those of others that are the same file.
func OpenWritable(path string, others ...string) (File, error) {
	f, err := openWithNames(path, unix.O_RDWR, 0, others)
	return File{File: f}, err
}

// OpenFolder opens a folder, to lock it. Below .pawl it follows no links.
func OpenFolder(path string) (*os.File, error) {
	fd, err := openAt(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenAppend opens a regular file for appending, with the same checks as Open, and creates it if it is missing.
func OpenAppend(path string) (*os.File, error) {
	return openRegular(path, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, FileMode)
}

// openRegular opens a regular file.
func openRegular(path string, flags int, mode fs.FileMode) (*os.File, error) {
	return openWithNames(path, flags, mode, nil)
}

// openWithNames opens a regular file that may have other names. Without O_NONBLOCK, open waits for the other end of a pipe.
func openWithNames(path string, flags int, mode fs.FileMode, others []string) (*os.File, error) {
	fd, err := openAt(path, flags|unix.O_NONBLOCK|unix.O_NOCTTY, mode)
	if err != nil {
		return nil, openError(path, err)
	}
	err = checkRegular(fd, path)
	if err == nil && flags&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT) != 0 {
		err = checkNames(fd, path, others)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	// Child processes inherit the flag, and os.NewFile would poll the file.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&unix.O_APPEND); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// checkRegular returns an error unless an open file is regular and, below .pawl, belongs to this user.
func checkRegular(fd int, path string) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	_, _, guarded := split(path)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = unsafeError("not a regular file: it is a " + kindOf(uint32(st.Mode)))
	case guarded && !ownerAllowed(st.Uid):
		err = unsafeError(fmt.Sprintf("the file belongs to another user (uid %d)", st.Uid))
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}

// checkNames returns an error if an open file below .pawl has more names than path and those of others that are the same file.
func checkNames(fd int, path string, others []string) error {
	var st unix.Stat_t
	if _, _, guarded := split(path); !guarded {
		return nil
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	names := uint64(1)
	for _, other := range others {
		info, err := Lstat(other)
		if err != nil {
			continue
		}
		if there, ok := info.Sys().(*syscall.Stat_t); ok && there.Ino == st.Ino && uint64(there.Dev) == uint64(st.Dev) {
			names++
		}
	}
	if uint64(st.Nlink) > names {
		return &os.PathError{Op: "open", Path: path, Err: linkedError(st.Nlink)}
	}
	return nil
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "folder"
	case unix.S_IFIFO:
		return "named pipe"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "device"
	}
	return "special file"
}

// ReadBelow is ReadFile for a path below a folder, relative to it. It follows no links in that path.
func ReadBelow(root, path string, limit int64) ([]byte, error) {
	f, err := openRegularBelow(root, path)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

// ReadStartBelow is ReadBelow that returns only the first bytes of a larger file.
func ReadStartBelow(root, path string, most int64) ([]byte, error) {
	f, err := openRegularBelow(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// ListBelow returns some entries of a folder below another one, at most so many, in no order. It follows no links in the path.
func ListBelow(root, path string, most int) ([]fs.DirEntry, error) {
	fd, err := openIn(root, path, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.ReadDir(most)
}

// openRegularBelow opens a regular file below a folder, without following links in path.
func openRegularBelow(root, path string) (*os.File, error) {
	fd, err := openIn(root, path, 0)
	if err != nil {
		return nil, err
	}
	if err = checkRegular(fd, path); err != nil {
		unix.Close(fd)
		return nil, pathError(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openIn opens a path below a folder for reading, without following links in path.
func openIn(root, path string, flags int) (int, error) {
	folder, err := retried(func() (int, error) { return unix.Open(root, folderFlags|unix.O_CLOEXEC, 0) })
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(folder)
	fd, err := openBelow(folder, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|flags, 0)
	if err == unix.ELOOP || err == unix.EXDEV {
		err = unsafeError("the path has a symbolic link, or leads out of the project")
	}
	if err != nil {
		return -1, pathError(path, err)
	}
	return fd, nil
}

// pathError adds the path to an error that has none.
func pathError(path string, err error) error {
	if _, has := errors.AsType[*os.PathError](err); has {
		return err
	}
	return &os.PathError{Op: "open", Path: path, Err: err}
}

// ReadFile returns the content of a regular file of at most limit bytes, with the same checks as Open.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

// readAll reads a file of at most limit bytes and closes it.
func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLarge := &os.PathError{Op: "read", Path: path, Err: largeError(limit)}
	if info.Size() > limit {
		return nil, tooLarge
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, tooLarge
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		}
		if len(data) == cap(data) { // it has grown meanwhile
			data = slices.Grow(data, 512)
		}
	}
}

// size returns a limit in words.
func size(limit int64) string {
	if limit < 1<<20 {
		return fmt.Sprintf("%d KiB", limit>>10)
	}
	return fmt.Sprintf("%d MiB", limit>>20)
}

// Lstat returns information about a path. It does not follow a link at its end, nor any link below .pawl.
func Lstat(path string) (fs.FileInfo, error) {
	if _, _, guarded := split(path); !guarded {
		return os.Lstat(path)
	}
	return lstat(path)
}

// Exists reports whether there is anything at a path, even a link.
func Exists(path string) bool {
	_, err := Lstat(path)
	return err == nil
}

func statAndClose(fd int, path string) (fs.FileInfo, error) {
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Stat()
}

// IsOpenAs reports whether an open file is the one that st describes.
func IsOpenAs(f *os.File, st unix.Stat_t) bool {
	var own unix.Stat_t
	return unix.Fstat(int(f.Fd()), &own) == nil && own.Ino == st.Ino && own.Dev == st.Dev
}

// ReadDir returns the entries of a folder, sorted by name. Below .pawl it follows no links.
func ReadDir(path string) ([]fs.DirEntry, error) {
	f, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// ReadNames is ReadDir for a caller that needs only the names, in any order.
func ReadNames(path string) ([]string, error) {
	f, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func openDir(path string) (*os.File, error) {
	fd, err := openAt(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Glob returns the paths in a folder whose names match the pattern, sorted. A missing folder has none. Only names are
// matched, never folders.
func Glob(dir, pattern string) ([]string, error) {
	entries, err := ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		matches, err := path.Match(pattern, e.Name())
		if err != nil {
			return nil, err
		}
		if matches {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}

// WalkDir is filepath.WalkDir that follows no links below .pawl.
func WalkDir(root string, visit fs.WalkDirFunc) error {
	info, err := Lstat(root)
	if err != nil {
		err = visit(root, nil, err)
	} else {
		err = walk(root, fs.FileInfoToDirEntry(info), visit)
	}
	if err == fs.SkipDir || err == fs.SkipAll {
		return nil
	}
	return err
}

func walk(path string, entry fs.DirEntry, visit fs.WalkDirFunc) error {
	if err := visit(path, entry, nil); err != nil || !entry.IsDir() {
		if err == fs.SkipDir && entry.IsDir() {
			err = nil
		}
		return err
	}
	entries, err := ReadDir(path)
	if err != nil {
		if err = visit(path, entry, err); err != nil {
			if err == fs.SkipDir {
				err = nil
			}
			return err
		}
	}
	for _, e := range entries {
		if err := walk(filepath.Join(path, e.Name()), e, visit); err != nil {
			if err == fs.SkipDir {
				break
			}
			return err
		}
	}
	return nil
}
