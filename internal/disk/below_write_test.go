package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"pawl/internal/disk"
)

func TestCreateBelowCreatesOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var created atomic.Int32
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			err := disk.CreateBelow(root, "a/b/name", []byte{byte('0' + i)})
			if err == nil {
				created.Add(1)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if created.Load() != 1 {
		t.Errorf("%d writers created the file", created.Load())
	}
	entries, err := os.ReadDir(filepath.Join(root, "a/b"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestCreateBelowFollowsNoLinks(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "kept"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("missing", filepath.Join(root, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"out/new", "out/deep/new", "../new", "dangling"} {
		if err := disk.CreateBelow(root, path, nil); err == nil {
			t.Errorf("created %s", path)
		}
	}
	if err := disk.RemoveBelow(root, "out/kept"); err == nil {
		t.Error("removed a file through a link")
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestRemoveBelow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := disk.CreateBelow(root, "a/name", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := disk.RemoveBelow(root, "a/name"); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.RemoveBelow(root, "b/name"); err != nil {
		t.Error(err)
	}
	if disk.Exists(filepath.Join(root, "a/name")) {
		t.Error("it is still there")
	}
}
