// Package userfile reads and writes files that the user names on the command line. It reads regular files, and pipes such as
// /dev/stdin.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/strictyaml"
)

// Plan reads a plan file.
func Plan(path string) ([]byte, error) { return Read(path, "plan", disk.PlanLimit) }

// Read reads a file of at most limit bytes. Messages call it noun.
func Read(path, noun string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usageError("no %s file %s%s", noun, path, meant(path))
	case err != nil:
		return nil, usageError("read %s: %w", noun, err)
	case info.IsDir():
		return nil, usageError("%s is a folder; name a %s file", path, noun)
	case info.Size() > limit:
		return nil, usageError("%s is not a %s; expected a file of at most %d MiB", path, noun, limit>>20)
	}
	data, err := read(path, info, limit)
	if err != nil {
		return nil, usageError("read %s: %w", noun, err)
	}
	return data, nil
}

// meant suggests a file of the same folder with a similar name, "" if there is none.
func meant(path string) string {
	folder, name := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Join(folder, "."))
	if err != nil {
		return ""
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	if near := strictyaml.Nearest(name, names); near != "" {
		return "; did you mean " + oneline.Path(folder+near) + "?"
	}
	return ""
}

func read(path string, info fs.FileInfo, limit int64) ([]byte, error) {
	if info.Mode().IsRegular() {
		return disk.ReadFile(path, limit)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: %w", path, disk.ErrTooLarge)
	}
	return data, err
}

// Write writes a file, all of it or nothing. An existing one is an error without force.
func Write(path string, data []byte, force bool) error {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return usageError("write: %w", err)
	case info.IsDir():
		return usageError("%s is a folder; name a file", path)
	case !force:
		return usageError("%s exists; choose another file, or pass --force to overwrite it", path)
	}
	return disk.ReplacePreserving(path, data, 0o644)
}

func usageError(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...)}
}
