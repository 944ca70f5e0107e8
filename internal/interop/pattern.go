package interop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/interop/format"
	"pawl/internal/project"
)

// foreignPlace is where another system's files lie: in a folder or, of a system whose files hold tables, as one file alone.
type foreignPlace struct {
	dir  string
	only string // the name of the one file in dir; empty: all that are below it
}

// placeOf returns the place that a path means: a file, there or not yet, or a folder.
func placeOf(path string, codec format.Format) foreignPlace {
	if codec.Tables != nil {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist) && format.Wanted(codec.Patterns, filepath.Base(path)) {
			return foreignPlace{dir: filepath.Dir(path), only: filepath.Base(path)}
		}
	}
	return foreignPlace{dir: path}
}

// speaksOf returns the folder that the files speak of: the one that they lie in, or the project that a single file lies in.
func (at foreignPlace) speaksOf() string {
	for above := at.dir; at.only != "" && filepath.Dir(above) != above; above = filepath.Dir(above) {
		if info, err := os.Stat(filepath.Join(above, project.Folder)); err == nil && info.IsDir() {
			return above
		}
	}
	return at.dir
}
