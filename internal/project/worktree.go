package project

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/trust"
)

// FindOrMain returns the project that contains start, as Find does. If there is none and start lies in a linked worktree of git, it
// returns the project in the top folder of the main worktree, if the user trusts it and owns the worktree, and sets its field Linked.
// See git.LinkedWorktree for what counts as one. An untrusted .pawl in the worktree's top folder is not a separate project: git
// checked out what the repository has of it.
func FindOrMain(start string) (*Project, error) {
	p, err := Find(start)
	if err == nil && p.Trust.Trusted() || err != nil && !errors.Is(err, pawl.ErrNoProject) {
		return p, err
	}
	folder, realErr := realPath(start)
	if realErr != nil {
		return p, err
	}
	w, ok := git.LinkedWorktree(folder, "")
	if !ok || !trust.OwnerAllowed(w.Owner) || p != nil && p.Root != w.Top {
		return p, err
	}
	main, mainErr := trustedAt(w.Main)
	if main == nil && mainErr == nil {
		return p, err
	}
	if mainErr == nil {
		main.Linked = w.Top
	}
	return main, mainErr
}

// trustedAt returns the project in a folder; nil if there is none that the user trusts.
func trustedAt(folder string) (*Project, error) {
	if checkAllowed(folder) != nil {
		return nil, nil
	}
	p, err := open(folder)
	if err == nil && !p.Trust.Trusted() {
		return nil, nil
	}
	return p, err
}

// WorktreeOf returns the top of the linked worktree of git that a folder lies in; "" if it lies in none, which includes the project's
// root. Inside of the project that is any linked worktree, outside of it one of the repository in the project's root. The folder may no
// longer exist.
func (p *Project) WorktreeOf(folder string) string {
	if folder == p.Root || !filepath.IsAbs(folder) {
		return ""
	}
	folder, ok := existing(folder)
	if !ok {
		return ""
	}
	if p.Contains(folder) {
		w, _ := git.LinkedWorktree(folder, p.Root)
		return w.Top
	}
	if w, _ := git.LinkedWorktree(folder, ""); w.Main == p.Root {
		return w.Top
	}
	return ""
}

// existing returns the canonical path of a folder, or of the nearest one above it that exists.
func existing(folder string) (path string, ok bool) {
	for {
		path, err := filepath.EvalSymlinks(folder)
		above := filepath.Dir(folder)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || above == folder {
			return path, err == nil
		}
		folder = above
	}
}

// Contains reports whether an absolute path is the project's root or lies in it.
func (p *Project) Contains(path string) bool {
	return path == p.Root || strings.HasPrefix(path, strings.TrimSuffix(p.Root, "/")+"/")
}
