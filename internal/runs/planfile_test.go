package runs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/runs"
)

// TestIncludes reads files as a plan does that includes them: only regular files of the project, of limited size.
func TestIncludes(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "sub/a.yaml"), "steps: [{id: a, run: a}]")
	write(filepath.Join(root, "sub/near.yaml"), "")
	write(filepath.Join(root, "large.yaml"), strings.Repeat("#", 1<<20+1))
	write(filepath.Join(outside, "secret.yaml"), "steps: [{id: secret, run: a}]")
	link(filepath.Join(outside, "secret.yaml"), "out.yaml")
	link(outside, "outside")
	link("sub", "inside")
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := runs.Includes(root, filepath.Join(root, "sub", "plan.yaml"))
	if data, err := read("sub/a.yaml"); err != nil || !strings.Contains(string(data), "id: a") {
		t.Errorf("%q, %v", data, err)
	}
	for path, want := range map[string]string{
		"none.yaml":           "no file none.yaml in the project",
		"near.yaml":           "no file near.yaml in the project; paths are relative to the project; did you mean sub/near.yaml?",
		"large.yaml":          "large.yaml is too large; an included file may have at most 1 MiB",
		"out.yaml":            "a symbolic link",
		"outside/secret.yaml": "a symbolic link",
		"inside/a.yaml":       "a symbolic link",
		"pipe.yaml":           "pipe",
		"sub":                 "folder",
		"sub/a.yaml/b":        "not a directory",
		"../" + filepath.Base(outside) + "/secret.yaml": "out of the project",
	} {
		if data, err := read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %s", path, data, err, want)
		}
	}
}
