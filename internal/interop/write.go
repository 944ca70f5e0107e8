package interop

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/interop/tables/sqlite"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// WriteForeign writes files of a codec's system where ReadForeign read them, each whole and durably; one without data is
// removed, a folder (its path ends in a slash) only where nothing is left in it. In a database what differs is changed, all
// at once. Where a path leads out of the folder, or through a link, nothing is written. What somebody else has changed since
// it was read ends it with format.ErrChanged, and stays as it is. It returns what was written, with an error what was
// before that.
func WriteForeign(dir string, codec format.Format, read format.Files, files []format.File) ([]format.File, error) {
	at := placeOf(dir, codec)
	if err := notOurs(at.dir); err != nil {
		return nil, err
	}
	paths := make([]string, len(files))
	for i, f := range files {
		var err error
		if paths[i], err = inside(at.dir, f.Path); err != nil {
			return nil, err
		}
	}
	for i, f := range files {
		if f.Was == nil && !strings.HasSuffix(f.Path, "/") {
			if err := unchanged(paths[i], expected(read, files[:i], f.Path), f); err != nil {
				return files[:i], err
			}
		}
		if err := writeForeign(paths[i], f); err != nil {
			return files[:i], err
		}
	}
	return files, nil
}

// mirroring runs write while no other pawl writes another system's files in a project; nil: they are in none.
func mirroring(p *project.Project, write func() error) error {
	if p == nil {
		return write()
	}
	return p.WithMirrorLock(write)
}

// MadeAnew says of files that were written which could not be read before, and where they are kept now, one line each.
func MadeAnew(written []format.File) []string {
	var notes []string
	for i, f := range written {
		anew := slices.ContainsFunc(written[i:], func(later format.File) bool { return later.Path == f.Broken })
		if anew && f.Data != nil {
			notes = append(notes, fmt.Sprintf("%s could not be read, and was made anew: it is kept as %s", f.Broken, f.Path))
		}
	}
	return notes
}

// expected returns how a file is to be found, after it was read and some were written; nil: it is not to be there.
func expected(read format.Files, written []format.File, name string) []byte {
	for _, f := range slices.Backward(written) {
		if f.Path == name {
			return f.Data
		}
	}
	if f := read.Find(name); f != nil {
		return f.Data // nil where the file was named and not there
	}
	return nil
}

// unchanged looks whether a file is as it is to be found, nil: it is not to be there; or as it is to become.
func unchanged(path string, want []byte, f format.File) error {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && want == nil, err == nil && want != nil && bytes.Equal(data, want):
		return nil
	case err == nil && f.Data != nil && bytes.Equal(data, f.Data):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", path, format.ErrChanged)
	}
	return err
}

func writeForeign(path string, f format.File) error {
	if f.Data == nil {
		return removeForeign(path, strings.HasSuffix(f.Path, "/"))
	}
	if err := disk.MakeFoldersAs(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if f.Was == nil {
		return disk.ReplacePreserving(path, f.Data, 0o666)
	}
	if err := sqlite.Apply(path, f.Parts, f.Was, f.Data); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}

func removeForeign(path string, folder bool) error {
	if folder {
		if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
			return nil
		}
	}
	return disk.Remove(path)
}

// inside returns the path of a name below a folder, if nothing on the way is a link.
func inside(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("write %s: it leads out of the folder", name)
	}
	path := dir
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." || part == ".git" || part == project.Folder {
			return "", fmt.Errorf("write %s: %q has no place in the name of such a file", name, part)
		}
		path = filepath.Join(path, part)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("write %s: %s is a symbolic link", name, path)
		}
	}
	return path, nil
}

// notOurs refuses a folder that is git's or pawl's own, or lies in one.
func notOurs(dir string) error {
	for part := range strings.SplitSeq(filepath.ToSlash(dir), "/") {
		if part == ".git" || part == project.Folder {
			return runs.UsageError("", "%s lies in %s, where no other system's files are written", dir, part)
		}
	}
	return nil
}
