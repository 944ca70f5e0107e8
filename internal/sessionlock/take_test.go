package sessionlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// TestLocksAreTaken: while pawl writes, a session of Gyoshu finds the locks held, and so does another pawl. A lock that a dead
// pawl left is replaced; that of another program stays. Without Gyoshu's folder, pawl makes none.
func TestLocksAreTaken(t *testing.T) {
	t.Parallel()
	runtime := t.TempDir()
	paths := []string{Notebook(runtime, "tides"), Report(runtime, "tides"), Queue(runtime, "tides", "tides-1")}
	taken := func() func() error {
		t.Helper()
		release, err := Take(paths)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	if release := taken(); len(Find(paths)) != 0 || release() != nil {
		t.Errorf("locks in no folder: %v", Find(paths))
	}
	for _, path := range paths {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	release := taken()
	if len(Find(paths)) != 3 {
		t.Errorf("locks %v", Find(paths))
	}
	for _, f := range Find(paths) {
		if !f.Held || !f.Own {
			t.Errorf("%+v", f)
		}
	}
	if _, err := Take(paths); pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("taken twice: %v", err)
	}
	if err := release(); err != nil || len(Find(paths)) != 0 {
		t.Errorf("not released: %v, %v", err, Find(paths))
	}
	for owner, replaced := range map[string]bool{"pawl-1": true, "u": false} {
		put(t, paths[0], owner, 4194305)
		release := taken()
		data, err := os.ReadFile(paths[0])
		if err != nil || strings.Contains(string(data), "4194305") == replaced {
			t.Errorf("%s: %s, %v", owner, data, err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(paths[0]); (err == nil) == replaced {
			t.Errorf("%s: %v", owner, err)
		}
	}
}

// put writes a lock file, as a session with this process does.
func put(t *testing.T, path, id string, pid int) {
	t.Helper()
	text := fmt.Sprintf(`{"lockId":%q,"pid":%d,"hostname":%q,"acquiredAt":"2026-03-01T00:00:00Z"}`, id, pid, Here().Name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWithNotebook: the lock of a research's notebook is held while it is written. Another notebook has none.
func TestWithNotebook(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("GYOSHU_RUNTIME_DIR", runtime)
	lock := Notebook(runtime, "tides")
	notebook := filepath.Join(t.TempDir(), "notebooks", "tides.ipynb")
	with := func(notebook string) (held bool, err error) {
		err = WithNotebook(notebook, 0, func() error {
			_, missing := os.Stat(lock)
			held = missing == nil
			return nil
		})
		return held, err
	}
	if held, err := with(notebook); held || err != nil {
		t.Errorf("no session of Gyoshu was ever here: %v, %v", held, err)
	}
	if _, err := os.Stat(filepath.Join(runtime, "locks")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		t.Fatal(err)
	}
	if held, err := with(notebook); !held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
	for _, other := range []string{"/x/tides.ipynb", "/x/notebooks/tides.md"} {
		if held, err := with(other); held || err != nil {
			t.Errorf("%s: held %v, %v", other, held, err)
		}
	}
	put(t, lock, "u", os.Getpid())
	if _, err := with(notebook); pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("a session writes it: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	if err := WithNotebook(notebook, 0, func() error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
	if found := Find([]string{lock}); len(found) != 0 {
		t.Errorf("it stays: %v", found)
	}
}
