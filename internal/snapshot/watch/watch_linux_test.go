package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a folder and its Watcher.
type watched struct {
	*testing.T
	*Watcher
	folder string
	root   int
}

// newWatched makes a folder with subfolders, and watches it and those.
func newWatched(t *testing.T, below ...string) *watched {
	t.Helper()
	w := &watched{T: t, folder: t.TempDir()}
	w.root = w.open("")
	var err error
	if w.Watcher, err = Open(w.root, w.folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, path := range append([]string{""}, below...) {
		if err := os.MkdirAll(filepath.Join(w.folder, path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(w.open(path), path); err != nil {
			t.Fatal(err)
		}
	}
	w.drain()
	return w
}

func (w *watched) open(path string) int {
	w.Helper()
	fd, err := unix.Open(filepath.Join(w.folder, path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { unix.Close(fd) })
	return fd
}

func (w *watched) write(path string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, path), nil, 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *watched) drain() Changes {
	w.Helper()
	changed, err := w.Drain(w.root)
	if err != nil {
		w.Fatal(err)
	}
	return changed
}

// TestDrain: a change that is complete is reported at once, and once.
func TestDrain(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a", "b")
	for i := range 1000 {
		folder := []string{"a", "b"}[i%2]
		w.write(fmt.Sprintf("%s/%d", folder, i))
		if changed := w.drain(); !changed.Folders[folder] || len(changed.Folders) != 1 || len(changed.Trees) != 0 || changed.All {
			t.Fatalf("%d: %+v", i, changed)
		}
	}
	if changed := w.drain(); len(changed.Folders) != 0 {
		t.Errorf("%+v", changed)
	}
}

// TestOverflow: when the kernel's queue is full, everything may have changed; then it continues.
func TestOverflow(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a")
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	var most int
	if _, err := fmt.Sscan(string(text), &most); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock() // nobody reads
	for i := range most {
		w.write(fmt.Sprintf("a/%d", i%2)) // one event differs from the one before
	}
	w.mu.Unlock()
	if !w.drain().All {
		t.Error("lost events go unnoticed")
	}
	w.write("a/file")
	if changed := w.drain(); changed.All || !changed.Folders["a"] {
		t.Errorf("afterwards: %+v", changed)
	}
}

// TestLimit: a watcher takes only its share of the user's watches, and says so.
func TestLimit(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a")
	if most, err := maxWatches(); err != nil || w.limit != most/2 {
		t.Fatalf("limit %d of %d: %v", w.limit, most, err)
	}
	w.limit = 2
	if err := w.Add(w.root, "b"); !errors.Is(err, ErrUnwatchable) {
		t.Fatal(err)
	}
	if _, err := w.Drain(w.root); !errors.Is(err, ErrUnwatchable) {
		t.Errorf("after the overflow: %v", err)
	}
}

// TestFileSystems: what other machines and other programs change unseen is not watched.
func TestFileSystems(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a")
	proc, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	if _, err := Open(proc, "/proc"); !errors.Is(err, ErrUnwatchable) {
		t.Errorf("/proc: %v", err)
	}
	if err := w.Add(proc, "mounted"); err != nil || w.Watches("mounted") || !w.Watches("a") {
		t.Errorf("below: %v", err)
	}
}

// TestReplacedRoot: another folder at the root's path is not watched.
func TestReplacedRoot(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a")
	if _, err := w.Drain(w.open("a")); !errors.Is(err, ErrUnwatchable) {
		t.Error(err)
	}
}

// TestMounts: a mount at or below the root hides what was there.
func TestMounts(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a")
	w.mounts = "100 1 0:5 / " + w.folder + "/a rw - tmpfs tmpfs rw\n"
	if !w.drain().All {
		t.Error("a changed mount goes unnoticed")
	}
	if w.drain().All {
		t.Error("an old change is reported again")
	}
	const info = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:5 / /home/a\040b/x rw - tmpfs tmpfs rw
31 22 0:6 / /home/a\040b rw - tmpfs tmpfs rw
32 22 0:7 / /home/a\040bc rw - tmpfs tmpfs rw
`
	if got := mountsIn(info, "/home/a b"); strings.Count(got, "\n") != 2 || strings.Contains(got, "bc") {
		t.Errorf("%q", got)
	}
	if got := mountsIn(info, "/"); got != info {
		t.Errorf("%q", got)
	}
}

// TestFolders: a folder that appears is reported with everything below it, and one that left no longer is.
func TestFolders(t *testing.T) {
	t.Parallel()
	w := newWatched(t, "a", "a/b", "c")
	for _, move := range [][2]string{{"a", "c/a"}, {"c/a", "a"}} {
		if err := os.Rename(filepath.Join(w.folder, move[0]), filepath.Join(w.folder, move[1])); err != nil {
			t.Fatal(err)
		}
	}
	w.write("a/b/file")
	changed := w.drain()
	if !changed.Trees["a"] || !changed.Trees["c/a"] || w.Watches("a") || w.Watches("a/b") || !w.Watches("c") {
		t.Errorf("%+v", changed)
	}
}
