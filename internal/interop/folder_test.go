package interop

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/grid"
)

// TestUnreadFilesAreNotOverwritten: a file above the size limit is not treated as missing.
func TestUnreadFilesAreNotOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, ".grid", "STATE.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, maxFileSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readToWrite(nil, dir, grid.Format()); err == nil || !strings.Contains(err.Error(), ".grid/STATE.md") || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("%v", err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if files, err := readToWrite(nil, dir, grid.Format()); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// TestWriteFilesStaysInItsFolder: no path leads out of the folder, into .git or .pawl, or through a symbolic link.
func TestWriteFilesStaysInItsFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../a.md", "/tmp/a.md", "a/../b.md", "./a.md", "a//b.md", ".git/hooks/x", "x/.pawl/project.json", "link/a.md", "link"} {
		if _, err := writeFiles(dir, grid.Format(), nil, []format.File{{Path: name, Data: []byte("x")}}); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if _, err := writeFiles(dir, grid.Format(), nil, []format.File{{Path: ".grid/new/a.md", Data: []byte("x")}}); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}

// TestWriteFilesKeepsOthersChanges: a file that someone else changed since it was read is not overwritten.
func TestWriteFilesKeepsOthersChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"same.md": "a", "changed.md": "theirs", "made.md": "theirs"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := format.Files{{Path: "same.md", Data: []byte("a")}, {Path: "changed.md", Data: []byte("a")}, {Path: "gone.md", Data: []byte("a")}}
	for name, free := range map[string]bool{"same.md": true, "new.md": true, "changed.md": false, "made.md": false, "gone.md": false} {
		for _, data := range [][]byte{[]byte("ours"), nil} {
			_, err := writeFiles(dir, grid.Format(), read, []format.File{{Path: name, Data: data}})
			if free && data != nil && err != nil || !free && !errors.Is(err, format.ErrChanged) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	twice := []format.File{{Path: "twice.md", Data: []byte("a")}, {Path: "twice.md", Data: []byte("b")}, {Path: "twice.md"}, {Path: "twice.md", Data: []byte("c")}}
	if _, err := writeFiles(dir, grid.Format(), read, twice); err != nil {
		t.Errorf("own writes count as changes by someone else: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "changed.md")); err != nil || string(data) != "theirs" {
		t.Errorf("%s %v", data, err)
	}
}

// TestUpdateRetries: Write does not overwrite a file that someone else changed since the folder was opened, and update
// rereads it and retries.
func TestUpdateRetries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, ".grid", "STATE.md")
	write := func(text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	folder, err := OpenFolder(t.Context(), nil, grid.Format(), dir)
	if err != nil {
		t.Fatal(err)
	}
	write("theirs")
	for _, data := range [][]byte{[]byte("ours"), nil} {
		if err := folder.Write(nil, []format.File{{Path: ".grid/STATE.md", Data: data}}); !errors.Is(err, format.ErrChanged) {
			t.Errorf("overwritten: %v", err)
		}
	}
	faster := []string{"faster", "and again"}
	m := &Mirror{Format: grid.Format(), Dir: dir}
	if _, err := m.update(nil, &pawl.State{}, func(read format.Files) ([]format.File, error) {
		made := append([]byte("ours over "), read[0].Data...)
		if len(faster) > 0 {
			write(faster[0])
			faster = faster[1:]
		}
		return []format.File{{Path: ".grid/STATE.md", Data: made}}, nil
	}); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "ours over and again" {
		t.Errorf("%s, %v", data, err)
	}
}

// TestReplacedNotesAfterRetry: if update retries, the notes name the files that it replaced before, and no others.
func TestReplacedNotesAfterRetry(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]int{"b.md": 1, "a.md": 0} {
		dir := t.TempDir()
		write := func(name, text string) {
			path := filepath.Join(dir, ".grid", name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		write("a.md", "broken")
		write("b.md", "first")
		m := &Mirror{Format: grid.Format(), Dir: dir}
		written, err := m.update(nil, &pawl.State{}, func(read format.Files) ([]format.File, error) {
			made := []format.File{{Path: ".grid/b.md", Data: []byte("ours")}}
			if string(read.Find(".grid/a.md").Data) == "broken" {
				made = append([]format.File{{Path: ".grid/a.md.kept", Data: []byte("broken"), Broken: ".grid/a.md"}, {Path: ".grid/a.md", Data: []byte("ours")}}, made...)
				write(other, "theirs")
			}
			return made, nil
		})
		if notes := replacedNotes(written); err != nil || len(notes) != want {
			t.Errorf("%s changes in between: %q, %v", other, notes, err)
		}
	}
}
