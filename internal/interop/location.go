package interop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/interop/format"
	"pawl/internal/project"
)

// location is where another system's files are: a folder or, for a format with tables, a single file.
type location struct {
	dir    string
	file   string // the name of a single file in dir; empty for all files in dir
	server bool   // file stands for the format's server, and dir is the project's folder
}

// locate returns the location that a path names. The file or folder need not exist.
func locate(path string, f format.Format) location {
	if isServer(path, f) {
		return location{dir: filepath.Dir(path), file: format.ServerFile, server: true}
	}
	if f.Tables != nil {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist) && format.Wanted(f.Patterns, filepath.Base(path)) {
			return location{dir: filepath.Dir(path), file: filepath.Base(path)}
		}
	}
	return location{dir: path}
}

// isServer reports whether a path stands for the server of a format.
func isServer(path string, f format.Format) bool {
	return f.Server != nil && filepath.Base(path) == format.ServerFile
}

// projectDir returns the folder that paths in the files are relative to: the location itself or, for a single file, the
// project that contains it.
func (at location) projectDir() string {
	for above := at.dir; at.file != "" && filepath.Dir(above) != above; above = filepath.Dir(above) {
		if info, err := os.Stat(filepath.Join(above, project.Folder)); err == nil && info.IsDir() {
			return above
		}
	}
	return at.dir
}

// Resolved follows the links in the existing part of an absolute path.
func Resolved(path string) (string, error) {
	full, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return full, err
	}
	above, err := Resolved(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), err
}

// PathIn returns a path relative to the project, or the path itself if it lies elsewhere.
func PathIn(p *project.Project, dir string) string {
	if rel, err := filepath.Rel(p.Root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}
