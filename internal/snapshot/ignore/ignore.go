// Package ignore decides which files of a project its snapshots leave out: those that git ignores, plus or minus what
// .pawlignore files say.
//
// Load reads the rules for the project's root. A walk calls [Rules.Ignored] for each entry and descends with
// [Rules.In]. As in git, everything in an ignored folder is ignored, and pattern files in it are not read. A
// .pawlignore file has git's syntax. All .pawlignore files, deepest first, take precedence over all git rules, so one
// in the root can include what a .gitignore far below ignores, provided that it also includes the folders in between.
//
// The rules are patterns only. A file that git tracks belongs in a snapshot even if a pattern matches it: the walk
// checks that in git's index. Nested repositories are treated as folders: their .gitignore files count, their
// info/exclude and .git do not.
package ignore

import (
	"crypto/sha256"
	"path/filepath"
)

// Names of pattern files. Git ignores them if they are symbolic links.
const (
	GitFile  = ".gitignore"
	PawlFile = ".pawlignore"
)

// DefaultsFile stands for a file in the Reason of a default pattern.
const DefaultsFile = "defaults"

// Rules are the rules for the entries of one folder. They are immutable and may be used concurrently.
type Rules struct {
	top       string  // absolute path of the repository, or of the project without one
	folder    string  // path relative to top: empty, or ending in a slash
	fold      bool    // core.ignoreCase: compare names without case
	pawl, git []*list // highest precedence first
	ignored   *Reason // non-nil: the whole folder is ignored
	sum       Sum
}

// A Sum identifies the patterns in force in a folder: equal sums give equal answers.
type Sum [16]byte

// Sum returns the sum of the rules.
func (r *Rules) Sum() Sum { return r.sum }

// read is add for an optional file; nil data leaves the sum unchanged.
func (s Sum) read(file string, data []byte) Sum {
	if data == nil {
		return s
	}
	return s.add(file, data)
}

// add adds the content of one more source to the sum.
func (s Sum) add(place string, data []byte) Sum {
	h := sha256.New()
	h.Write(s[:])
	h.Write([]byte(place))
	h.Write([]byte{0})
	h.Write(data)
	return Sum(h.Sum(nil)[:len(s)])
}

// A Reason is the pattern that ignores an entry.
type Reason struct {
	Pattern string // as written in the file
	File    string // absolute path; "config" for a pattern from pawl's settings, DefaultsFile for a default; empty for names that are never stored
	Line    int    // starting at 1
}

// In returns the rules for the subfolder name, given the content of its .gitignore and .pawlignore (nil if missing). In
// an ignored folder everything is ignored.
func (r *Rules) In(name string, gitignore, pawlignore []byte) *Rules {
	return r.enter(name).with(gitignore, pawlignore)
}

// Ignored reports whether the folder's entry name is ignored. isDir is false for a link to a folder.
func (r *Rules) Ignored(name string, isDir bool) bool {
	if r.ignored != nil || r.same(name, ".git") {
		return true
	}
	_, p := r.deciding(name, isDir)
	return p != nil && !p.negated
}

// Included reports whether a pattern brings the folder's entry name back, such as "!name".
func (r *Rules) Included(name string, isDir bool) bool {
	if r.ignored != nil {
		return false
	}
	_, p := r.deciding(name, isDir)
	return p != nil && p.negated
}

// Explain reports whether the folder's entry name is ignored, and by which pattern.
func (r *Rules) Explain(name string, isDir bool) (Reason, bool) {
	switch {
	case r.ignored != nil:
		return *r.ignored, true
	case r.same(name, ".git"):
		return Reason{Pattern: ".git"}, true
	}
	l, p := r.deciding(name, isDir)
	if p == nil || p.negated {
		return Reason{}, false
	}
	return Reason{Pattern: p.source, File: l.file, Line: p.line}, true
}

// enter returns the rules for the subfolder name without its own files.
func (r *Rules) enter(name string) *Rules {
	sub := *r
	if reason, out := r.Explain(name, true); out {
		sub.ignored = &reason
		sub.sum = r.sum.add("left out", nil)
	}
	sub.folder += name + "/"
	return &sub
}

// with adds the folder's own pattern files.
func (r *Rules) with(gitignore, pawlignore []byte) *Rules {
	own := *r
	if r.ignored == nil {
		own.git = prepend(r.own(GitFile, gitignore), r.git)
		own.pawl = prepend(r.own(PawlFile, pawlignore), r.pawl)
		own.sum = r.sum.read(GitFile, gitignore).read(PawlFile, pawlignore)
	}
	return &own
}

// own parses one of the folder's own pattern files; nil data is an empty list.
func (r *Rules) own(file string, data []byte) *list {
	if data == nil {
		return &list{}
	}
	return parseList(filepath.Join(r.top, r.folder, file), len(r.folder), data)
}

// deciding returns the pattern that decides about an entry: the last match in the first list with a match.
func (r *Rules) deciding(name string, isDir bool) (*list, *pattern) {
	e := entry{rules: r, name: name, isDir: isDir}
	for _, lists := range [2][]*list{r.pawl, r.git} {
		for _, l := range lists {
			if p := l.deciding(&e); p != nil {
				return l, p
			}
		}
	}
	return nil, nil
}

// same compares names or parts of them, without case if core.ignoreCase is set.
func (r *Rules) same(a, b string) bool { return a == b || r.fold && sameFolded(a, b) }

// sameFolded folds ASCII only, like git.
func sameFolded(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
