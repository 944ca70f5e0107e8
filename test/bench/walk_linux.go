package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// rawWalk is the least that finding a change costs: each folder opened and read once, each name looked at once, by as
// many goroutines as pawl has. It returns how many names there are.
type rawWalk struct {
	mu      sync.Mutex // guards what follows
	more    sync.Cond  // the stack has grown, or the walk is over
	stack   []string
	folders int // not finished
	names   int
	err     error
}

// walkBare walks a folder's tree.
func walkBare(root string) (names int, err error) {
	w := &rawWalk{stack: []string{root}, folders: 1}
	w.more.L = &w.mu
	var workers sync.WaitGroup
	for range max(4, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			buf := make([]byte, 64<<10)
			for folder := w.pop(); folder != ""; folder = w.pop() {
				names, below, err := lookInto(folder, buf)
				w.done(names, below, err)
			}
		})
	}
	workers.Wait()
	return w.names, w.err
}

// pop gives the next folder, or nothing when the walk is over.
func (w *rawWalk) pop() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.stack) == 0 && w.folders > 0 && w.err == nil {
		w.more.Wait()
	}
	if w.err != nil || len(w.stack) == 0 {
		return ""
	}
	folder := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	return folder
}

func (w *rawWalk) done(names int, below []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stack = append(w.stack, below...)
	w.folders += len(below) - 1
	w.names += names
	if w.err == nil {
		w.err = err
	}
	w.more.Broadcast()
}

// lookInto looks at each name of a folder, and returns the folders among them.
func lookInto(folder string, buf []byte) (names int, below []string, err error) {
	fd, err := unix.Openat(unix.AT_FDCWD, folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("open %s: %w", folder, err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil || n == 0 {
			return names, below, err
		}
		for rest := buf[:n]; len(rest) > 0; rest = rest[binary.NativeEndian.Uint16(rest[16:]):] {
			name := string(rest[19 : 19+bytes.IndexByte(rest[19:], 0)])
			if name == "." || name == ".." || name == ".pawl" {
				continue
			}
			var st unix.Stat_t
			if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return names, below, fmt.Errorf("look at %s/%s: %w", folder, name, err)
			}
			names++
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				below = append(below, folder+"/"+name)
			}
		}
	}
}
