// Package fileset collects what a format's Write returns: it holds the files as they were read, with the changes made since,
// and returns those that differ. It does no I/O.
package fileset

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl/internal/interop/format"
)

// Set is the files of a system, as they will be once the changes are written.
type Set struct {
	Now time.Time // modification time of files that are put; zero if nobody asks for it

	before  map[string]*format.File
	after   map[string]*format.File
	changed []string // paths, one per change
}

// New returns a set of files to which nothing has changed yet.
func New(files format.Files) *Set {
	s := &Set{before: make(map[string]*format.File, len(files))}
	for i := range files {
		s.before[files[i].Path] = &files[i]
	}
	s.after = maps.Clone(s.before)
	return s
}

// File returns a file as it is so far, nil if there is none.
func (s *Set) File(path string) *format.File { return s.after[path] }

// Data returns the bytes of a file as it is so far, nil if there is none.
func (s *Set) Data(path string) []byte {
	if f := s.after[path]; f != nil {
		return f.Data
	}
	return nil
}

// Files returns all files as they are so far, sorted by path.
func (s *Set) Files() format.Files {
	var all format.Files
	for _, path := range slices.Sorted(maps.Keys(s.after)) {
		all = append(all, *s.after[path])
	}
	return all
}

// Put sets the content of a file. Content that the file already has is not a change.
func (s *Set) Put(path string, data []byte) { s.PutBroken(path, data, "") }

// PutBroken is Put for the copy of an unreadable file, named by its path, that is written anew.
func (s *Set) PutBroken(path string, data []byte, broken string) {
	if old := s.after[path]; old != nil && bytes.Equal(old.Data, data) {
		return
	}
	s.after[path] = &format.File{Path: path, Data: data, Changed: s.Now, Broken: broken}
	s.changed = append(s.changed, path)
}

// Remove removes a file or, if the path ends in a slash, a folder once it is empty.
func (s *Set) Remove(path string) {
	delete(s.after, path)
	s.changed = append(s.changed, path)
}

// ByFirstChange returns the files that differ from how they were read, in the order in which each was changed first.
func (s *Set) ByFirstChange() []format.File { return s.differing(s.changed) }

// ByLastChange returns the files that differ from how they were read, in the order in which each was changed last.
func (s *Set) ByLastChange() []format.File {
	paths := slices.Clone(s.changed)
	slices.Reverse(paths)
	all := s.differing(paths)
	slices.Reverse(all)
	return all
}

// differing returns the files at these paths that differ, each once.
func (s *Set) differing(paths []string) []format.File {
	var all []format.File
	seen := map[string]bool{}
	for _, path := range paths {
		now, was := s.after[path], s.before[path]
		switch {
		case seen[path]:
		case now == nil && (was != nil || strings.HasSuffix(path, "/")):
			all = append(all, format.File{Path: path})
		case now != nil && (was == nil || !bytes.Equal(was.Data, now.Data)):
			all = append(all, format.File{Path: path, Data: now.Data, Broken: now.Broken})
		}
		seen[path] = true
	}
	return all
}

// Flush returns ByLastChange, and takes these files as written: from here on only later changes count.
func (s *Set) Flush() []format.File {
	written := s.ByLastChange()
	s.before, s.changed = maps.Clone(s.after), nil
	return written
}
