package evidence

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestCensusCountsTheProjectsOwn: without any file of patterns too, what others made does not count, nor does what is left out by
// name; a .pawlignore brings back what is the project's own after all.
func TestCensusCountsTheProjectsOwn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{
		"a.py", "sub/test_a.py", "state.sql", "node_modules/x/index.js", "sub/node_modules/y.js", ".venv/lib/z.py", "myenv/pyvenv.cfg", "myenv/lib/z.py",
		"target/CACHEDIR.TAG", "target/main.rs", "vendor/v.go", "__pycache__/a.pyc", "lib/python/site-packages/w.py", "sub/.git/config",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := CountFiles(t.Context(), root, time.Now().Add(-time.Hour), "state.sql")
	if want := []string{"a.py", "sub/test_a.py"}; !slices.Equal(c.Files, want) || c.Total != 2 || c.Recent != 2 || c.Kinds[Source] != 1 || c.Kinds[Test] != 1 {
		t.Errorf("%+v", c)
	}
	if err := os.WriteFile(filepath.Join(root, ".pawlignore"), []byte("!vendor/\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if c := CountFiles(t.Context(), root, time.Time{}); !slices.Contains(c.Files, "vendor/v.go") {
		t.Errorf("%+v", c)
	}
}
