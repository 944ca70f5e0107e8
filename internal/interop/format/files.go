package format

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"pawl/internal/interop/tables/dump"
)

// File is a file of another system.
type File struct {
	Path      string // relative to the folder that holds the system's files, with slashes
	Data      []byte
	Changed   time.Time   // modification time; zero if unknown
	Was       []byte      // not nil: the file is a database, Data is a dump of some of its tables, and Was is that dump as it was read
	Parts     []dump.Part // of a database: what was dumped
	Abandoned bool        // of a database: every process that had it open has died
	Named     bool        // the user named this file, and no other file is read
	Broken    string      // of a file to write: the path of the unreadable file that it is a copy of, and that is written anew
}

// Files are the files of a project, by path.
type Files []File

// Find returns a file, nil if there is none at this path.
func (f Files) Find(name string) *File {
	for i := range f {
		if f[i].Path == name {
			return &f[i]
		}
	}
	return nil
}

// Match returns the files whose path matches a pattern of path.Match, sorted by path. A leading "**/" stands for any folders.
func (f Files) Match(pattern string) []File {
	var found []File
	for _, file := range f {
		if matches(pattern, file.Path) {
			found = append(found, file)
		}
	}
	slices.SortFunc(found, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return found
}

func matches(pattern, name string) bool {
	rest, anywhere := strings.CutPrefix(pattern, "**/")
	for more := strings.Count(name, "/") - strings.Count(rest, "/"); anywhere && more > 0; more-- {
		_, name, _ = strings.Cut(name, "/")
	}
	ok, err := path.Match(rest, name)
	return ok && err == nil
}

// MayHold reports whether a file that matches one of the patterns can lie below a folder.
func MayHold(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if strings.HasPrefix(pattern, "**/") {
			return true
		}
		parts, deep := strings.Split(pattern, "/"), strings.Count(folder, "/")+1
		return len(parts) > deep && matches(strings.Join(parts[:deep], "/"), folder)
	})
}

// OnTheWay reports whether one of the patterns names this folder: .grid of **/.grid/*.md.
func OnTheWay(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for above := path.Dir(pattern); above != "." && above != "**"; above = path.Dir(above) {
			if matches(above, folder) {
				return true
			}
		}
		return false
	})
}

// Wanted reports whether a path matches one of the patterns.
func Wanted(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

var (
	// ErrLink means that the path is a symbolic link, which is not followed.
	ErrLink = errors.New("it is a symbolic link")
	// ErrOutside means that a symbolic link above the path leads out of the project.
	ErrOutside = errors.New("it leads out of the project")
	// ErrChanged means that a file, or a table of a database, was modified by someone else since it was read.
	ErrChanged = errors.New("changed by someone else since it was read")
)
