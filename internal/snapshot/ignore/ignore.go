// Package ignore says which files of a project are left out of its snapshots: exactly those that git ignores, but for
// what .pawlignore files add or bring back.
//
// Load reads the rules of the project's root; a walk asks [Rules.Ignored] for each entry and goes down with [Rules.In].
// As in git an ignored folder is left out whole, and no rule below it is read. The files .pawlignore have git's syntax;
// all of them, deepest first, are asked before any of git's. So a .pawlignore in the root has the last word on what a
// tool's own .gitignore far below hides, once the folders on the way are brought back too.
//
// The rules know patterns only. A file that git tracks is content although a pattern matches it: asking the index is
// the walk's part. Repositories inside the project are folders like any other: their .gitignore files count, their
// info/exclude and their .git do not.
package ignore

import (
	"crypto/sha256"
	"path/filepath"
)

// Names of the files that hold patterns. Git reads them only where they are regular files, not links.
const (
	GitFile  = ".gitignore"
	PawlFile = ".pawlignore"
)

// Rules are the rules for the entries of one folder. They never change, so many goroutines may ask them at once.
type Rules struct {
	top       string  // absolute path of the repository, or of the project where there is none
	folder    string  // the folder's path below top: empty, or ending in a slash
	fold      bool    // core.ignoreCase: upper and lower case are one
	pawl, git []*list // strongest first
	out       *Reason // why the whole folder is left out
	sum       Sum
}

// A Sum stands for all patterns that hold in a folder: where it is the same as before, so is every answer.
type Sum [16]byte

// Sum returns the sum of the rules.
func (r *Rules) Sum() Sum { return r.sum }

// read is add for a file that need not be there.
func (s Sum) read(file string, data []byte) Sum {
	if data == nil {
		return s
	}
	return s.add(file, data)
}

// add mixes into the sum what was read from one more place.
func (s Sum) add(place string, data []byte) Sum {
	h := sha256.New()
	h.Write(s[:])
	h.Write([]byte(place))
	h.Write([]byte{0})
	h.Write(data)
	return Sum(h.Sum(nil)[:len(s)])
}

// A Reason is the pattern that leaves an entry out.
type Reason struct {
	Pattern string // as it was written
	File    string // absolute path, "config" for a pattern of pawl's settings, empty for what is never content
	Line    int    // from 1
}

// In gives the rules for the folder name, given what its .gitignore and .pawlignore hold (nil where there is none). In
// a folder that is itself ignored everything is.
func (r *Rules) In(name string, gitignore, pawlignore []byte) *Rules {
	return r.enter(name).with(gitignore, pawlignore)
}

// Ignored reports whether the folder's entry name is left out. A link to a folder is no folder.
func (r *Rules) Ignored(name string, isDir bool) bool {
	if r.out != nil || r.same(name, ".git") {
		return true
	}
	_, p := r.deciding(name, isDir)
	return p != nil && !p.negated
}

// Explain says why the folder's entry name is left out, and whether it is.
func (r *Rules) Explain(name string, isDir bool) (Reason, bool) {
	switch {
	case r.out != nil:
		return *r.out, true
	case r.same(name, ".git"):
		return Reason{Pattern: ".git"}, true
	}
	l, p := r.deciding(name, isDir)
	if p == nil || p.negated {
		return Reason{}, false
	}
	return Reason{Pattern: p.source, File: l.file, Line: p.line}, true
}

// enter gives the rules that hold in the folder name before its own files are read.
func (r *Rules) enter(name string) *Rules {
	sub := *r
	if reason, out := r.Explain(name, true); out {
		sub.out = &reason
		sub.sum = r.sum.add("left out", nil)
	}
	sub.folder += name + "/"
	return &sub
}

// with adds the folder's own patterns.
func (r *Rules) with(gitignore, pawlignore []byte) *Rules {
	own := *r
	if r.out == nil {
		own.git = stronger(r.own(GitFile, gitignore), r.git)
		own.pawl = stronger(r.own(PawlFile, pawlignore), r.pawl)
		own.sum = r.sum.read(GitFile, gitignore).read(PawlFile, pawlignore)
	}
	return &own
}

// own is the list of one of the folder's own files.
func (r *Rules) own(file string, data []byte) *list {
	return newList(filepath.Join(r.top, r.folder, file), len(r.folder), data)
}

// deciding finds the pattern that decides about an entry: the last one that matches in the strongest list that has one.
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

// same compares names, or parts of them, as the repository's file system is said to.
func (r *Rules) same(a, b string) bool { return a == b || r.fold && sameFolded(a, b) }

// sameFolded folds ASCII only, as git does.
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
