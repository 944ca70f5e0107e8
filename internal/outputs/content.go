// Package content looks at the files that a plan declares: it expands their patterns, refuses those that lead out of
// the workspace, makes them durable and takes their hashes. It never changes one.
package outputs

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
)

// MissingError lists declared paths that do not exist.
type MissingError struct{ Paths []string }

func (e *MissingError) Error() string { return "missing: " + strings.Join(e.Paths, ", ") }

// EscapeError names a declared path that leads out of the workspace through a symbolic link.
type EscapeError struct{ Path, Target string }

// Error names the path and where it leads.
func (e *EscapeError) Error() string {
	return fmt.Sprintf("%s leads out of the project, to %s", e.Path, e.Target)
}

// Hash returns the contents of the declared paths, by path. A pattern stands for its matches, or where they are more
// than manyMatches, for itself: all of them as one content. A pattern without a match and a path at which nothing is
// are a *MissingError.
func Hash(root string, declared []string) (pawl.Outputs, error) {
	found := make(pawl.Outputs, len(declared))
	var missing []string
	for _, d := range declared {
		matches, err := glob(root, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		if len(matches) == 0 {
			missing = append(missing, d)
		}
		if len(matches) > manyMatches {
			matches = []string{d}
		}
		for _, path := range matches {
			if found[path], err = One(root, path); err != nil {
				return nil, err
			}
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{Paths: missing}
	}
	return found, nil
}

// manyMatches is how many matches of a pattern are named one by one.
const manyMatches = 64

// One returns the content of one path, relative to root with '/', or of all that match it as a pattern.
func One(root, path string) (pawl.Content, error) {
	matches, err := glob(root, path)
	switch {
	case err != nil:
		return pawl.Content{}, fmt.Errorf("%s: %w", path, err)
	case len(matches) == 0:
		return pawl.Content{}, &MissingError{Paths: []string{path}}
	case len(matches) == 1:
		return at(root, matches[0])
	}
	all := make(pawl.Outputs, len(matches))
	sum := pawl.Content{Files: len(matches)}
	for _, m := range matches {
		if all[m], err = at(root, m); err != nil {
			return pawl.Content{}, err
		}
		sum.Size += all[m].Size
	}
	sum.SHA256 = all.Hash()
	return sum, nil
}

// at returns the content of exactly this path.
func at(root, path string) (pawl.Content, error) {
	full, err := inside(root, path)
	if err != nil {
		return pawl.Content{}, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return pawl.Content{}, err
	}
	if info.IsDir() {
		return folder(full)
	}
	if !info.Mode().IsRegular() {
		return pawl.Content{}, fmt.Errorf("%s is neither a file nor a folder", path)
	}
	sum, size, err := file(full)
	return pawl.Content{SHA256: sum, Size: size}, err
}

// Exists reports whether there is anything at a declared path, or anything that matches it.
func Exists(root, declared string) bool {
	return isThere(root, declared, func(string, fs.FileInfo) bool { return true })
}

// Begun reports whether there is something in what is at a declared path: bytes in a file, entries in a folder.
func Begun(root, declared string) bool {
	return isThere(root, declared, func(full string, info fs.FileInfo) bool {
		if !info.IsDir() {
			return info.Size() > 0
		}
		entries, err := os.ReadDir(full)
		return err == nil && len(entries) > 0
	})
}

// isThere reports whether something that matches a declared path is there, inside the workspace, and fits.
func isThere(root, declared string, fits func(full string, info fs.FileInfo) bool) bool {
	matches, err := glob(root, declared)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(matches, func(m string) bool {
		full, err := inside(root, m)
		if err != nil {
			return false
		}
		info, err := os.Lstat(full)
		return err == nil && fits(full, info)
	})
}

// Sync makes the declared paths, everything below them and the folders above them up to root durable.
func Sync(root string, paths []string) error {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	var files []string
	folders := map[string]bool{}
	for _, declared := range paths {
		matches, err := glob(root, declared)
		if err != nil {
			return fmt.Errorf("%s: %w", declared, err)
		}
		if len(matches) == 0 {
			return &MissingError{Paths: []string{declared}}
		}
		for _, path := range matches {
			below, err := gather(root, path, folders)
			if err != nil {
				return err
			}
			files = append(files, below...)
		}
	}
	return syncAll(root, files, folders)
}

// gather returns the files at path and below, and notes the folders at, below and above it: above a link, and above
// where it leads.
func gather(root, path string, folders map[string]bool) (files []string, err error) {
	real, err := inside(root, path)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(real, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			folders[p] = true
		case d.Type().IsRegular():
			files = append(files, p)
		}
		return nil
	})
	for _, leaf := range []string{filepath.Join(root, filepath.FromSlash(path)), real} {
		for up := filepath.Dir(leaf); len(up) >= len(root); up = filepath.Dir(up) {
			folders[up] = true
		}
	}
	return files, err
}

// glob returns what is at the declared path or matches it as a pattern, relative to root with '/'. A file whose name
// has the pattern's own characters in it is taken literally. Pawl's own folder never matches.
func glob(root, declared string) ([]string, error) {
	pattern := path.Clean(declared)
	for _, literal := range []string{pattern, unescaped(pattern)} {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(literal))); err == nil {
			return []string{literal}, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if !strings.ContainsAny(pattern, "*?[") {
		return nil, nil
	}
	matches, err := fs.Glob(os.DirFS(root), pattern)
	return slices.DeleteFunc(matches, func(m string) bool { return m == ".pawl" || strings.HasPrefix(m, ".pawl/") }), err
}

// unescaped returns a pattern's text without the escapes of pattern characters.
func unescaped(pattern string) string {
	var text strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		text.WriteByte(pattern[i])
	}
	return text.String()
}

// Files returns what matches a foreach pattern, sorted; none is no error.
func Files(root, pattern string) ([]string, error) {
	matches, err := glob(root, pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	slices.Sort(matches)
	return matches, nil
}

// inside returns where a path leads once symbolic links are followed, and refuses one that they lead out of root.
func inside(root, path string) (string, error) {
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	realPath, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", &MissingError{Paths: []string{path}}
	}
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(realRoot, realPath); err != nil || !filepath.IsLocal(rel) {
		return "", &EscapeError{Path: path, Target: realPath}
	}
	return realPath, nil
}

// folder hashes the sorted listing of everything below full: type, mode, hash and path of each entry, a line each.
func folder(full string) (pawl.Content, error) {
	var c pawl.Content
	listing := sha256.New()
	err := filepath.WalkDir(full, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(full, path)
		if err != nil {
			return err
		}
		line, size, err := entry(path, d)
		if err != nil {
			return err
		}
		if d.Type().IsRegular() {
			c.Files++
			c.Size += size
		}
		_, err = fmt.Fprintf(listing, "%s %q\n", line, filepath.ToSlash(rel))
		return err
	})
	c.SHA256 = hex.EncodeToString(listing.Sum(nil))
	return c, err
}

func entry(path string, d fs.DirEntry) (line string, size int64, err error) {
	switch {
	case d.IsDir():
		return "folder", 0, nil
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return fmt.Sprintf("link %q", target), 0, err
	case !d.Type().IsRegular():
		return "other " + d.Type().String(), 0, nil
	}
	info, err := d.Info()
	if err != nil {
		return "", 0, err
	}
	sum, size, err := file(path)
	return fmt.Sprintf("file %v %s", info.Mode().Perm()&0o100 != 0, sum), size, err
}

func file(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, bufio.NewReaderSize(f, 256<<10))
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
