package interop

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/grid"
	"pawl/internal/interop/format/projectstate"
)

// TestPlaceOf: a file is one alone only where a system's files hold tables, there or not; it speaks of the project around it.
func TestPlaceOf(t *testing.T) {
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
		codec    format.Format
		path     string
		want     foreignPlace
		speaksOf string
	}{
		{projectstate.Format(), below, foreignPlace{dir: below}, below},
		{projectstate.Format(), file, foreignPlace{dir: below, only: "there"}, root},
		{projectstate.Format(), filepath.Join(below, "new.sql"), foreignPlace{dir: below, only: "new.sql"}, root},
		{projectstate.Format(), filepath.Join(below, "folder.sql"), foreignPlace{dir: filepath.Join(below, "folder.sql")}, filepath.Join(below, "folder.sql")},
		{projectstate.Format(), filepath.Join(below, "new"), foreignPlace{dir: filepath.Join(below, "new")}, filepath.Join(below, "new")},
		{grid.Format(), file, foreignPlace{dir: file}, file},
	} {
		if at := placeOf(c.path, c.codec); at != c.want || at.speaksOf() != c.speaksOf {
			t.Errorf("%s %s: %+v, speaks of %s", c.codec.Name, c.path, at, at.speaksOf())
		}
	}
}
