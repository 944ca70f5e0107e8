// Package memo keeps values that were computed from files for as long as those files do not change, so that the next process need not
// read them again.
//
// A memo names its files with their identity, size and times, as a stat cache does, and counts only if all of them are as they were: any
// write since then changes a file's ctime. The program is one of these files. A memo also counts only until the system's next start, since a
// power failure may undo a write. It is written without a sync; a torn one fails its checksum. Deleting memos
// is always safe.
//
// A memo is believed. So its folder must be the user's own, where nothing arrives with a project.
package memo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// magic begins every memo. Its number is raised when the encoding changes.
const magic = "pawl memo 1\n"

// grain is how far timestamps of files may lag behind the clock. A file that changed less than this before it was read may change
// again without a new timestamp.
const grain = 20 * time.Millisecond

// kept is how many memos a folder holds: the newest.
const kept = 24

// File is a file as it was when the value was computed. The zero identity stands for a file that did not exist.
type File struct {
	Path          string
	Device, Inode uint64
	Size          int64
	Mtime, Ctime  int64 // ns
}

// Files are files as they were at one moment, and this program.
type Files struct {
	all     []File
	settled bool
}

// At returns how files are now. The caller calls it before it reads them.
func At(paths ...string) Files {
	program, ok := thisProgram()
	f := Files{all: []File{program}, settled: ok}
	for _, path := range paths {
		now, settled := Look(path)
		f.all = append(f.all, now)
		f.settled = f.settled && settled
	}
	return f
}

// Look returns how a file is now. It is settled if it has not changed so recently that another change might not show.
func Look(path string) (f File, settled bool) {
	before := time.Now().Add(-grain).UnixNano()
	f, err := look(path)
	return f, err == nil && f.Ctime < before
}

// thisProgram returns the file of this program.
var thisProgram = sync.OnceValues(func() (f File, ok bool) {
	path, err := os.Executable()
	if err == nil {
		f, err = look(path)
	}
	return f, err == nil && f != File{Path: path}
})

// Size returns the size of the files together.
func (f Files) Size() (n int64) {
	for _, one := range f.all[min(1, len(f.all)):] {
		n += one.Size
	}
	return n
}

// look returns how a file is now.
func look(path string) (File, error) {
	f := File{Path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return f, errors.ErrUnsupported
	}
	f.Device, f.Inode, f.Size, f.Mtime, f.Ctime = uint64(st.Dev), st.Ino, st.Size, info.ModTime().UnixNano(), ctimeOf(st)
	return f, nil
}

// Load reads the value of a memo that counts. Otherwise it returns false, and value is undefined.
func Load[T any](path string, value *T) bool {
	was, ok := LoadEarlier(path, value)
	return ok && was.Unchanged()
}

// LoadEarlier reads the value of a memo even if its files have changed since. The caller must compare it with them by other means. It
// returns the files as they were.
func LoadEarlier[T any](path string, value *T) (was Files, ok bool) {
	if !filepath.IsAbs(path) { // the user has no folder for memos: what lies in the working folder may be anybody's
		return was, false
	}
	body, whole := read(path)
	head, ok := headOf[T]()
	if !whole || !ok || !strings.HasPrefix(body, string(head)) {
		return was, false
	}
	in := reader{data: body[len(head):]}
	if !decode(&in, &was.settled) || !decode(&in, &was.all) || len(was.all) == 0 || was.all[0] != At().all[0] {
		return was, false
	}
	ok = decode(&in, value) && in.data == ""
	return was, ok
}

// Unchanged reports whether the files are certainly as they were.
func (f Files) Unchanged() bool { return f.settled && !slices.ContainsFunc(f.all[1:], changed) }

func changed(was File) bool {
	now, err := look(was.Path)
	return err != nil || now != was
}

// Equal reports whether the files are certainly as the other ones.
func (f Files) Equal(other Files) bool {
	return f.settled && other.settled && slices.Equal(f.all, other.all)
}

// Settled reports whether the files had not changed so recently that another change might not show. Otherwise a memo of them never counts.
func (f Files) Settled() bool { return f.settled }

// Save writes a memo of a value that was computed from files. It does nothing for a value that has no encoding.
func Save[T any](path string, from Files, value *T) error {
	data, ok := headOf[T]()
	if !ok || len(from.all) == 0 || !filepath.IsAbs(path) {
		return nil
	}
	data, _ = encode(data, &from.settled)
	if data, ok = encode(data, &from.all); ok {
		data, ok = encode(data, value)
	}
	if !ok {
		return nil
	}
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	if err := disk.Put(path, binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data))); err != nil {
		return err
	}
	return trim(filepath.Dir(path))
}

// read reads a memo, and returns it without its checksum. The strings of its value are parts of it, so it is read into one, without a copy.
func read(path string) (body string, ok bool) {
	f, err := disk.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < crc32.Size || info.Size() > disk.CacheLimit {
		return "", false
	}
	var text strings.Builder
	text.Grow(int(info.Size()))
	checksum := crc32.NewIEEE()
	if _, err := io.CopyN(io.MultiWriter(&text, checksum), f, info.Size()-crc32.Size); err != nil {
		return "", false
	}
	want := make([]byte, crc32.Size)
	_, err = io.ReadFull(f, want)
	return text.String(), err == nil && binary.BigEndian.Uint32(want) == checksum.Sum32()
}

// headOf returns what the memos of this start of the system begin with. If that is unknown, there are no memos.
func headOf[T any]() (head []byte, ok bool) {
	boot := process.BootID()
	return fmt.Appendf(nil, "%s%s\n%s\n", magic, boot, reflect.TypeFor[T]()), boot != ""
}

// trim removes all memos of a folder but the newest, and files that were not completed.
func trim(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) <= kept {
		return err
	}
	type dated struct {
		path string
		at   time.Time
	}
	var all []dated
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, dated{filepath.Join(folder, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b dated) int { return b.at.Compare(a.at) })
	for _, old := range all[min(kept, len(all)):] {
		if err := disk.Remove(old.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
