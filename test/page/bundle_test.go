package page

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBundle: the files that are committed are what `make page` makes of the sources.
func TestBundle(t *testing.T) {
	out := t.TempDir()
	cmd := exec.Command(filepath.Join(root(t), "scripts", "page"), packages(t), out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	folder := filepath.Join(root(t), "internal", "server", "page", "dist")
	made, committed := contents(t, out), contents(t, folder)
	for name, data := range made {
		if !bytes.Equal(data, committed[name]) {
			t.Errorf("%s differs from its sources: make page", name)
		}
		delete(committed, name)
	}
	for name := range committed {
		t.Errorf("%s has no source: make page", name)
	}
}

func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
