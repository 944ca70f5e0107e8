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

// writeFiles writes files of a format to the location that they were read from, each atomically and durably. A file without
// data is removed, a folder (its path ends in a slash) only if it is empty. A database is changed in one transaction.
// Nothing is written if a path leads out of the folder or through a symbolic link. If someone else has changed a file since
// it was read, writeFiles stops with format.ErrChanged. It returns the files that it wrote, also with an error.
func writeFiles(dir string, f format.Format, read format.Files, files []format.File) ([]format.File, error) {
	at := locate(dir, f)
	if err := checkNotReserved(at.dir); err != nil {
		return nil, err
	}
	if at.server {
		return writeServer(at.dir, f, files)
	}
	paths := make([]string, len(files))
	for i, file := range files {
		var err error
		if paths[i], err = safePath(at.dir, file.Path); err != nil {
			return nil, err
		}
	}
	for i, file := range files {
		check := func() error { return nil }
		if file.Was == nil && !strings.HasSuffix(file.Path, "/") {
			check = func() error { return unchanged(paths[i], expected(read, files[:i], file.Path), file) }
		}
		if err := check(); err != nil {
			return files[:i], err
		}
		if err := writeFile(paths[i], file, isPrivate(f, file.Path), check); err != nil {
			return files[:i], err
		}
	}
	return files, nil
}

// writeServer changes the tables of the format's server.
func writeServer(root string, f format.Format, files []format.File) ([]format.File, error) {
	for i, file := range files {
		if err := f.Server.Apply(root, file.Parts, file.Was, file.Data); err != nil {
			return files[:i], fmt.Errorf("write %s: %w", file.Path, err)
		}
	}
	return files, nil
}

// withMirrorLock calls write while no other pawl process writes another system's files in the project; p may be nil.
func withMirrorLock(p *project.Project, write func() error) error {
	if p == nil {
		return write()
	}
	return p.WithMirrorLock(write)
}

// replacedNotes returns a note for each unreadable file that was replaced, with the path of its copy.
func replacedNotes(written []format.File) []string {
	var notes []string
	for i, f := range written {
		replaced := slices.ContainsFunc(written[i:], func(later format.File) bool { return later.Path == f.Broken })
		if replaced && f.Data != nil {
			notes = append(notes, fmt.Sprintf("%s could not be read and was replaced; the old file is saved as %s", f.Broken, f.Path))
		}
	}
	return notes
}

// expected returns the content that a file should have on disk, after read and the files written since; nil if it should not
// exist.
func expected(read format.Files, written []format.File, name string) []byte {
	for _, f := range slices.Backward(written) {
		if f.Path == name {
			return f.Data
		}
	}
	if f := read.Find(name); f != nil {
		return f.Data // nil for a single file that does not exist
	}
	return nil
}

// unchanged returns format.ErrChanged unless the file has the expected content, or the new one already. A nil want means
// that it should not exist.
func unchanged(path string, want []byte, f format.File) error {
	data, err := disk.ReadFile(path, disk.CacheLimit)
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

// isPrivate reports whether a new file of a format is for its user only.
func isPrivate(f format.Format, name string) bool {
	one := format.Files{{Path: name}}
	return slices.ContainsFunc(f.Private, func(pattern string) bool { return len(one.Match(pattern)) > 0 })
}

// writeFile writes one file. Syncing takes time, so it calls check again just before it replaces the file.
func writeFile(path string, f format.File, private bool, check func() error) error {
	if f.Data == nil {
		return removeFile(path, strings.HasSuffix(f.Path, "/"))
	}
	folders, file := fs.FileMode(0o777), fs.FileMode(0o666)
	if private {
		folders, file = disk.FolderMode, disk.FileMode
	}
	if err := disk.MakeFoldersAs(filepath.Dir(path), folders); err != nil {
		return err
	}
	if f.Was == nil {
		return disk.ReplacePreservingIf(path, f.Data, file, check)
	}
	if err := sqlite.Apply(path, f.Parts, f.Was, f.Data); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}

func removeFile(path string, folder bool) error {
	if folder {
		if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
			return nil
		}
	}
	return disk.Remove(path)
}

// safePath returns the path of a name in dir, if none of its parts is a symbolic link.
func safePath(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("write %s: the path leads out of the folder", name)
	}
	path := dir
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." || part == ".git" || part == project.Folder {
			return "", fmt.Errorf("write %s: %q is not allowed in the path", name, part)
		}
		path = filepath.Join(path, part)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("write %s: %s is a symbolic link", name, path)
		}
	}
	return path, nil
}

// checkNotReserved refuses a folder of git or pawl, and every folder in one.
func checkNotReserved(dir string) error {
	for part := range strings.SplitSeq(filepath.ToSlash(dir), "/") {
		if part == ".git" || part == project.Folder {
			return runs.UsageError("", "%s is in %s, where pawl writes no files of other systems", dir, part)
		}
	}
	return nil
}
