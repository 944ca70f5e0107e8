package interpreter

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPackages(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"lib/python3.11/site-packages/numpy-1.24.2.dist-info", "lib/python3.11/site-packages/my_tool-0.1.dist-info",
		"lib/python3.11/site-packages/six-1.16.0-py3.11.egg-info", "lib/python3.11/site-packages/broken.dist-info", "lib/python3.11/site-packages/numpy"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := Packages(filepath.Join(root, "bin/python")), []string{"my-tool==0.1", "numpy==1.24.2", "six==1.16.0"}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
	if got := Packages("/nonexistent/bin/python"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
