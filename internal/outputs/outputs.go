// Package outputs reads the files that a plan declares: it expands their patterns, rejects paths outside the workspace,
// hashes the files and makes them durable. It never changes one.
package outputs

import (
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

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/oneline"
)

// MissingError lists declared paths that do not exist.
type MissingError struct{ Paths []string }

func (e *MissingError) Error() string { return "missing: " + oneline.Paths(e.Paths) }

// EscapeError names a declared path that leads out of the workspace through a symbolic link.
type EscapeError struct{ Path, Target string }

// Error names the path and its target.
func (e *EscapeError) Error() string {
	return fmt.Sprintf("%s leads out of the project, to %s", oneline.Path(e.Path), oneline.Path(e.Target))
}

// Hash returns the contents of the declared paths, by path. A pattern is replaced by its matches; if there are more
// than maxListed, all matches count as one content under the pattern itself. Patterns without match and missing paths
// are a *MissingError.
func Hash(root string, declared []string) (pawl.Outputs, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	return hash(root, declared)
}

// hash is Hash for a root without links.
func hash(root string, declared []string) (pawl.Outputs, error) {
	found := make(pawl.Outputs, len(declared))
	var missing []string
	for _, d := range declared {
		matches, err := glob(root, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", oneline.Path(d), err)
		}
		if len(matches) == 0 {
			missing = append(missing, d)
		}
		if len(matches) > maxListed {
			matches = []string{d}
		}
		for _, path := range matches {
			if found[path], err = hashOne(root, path); err != nil {
				return nil, err
			}
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{Paths: missing}
	}
	return found, nil
}

// maxListed is the maximum number of matches of a pattern that are listed individually.
const maxListed = 64

// HashOne returns the content of one path, relative to root and with slashes, or of all matches if it is a pattern.
func HashOne(root, path string) (pawl.Content, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return pawl.Content{}, err
	}
	return hashOne(root, path)
}

// hashOne is HashOne for a root without links.
func hashOne(root, path string) (pawl.Content, error) {
	matches, err := glob(root, path)
	switch {
	case err != nil:
		return pawl.Content{}, fmt.Errorf("%s: %w", oneline.Path(path), err)
	case len(matches) == 0:
		return pawl.Content{}, &MissingError{Paths: []string{path}}
	case len(matches) == 1:
		return contentAt(root, matches[0])
	}
	all := make(pawl.Outputs, len(matches))
	sum := pawl.Content{Files: len(matches)}
	for _, m := range matches {
		if all[m], err = contentAt(root, m); err != nil {
			return pawl.Content{}, err
		}
		sum.Size += all[m].Size
	}
	sum.SHA256 = all.Hash()
	return sum, nil
}

// contentAt returns the content of exactly this path.
func contentAt(root, path string) (pawl.Content, error) {
	full, err := resolve(root, path)
	if err != nil {
		return pawl.Content{}, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return pawl.Content{}, err
	}
	if info.IsDir() {
		return hashFolder(full)
	}
	if !info.Mode().IsRegular() {
		return pawl.Content{}, fmt.Errorf("%s is neither a file nor a folder", oneline.Path(path))
	}
	sum, size, err := hashFile(full)
	return pawl.Content{SHA256: sum, Size: size}, err
}

// Read returns the content of a file of at most limit bytes. A link in its path must stay in the workspace.
func Read(root, path string, limit int64) ([]byte, error) {
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	full, err := resolve(realRoot, path)
	if _, missing := errors.AsType[*MissingError](err); missing {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(root, filepath.FromSlash(path)), Err: unix.ENOENT}
	}
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(realRoot, full)
	if err != nil {
		return nil, err
	}
	return disk.ReadBelow(realRoot, below, limit) // follows no link that was made since
}

// Find returns the declared paths that exist, and the matches of patterns.
func Find(root string, declared []string) (paths []string) {
	for _, d := range declared {
		if matches, err := glob(root, d); err == nil { // whoever needs a path that cannot be read says so
			paths = append(paths, matches...)
		}
	}
	return paths
}

// Exists reports whether a declared path exists or a pattern has a match.
func Exists(root, declared string) bool {
	return anyMatch(root, declared, func(string, fs.FileInfo) bool { return true })
}

// HasContent reports whether a declared path has content: bytes in a file, entries in a folder.
func HasContent(root, declared string) bool {
	return anyMatch(root, declared, func(full string, info fs.FileInfo) bool {
		if !info.IsDir() {
			return info.Size() > 0
		}
		entries, err := os.ReadDir(full)
		return err == nil && len(entries) > 0
	})
}

// anyMatch reports whether fits accepts any match of a declared path that is inside the workspace.
func anyMatch(root, declared string, fits func(full string, info fs.FileInfo) bool) bool {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	matches, err := glob(root, declared)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(matches, func(m string) bool {
		full, err := resolve(root, m)
		if err != nil {
			return false
		}
		info, err := os.Lstat(full)
		return err == nil && fits(full, info)
	})
}

// Sync makes the declared paths durable, with everything below them and their parent folders up to root.
func Sync(root string, paths []string) error {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	return sync(root, paths)
}

// Durable makes the declared paths durable like Sync, and returns their contents like Hash.
func Durable(root string, declared []string) (pawl.Outputs, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	if err := sync(root, declared); err != nil {
		return nil, err
	}
	return hash(root, declared)
}

// sync is Sync for a root without links.
func sync(root string, paths []string) error {
	var files []string
	folders := map[string]bool{}
	for _, declared := range paths {
		matches, err := glob(root, declared)
		if err != nil {
			return fmt.Errorf("%s: %w", oneline.Path(declared), err)
		}
		if len(matches) == 0 {
			return &MissingError{Paths: []string{declared}}
		}
		for _, path := range matches {
			below, err := collect(root, path, folders)
			if err != nil {
				return err
			}
			files = append(files, below...)
		}
	}
	return syncAll(root, files, folders)
}

// collect returns the files at path and below it. It adds the folders at, below and above path to folders; for a link,
// also those above its target.
func collect(root, path string, folders map[string]bool) (files []string, err error) {
	real, err := resolve(root, path)
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

// glob returns the matches of a declared path or pattern, relative to root and with slashes. A file whose name equals
// the pattern literally takes precedence. Files in .pawl never match.
func glob(root, declared string) ([]string, error) {
	pattern := path.Clean(declared)
	for _, literal := range []string{pattern, unescape(pattern)} {
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

// unescape returns a pattern without its escapes.
func unescape(pattern string) string {
	var text strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		text.WriteByte(pattern[i])
	}
	return text.String()
}

// Matches returns the sorted matches of a foreach pattern; none is not an error.
func Matches(root, pattern string) ([]string, error) {
	matches, err := glob(root, pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", oneline.Path(pattern), err)
	}
	slices.Sort(matches)
	return matches, nil
}

// resolve follows the symbolic links in a path, and fails if they lead out of root, which has none.
func resolve(root, path string) (string, error) {
	realPath, err := evalBelow(root, filepath.FromSlash(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", &MissingError{Paths: []string{path}}
	}
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, realPath); err != nil || !filepath.IsLocal(rel) {
		return "", &EscapeError{Path: path, Target: realPath}
	}
	return realPath, nil
}

// evalBelow is filepath.EvalSymlinks of a path below root, and looks at the folders above root only if there is a link.
func evalBelow(root, path string) (string, error) {
	full := filepath.Join(root, path)
	if !filepath.IsLocal(path) {
		return filepath.EvalSymlinks(full)
	}
	for end := len(strings.TrimSuffix(root, string(filepath.Separator))); end < len(full); {
		end++ // the separator
		if i := strings.IndexByte(full[end:], filepath.Separator); i < 0 {
			end = len(full)
		} else {
			end += i
		}
		if info, err := os.Lstat(full[:end]); err != nil {
			return "", err
		} else if info.Mode()&fs.ModeSymlink != 0 {
			return filepath.EvalSymlinks(full)
		}
	}
	return full, nil
}

// hashFolder hashes the sorted listing of everything below full: one line per entry with type, mode, hash and path.
func hashFolder(full string) (pawl.Content, error) {
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
		line, size, err := listingLine(path, d)
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

func listingLine(path string, d fs.DirEntry) (line string, size int64, err error) {
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
	sum, size, err := hashFile(path)
	return fmt.Sprintf("file %v %s", info.Mode().Perm()&0o100 != 0, sum), size, err
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := disk.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
