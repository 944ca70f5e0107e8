package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mask are the events that change what a snapshot holds. A file that was mapped is closed when the mapping ends.
	mask = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
		unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

	pause      = 50 * time.Millisecond // between two reads, so that a busy step does not keep the reader busy
	bufferSize = 64 << 10
	headerSize = 16 // of struct inotify_event: watch, mask, cookie, length of the name (inotify(7))
	share      = 2  // at most 1/share of the user's watches: other programs need some, too
)

// Watcher watches a tree by inotify.
type Watcher struct {
	file   *os.File
	conn   syscall.RawConn
	path   string // of the root
	device uint64 // of the root
	inode  uint64 // of the root
	limit  int    // folders
	closed chan struct{}
	reader sync.WaitGroup

	mu     sync.Mutex // guards what follows, and the order in which events are read and watches added
	table  *table
	buffer []byte
	mounts string // at and below the root
	broken error  // the tree cannot be watched any more
}

// Open returns a Watcher of the tree at path, which is open as root. It watches nothing yet. It fails with ErrUnwatchable if the tree
// is on a file system that does not report all changes, or if the user has no watches left.
func Open(root int, path string) (*Watcher, error) {
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		return nil, err
	}
	if err := reports(root); err != nil {
		return nil, err
	}
	mounts, err := mountsBelow(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnwatchable, err)
	}
	limit, err := maxWatches()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnwatchable, err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("%w: inotify: %w", ErrUnwatchable, err)
	}
	w := &Watcher{
		file: os.NewFile(uintptr(fd), "inotify"), path: path, device: uint64(st.Dev), inode: st.Ino, limit: limit / share,
		closed: make(chan struct{}), buffer: make([]byte, bufferSize), mounts: mounts,
	}
	if w.conn, err = w.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	w.table = newTable(func(watch int32) { _, _ = unix.InotifyRmWatch(fd, uint32(watch)) }) // it may have ended already
	w.reader.Go(w.read)
	return w, nil
}

// Close ends all watches.
func (w *Watcher) Close() error {
	close(w.closed)
	err := w.file.Close()
	w.reader.Wait()
	return err
}

// Add watches a folder, which is open as fd. It does nothing for a folder on a file system that does not report all changes.
func (w *Watcher) Add(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uint64(st.Dev) != w.device && reports(fd) != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	if len(w.table.paths) >= w.limit {
		w.broken = fmt.Errorf("%w: more than %d folders", ErrUnwatchable, w.limit)
		return w.broken
	}
	err := w.conn.Control(func(inotify uintptr) {
		watch, err := unix.InotifyAddWatch(int(inotify), "/proc/self/fd/"+strconv.Itoa(fd), mask)
		if err != nil {
			w.broken = fmt.Errorf("%w: inotify: %w", ErrUnwatchable, err)
			return
		}
		w.table.add(int32(watch), path)
	})
	return errors.Join(err, w.broken)
}

// Watches reports whether a folder is watched.
func (w *Watcher) Watches(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, watched := w.table.watches[path]
	return watched
}

// Drain returns what may have changed since the last call. It includes every change that was complete when Drain was called. The
// root is open as root. After an error nothing is watched any more.
func (w *Watcher) Drain(root int) (Changes, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		return Changes{}, err
	}
	if w.broken == nil && (uint64(st.Dev) != w.device || st.Ino != w.inode) {
		w.broken = fmt.Errorf("%w: another folder is at %s", ErrUnwatchable, w.path)
	}
	if w.broken != nil {
		return Changes{}, w.broken
	}
	mounts, err := mountsBelow(w.path)
	if err != nil {
		return Changes{}, err
	}
	if mounts != w.mounts {
		w.mounts = mounts
		w.table.note(event{lost: true})
	}
	var failed error
	err = w.conn.Control(func(inotify uintptr) { failed = w.readQueued(int(inotify)) })
	return w.table.take(), errors.Join(err, failed)
}

// readQueued reads the events that are in the queue now. The queue keeps their order, and w.mu keeps others from reading.
func (w *Watcher) readQueued(inotify int) error {
	queued, err := unix.IoctlGetInt(inotify, unix.TIOCINQ)
	for queued > 0 && err == nil {
		var n int
		n, err = w.readOnce(inotify)
		if queued -= n; n == 0 {
			return err
		}
	}
	return err
}

// read reads events until the watcher is closed: the queue is bounded.
func (w *Watcher) read() {
	for {
		err := w.conn.Read(func(inotify uintptr) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			n, err := w.readOnce(int(inotify))
			if err != nil {
				w.broken = err
			}
			return n > 0 || err != nil
		})
		if err != nil {
			return // closed
		}
		select {
		case <-w.closed:
			return
		case <-time.After(pause):
		}
	}
}

// readOnce reads and notes some events; 0 if there are none.
func (w *Watcher) readOnce(inotify int) (int, error) {
	for {
		n, err := unix.Read(inotify, w.buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("read inotify: %w", err)
		}
		for rest := w.buffer[:n]; len(rest) >= headerSize; {
			end := headerSize + int(binary.NativeEndian.Uint32(rest[12:]))
			w.table.note(parse(rest[:end]))
			rest = rest[end:]
		}
		return n, nil
	}
}

// parse decodes one event.
func parse(raw []byte) event {
	bits := binary.NativeEndian.Uint32(raw[4:])
	name, _, _ := bytes.Cut(raw[headerSize:], []byte{0})
	return event{
		watch: int32(binary.NativeEndian.Uint32(raw)), name: string(name),
		lost: bits&(unix.IN_Q_OVERFLOW|unix.IN_UNMOUNT) != 0, ended: bits&unix.IN_IGNORED != 0, folder: bits&unix.IN_ISDIR != 0,
		appears: bits&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0, leaves: bits&unix.IN_MOVED_FROM != 0,
	}
}

// reporting are the file systems whose changes all come through this kernel.
var reporting = map[uint32]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true,
	0x2fc12fc1: true, // ZFS
	0xca451a4e: true, // bcachefs
}

// reports returns an error unless the file system of an open folder reports all changes.
func reports(fd int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return err
	}
	if kind := uint32(st.Type); !reporting[kind] {
		return fmt.Errorf("%w: file system of type %#x", ErrUnwatchable, kind)
	}
	return nil
}

// maxWatches returns how many watches a user may have.
func maxWatches() (int, error) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// mountsBelow returns the mounts at and below a folder. No event tells of a new one.
func mountsBelow(folder string) (string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return mountsIn(string(text), folder), nil
}

// mountsIn returns the lines of mountinfo for the mounts at and below a folder.
func mountsIn(mountinfo, folder string) string {
	var below strings.Builder
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape(fields[4]); point == folder || strings.HasPrefix(point, strings.TrimSuffix(folder, "/")+"/") {
			below.WriteString(line)
		}
	}
	return below.String()
}

// unescape decodes a path of mountinfo, in which blanks and backslashes are octal numbers (proc(5)).
func unescape(path string) string {
	for _, escaped := range []string{`\040`, `\011`, `\012`, `\134`} {
		code, _ := strconv.ParseUint(escaped[1:], 8, 8)
		path = strings.ReplaceAll(path, escaped, string(rune(code)))
	}
	return path
}
