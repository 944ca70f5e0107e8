package snapshot

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// TestClone: a file is copied out of the workspace only if it looks exactly as it did when it was stamped.
func TestClone(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("sub/file", "content")
	r := w.take()
	e, err := w.store.At(r, "sub/file")
	w.must(err)
	clones, err := w.store.newCloner()
	w.must(err)
	defer clones.close()
	try := func(started int64) (done bool, content string) {
		path := filepath.Join(t.TempDir(), "copy")
		file, err := disk.Create(path)
		w.must(err)
		defer file.Close()
		clones.cache.started = started
		done, err = clones.clone(file, "sub/file", *e, clones.known("sub")["file"])
		w.must(err)
		data, err := os.ReadFile(path)
		w.must(err)
		return done, string(data)
	}
	var st unix.Stat_t
	w.must(unix.Stat(w.path("sub/file"), &st))
	_, ctime := timesOf(&st)
	if done, content := try(ctime); done || content != "" {
		t.Errorf("in the tick in which it was written: %v %q", done, content)
	}
	done, content := try(math.MaxInt64)
	if !done && content != "" || done && content != "content" {
		t.Errorf("unchanged: %v %q", done, content)
	}
	t.Logf("the file system clones or copies: %v", done)
	w.must(os.Chmod(w.path("sub/file"), 0o600))
	if done, content := try(math.MaxInt64); done || content != "" {
		t.Errorf("changed: %v %q", done, content)
	}
}
