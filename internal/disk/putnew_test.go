package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/disk"
)

// PutNew replaces nothing, and follows no link that somebody else has put there.
func TestPutNew(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), disk.Guarded, "new")
	if created, err := disk.MakePassingFolders(dir); err != nil || !created {
		t.Fatal(created, err)
	}
	if created, err := disk.MakePassingFolders(dir); err != nil || created {
		t.Errorf("created twice: %t, %v", created, err)
	}
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := disk.PutNew(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", link); err != nil {
		t.Fatal(err)
	}
	if err := disk.PutNew(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("replaced: %v", err)
	}
	if err := disk.PutNew(link, []byte("two")); err == nil {
		t.Error("wrote through a link")
	}
	if data, err := os.ReadFile(path); string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made the target of a link: %v", err)
	}
}
