package snapshot

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"
)

// derivedPrefix starts the reason for leaving out a folder that a tool can make again.
const derivedPrefix = "derived: "

// derivedBeside are the names of derived folders, and the files next to them that they are made from. One of these must
// exist. No files: the name alone is proof, because its tool reserves it.
var derivedBeside = map[string][]string{
	"node_modules": {"package.json"},
	"target":       {"Cargo.toml"},
	".tox":         {"tox.ini", "pyproject.toml", "setup.cfg"},
	".nox":         {"noxfile.py"},
	"__pycache__":  nil,
}

// cacheTag is the beginning of a valid CACHEDIR.TAG (https://bford.info/cachedir/).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

// derived returns the reason for leaving out a folder in another one, which has is about: the evidence that a tool makes it. "" if there is
// none. Names like build and dist are no evidence.
func (w *worker) derived(f *folder, fd int, name string) string {
	if sources, known := derivedBeside[name]; known {
		if len(sources) == 0 {
			return derivedPrefix + "Python bytecode"
		}
		if at := slices.IndexFunc(sources, func(source string) bool { return w.has(f, source) }); at >= 0 {
			return derivedPrefix + sources[at] + " is next to it"
		}
	}
	switch {
	case isFileBelow(fd, name+"/pyvenv.cfg"):
		return derivedPrefix + "it has pyvenv.cfg"
	case isFileBelow(fd, name+"/CACHEDIR.TAG") && hasCacheTag(fd, name):
		return derivedPrefix + "it has CACHEDIR.TAG"
	}
	return ""
}

// isFileBelow reports whether a path names a regular file.
func isFileBelow(fd int, path string) bool {
	var st unix.Stat_t
	return unix.Fstatat(fd, path, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// hasCacheTag reports whether the folder's CACHEDIR.TAG has the signature.
func hasCacheTag(fd int, name string) bool {
	folder, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(folder)
	file, err := unix.Openat(folder, "CACHEDIR.TAG", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(file)
	buf := make([]byte, len(cacheTag))
	n, err := unix.Pread(file, buf, 0)
	return err == nil && bytes.Equal(buf[:n], []byte(cacheTag))
}

// leavesOut returns the reason why the walk leaves out a name that git does not track; "" if it does not.
func (w *worker) leavesOut(f *folder, fd int, name string, isDir bool) string {
	switch {
	case name == gitFolder:
		return whyNested
	case f.rules.Ignored(name, isDir):
		return ruleText(f.rules, name, isDir)
	case !isDir || w.keepDerived || f.rules.Included(name, isDir):
		return ""
	}
	return w.derived(f, fd, name)
}
