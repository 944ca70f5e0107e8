package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/foreign"
	"pawl/internal/foreign/grid"
	"pawl/internal/sqlitefile"
)

// TestNothingIsWrittenOverWhatWasNotRead: a file that is too large to be read is not taken for missing, and made anew.
func TestNothingIsWrittenOverWhatWasNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, ".grid", "STATE.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, maxForeign+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readToWrite(nil, dir, grid.Codec); err == nil || !strings.Contains(err.Error(), ".grid/STATE.md") || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("%v", err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if files, err := readToWrite(nil, dir, grid.Codec); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// TestWriteForeignStaysInItsPlace: no name leads out of the folder, into git or pawl, or through a link.
func TestWriteForeignStaysInItsPlace(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../a.md", "/tmp/a.md", "a/../b.md", "./a.md", "a//b.md", ".git/hooks/x", "x/.pawl/project.json", "link/a.md", "link"} {
		if err := WriteForeign(dir, grid.Codec, []foreign.File{{Path: name, Data: []byte("x")}}); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if err := WriteForeign(dir, grid.Codec, []foreign.File{{Path: ".grid/new/a.md", Data: []byte("x")}}); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}

// TestWhatOthersChangeMeanwhile: a file that somebody else changed, made or removed since it was read is not written over.
func TestWhatOthersChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now  string
		read foreign.Files
		want bool
	}{
		"as it was": {"a", foreign.Files{{Path: "01-SUMMARY.md", Data: []byte("a")}}, true}, "changed": {"b", foreign.Files{{Path: "WAVE_STATUS.md", Data: []byte("a")}}, false},
		"made": {"b", nil, false}, "removed": {"", foreign.Files{{Path: "01-SUMMARY.md", Data: []byte("a")}}, false}, "not there": {"", nil, true},
		"to be made": {"", foreign.Files{{Path: "01-SUMMARY.md"}}, true},
	} {
		dir := t.TempDir()
		if c.now != "" {
			if err := os.WriteFile(filepath.Join(dir, "01-SUMMARY.md"), []byte(c.now), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := asRead(dir, grid.Codec, c.read, []foreign.File{{Path: "01-SUMMARY.md", Data: []byte("x")}})
		if (err == nil) != c.want || err != nil && !errors.Is(err, sqlitefile.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
