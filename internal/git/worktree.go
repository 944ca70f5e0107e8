package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pawl/internal/disk"
)

// Worktree is a linked worktree: one that "git worktree add" made.
type Worktree struct {
	Top   string // absolute, without symbolic links
	Main  string // top of the repository's main worktree
	Owner int    // id of the user that the worktree's .git, its folder in the repository and the repository belong to
}

// LinkedWorktree returns the nearest linked worktree that contains folder, which must be absolute and without symbolic links. It
// searches no further up than below the folder stop; "" searches all of them.
//
// A file .git can arrive with an archive and name any repository, so it proves nothing. A worktree counts only if the repository
// names it in turn, and if one user owns all of it. A bare repository has no main worktree, so it has no worktrees here.
func LinkedWorktree(folder, stop string) (w Worktree, ok bool) {
	for folder != stop {
		if w, ok = worktreeAt(folder); ok {
			return w, true
		}
		above := filepath.Dir(folder)
		if above == folder {
			break
		}
		folder = above
	}
	return Worktree{}, false
}

// worktreeAt reports whether top is the top of a linked worktree.
func worktreeAt(top string) (Worktree, bool) {
	file := filepath.Join(top, ".git")
	link, err := os.Lstat(file)
	if err != nil || !link.Mode().IsRegular() {
		return Worktree{}, false
	}
	dir, ok := pathIn(file, "gitdir: ", top)
	if !ok {
		return Worktree{}, false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Worktree{}, false
	}
	worktrees := filepath.Dir(dir)
	repository := filepath.Dir(worktrees)
	if filepath.Base(worktrees) != "worktrees" || filepath.Base(repository) != ".git" || !pointsBack(dir, top) {
		return Worktree{}, false // such as a submodule, whose folder lies in .git/modules
	}
	w := Worktree{Top: top, Main: filepath.Dir(repository), Owner: ownerOf(link)}
	return w, w.owns(dir) && w.owns(repository)
}

// pointsBack reports whether the folder that a repository has of a worktree names the worktree's .git. A copied or moved worktree is
// not named.
func pointsBack(dir, top string) bool {
	back, ok := pathIn(filepath.Join(dir, "gitdir"), "", dir)
	if !ok || filepath.Base(back) != ".git" {
		return false
	}
	named, err := filepath.EvalSymlinks(filepath.Dir(back))
	return err == nil && named == top
}

// owns reports whether a folder belongs to the worktree's owner.
func (w Worktree) owns(folder string) bool {
	info, err := os.Lstat(folder)
	return err == nil && info.IsDir() && ownerOf(info) == w.Owner
}

// maxPointer is the number of bytes that are read of a file that holds one path.
const maxPointer = 8 << 10

// pathIn returns the path that a file of git holds after a prefix; a relative one starts at folder.
func pathIn(file, prefix, folder string) (path string, ok bool) {
	data, err := disk.ReadFile(file, maxPointer)
	if err != nil {
		return "", false
	}
	path, ok = strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	return filepath.Clean(path), true
}

// ownerOf returns the id of the user that a file belongs to; -1 if unknown.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
