package disk

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFolderOfTheDead makes folders in one whose creator died before its name was durable. Then that name is synced first. A folder in which
// something is has a durable name.
func TestFolderOfTheDead(t *testing.T) {
	var calls []string
	Fault = func(call string) error { calls = append(calls, call); return nil }
	t.Cleanup(func() { Fault = nil })
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "left"), 0o700))
	for _, want := range [][]string{{"sync", "mkdir", "sync", "mkdir", "sync"}, {"sync"}} {
		calls = nil
		must(t, MakeFolders(filepath.Join(dir, "left", "a", "b")))
		if !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "left", "a", "b", "file"), nil, 0o600))
	calls = nil
	must(t, MakeFolders(filepath.Join(dir, "left", "a", "b")))
	if len(calls) > 0 {
		t.Errorf("calls %q for a folder that is not empty", calls)
	}
	must(t, os.Mkdir(filepath.Join(dir, "sealed"), 0o700))
	must(t, os.Mkdir(filepath.Join(dir, "sealed", "empty"), 0o700))
	must(t, os.Chmod(filepath.Join(dir, "sealed"), 0o300))
	must(t, MakeFolders(filepath.Join(dir, "sealed", "empty", "a")))
}
