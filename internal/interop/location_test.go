package interop

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/grid"
	"pawl/internal/interop/format/projectstate"
)

// TestLocate: only a format with tables has single files, which need not exist; their project is the one that contains them.
func TestLocate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	below := filepath.Join(root, "data")
	for _, dir := range []string{filepath.Join(root, ".pawl"), filepath.Join(below, "folder.sql")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(below, "there")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format  format.Format
		path    string
		want    location
		project string
	}{
		{projectstate.Format(), below, location{dir: below}, below},
		{projectstate.Format(), file, location{dir: below, file: "there"}, root},
		{projectstate.Format(), filepath.Join(below, "new.sql"), location{dir: below, file: "new.sql"}, root},
		{projectstate.Format(), filepath.Join(below, "folder.sql"), location{dir: filepath.Join(below, "folder.sql")}, filepath.Join(below, "folder.sql")},
		{projectstate.Format(), filepath.Join(below, "new"), location{dir: filepath.Join(below, "new")}, filepath.Join(below, "new")},
		{grid.Format(), file, location{dir: file}, file},
	} {
		if at := locate(c.path, c.format); at != c.want || at.projectDir() != c.project {
			t.Errorf("%s %s: %+v, project %s", c.format.Name, c.path, at, at.projectDir())
		}
	}
}
