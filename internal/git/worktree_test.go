package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/git"
)

// linked adds a linked worktree and returns its top.
func (w world) linked(name string) string {
	w.Helper()
	top := filepath.Join(w.real(w.TempDir()), name)
	w.git("worktree", "add", "-q", "-b", name, top)
	return top
}

func (w world) real(path string) string {
	w.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.Fatal(err)
	}
	return path
}

func (w world) must(errs ...error) {
	w.Helper()
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
}

func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	top := w.linked("tree")
	deep := filepath.Join(top, "a", "b")
	w.must(os.MkdirAll(deep, 0o755))
	want := git.Worktree{Top: top, Main: w.real(w.root), Owner: os.Geteuid()}
	for _, folder := range []string{top, deep} {
		if got, ok := git.LinkedWorktree(folder, ""); !ok || got != want {
			t.Errorf("%s: %+v, %v; want %+v", folder, got, ok, want)
		}
	}
	if got, ok := git.LinkedWorktree(deep, top); ok {
		t.Errorf("the search went past its end: %+v", got)
	}
	for _, folder := range []string{w.real(w.root), filepath.Dir(top)} {
		if got, ok := git.LinkedWorktree(folder, ""); ok {
			t.Errorf("%s: %+v", folder, got)
		}
	}
}

func TestARelativeWorktreeIsLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	top := w.linked("tree")
	dir := filepath.Join(w.real(w.root), ".git", "worktrees", "tree")
	forth, errForth := filepath.Rel(top, dir)
	back, errBack := filepath.Rel(dir, filepath.Join(top, ".git"))
	w.must(errForth, errBack, os.WriteFile(filepath.Join(top, ".git"), []byte("gitdir: "+forth+"\n"), 0o644), os.WriteFile(filepath.Join(dir, "gitdir"), []byte(back+"\n"), 0o644))
	if got, ok := git.LinkedWorktree(top, ""); !ok || got.Top != top {
		t.Errorf("%+v, %v", got, ok)
	}
}

// TestWhatIsNoLinkedWorktree makes a linked worktree, and spoils it or makes a folder that only looks like one.
func TestWhatIsNoLinkedWorktree(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w world, top string) (folder string){
		"a forged .git": func(w world, top string) string {
			return w.forge(w.readFile(top))
		},
		"a hard link to .git": func(w world, top string) string {
			other := w.real(w.TempDir())
			w.must(os.Link(filepath.Join(top, ".git"), filepath.Join(other, ".git")))
			return other
		},
		"moved": func(w world, top string) string {
			w.must(os.Rename(top, top+"2"))
			return top + "2"
		},
		"pruned": func(w world, top string) string {
			w.must(os.RemoveAll(filepath.Join(w.root, ".git", "worktrees", "tree")))
			return top
		},
		"the way back is missing": func(w world, top string) string {
			w.must(os.Remove(filepath.Join(w.root, ".git", "worktrees", "tree", "gitdir")))
			return top
		},
		"the way back is a pipe": func(w world, top string) string {
			back := filepath.Join(w.root, ".git", "worktrees", "tree", "gitdir")
			w.must(os.Remove(back), unix.Mkfifo(back, 0o644))
			return top
		},
		"the way back names another file": func(w world, top string) string {
			w.must(os.WriteFile(filepath.Join(w.root, ".git", "worktrees", "tree", "gitdir"), []byte(top+"/git\n"), 0o644))
			return top
		},
		".git is a link": func(w world, top string) string {
			w.must(os.Rename(filepath.Join(top, ".git"), filepath.Join(top, "git")), os.Symlink("git", filepath.Join(top, ".git")))
			return top
		},
		".git is a pipe": func(w world, top string) string {
			w.must(os.Remove(filepath.Join(top, ".git")), unix.Mkfifo(filepath.Join(top, ".git"), 0o644))
			return top
		},
		".git is very long": func(w world, top string) string {
			w.must(os.WriteFile(filepath.Join(top, ".git"), []byte(w.readFile(top)+strings.Repeat("\n", 1<<20)), 0o644))
			return top
		},
		".git has two lines": func(w world, top string) string {
			w.must(os.WriteFile(filepath.Join(top, ".git"), []byte(w.readFile(top)+"more\n"), 0o644))
			return top
		},
		".git is empty": func(w world, top string) string {
			w.must(os.WriteFile(filepath.Join(top, ".git"), nil, 0o644))
			return top
		},
		".git has a NUL byte": func(w world, top string) string {
			w.must(os.WriteFile(filepath.Join(top, ".git"), []byte(w.readFile(top)+"\x00"), 0o644))
			return top
		},
		".git names no path": func(w world, top string) string {
			w.must(os.WriteFile(filepath.Join(top, ".git"), []byte("gitdir: \n"), 0o644))
			return top
		},
		"a submodule": func(w world, _ string) string {
			library := newWorld(w.T)
			w.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", library.root, "library")
			return filepath.Join(w.real(w.root), "library")
		},
		"another folder of the repository that points back": func(w world, top string) string {
			folder, dir := w.real(w.TempDir()), filepath.Join(w.real(w.root), ".git", "modules", "library")
			w.must(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "gitdir"), []byte(folder+"/.git\n"), 0o644), os.WriteFile(filepath.Join(folder, ".git"), []byte("gitdir: "+dir+"\n"), 0o644))
			return folder
		},
		"a separate repository": func(w world, _ string) string {
			folder := w.real(w.TempDir())
			w.git("init", "-q", "--separate-git-dir", filepath.Join(w.TempDir(), "kept"), folder)
			return folder
		},
		"a worktree of a bare repository": func(w world, _ string) string {
			bare, folder := filepath.Join(w.TempDir(), "bare"), filepath.Join(w.real(w.TempDir()), "work")
			w.git("clone", "-q", "--bare", w.root, bare)
			w.git("-C", bare, "worktree", "add", "-q", folder)
			return folder
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			top := w.linked("tree")
			folder := spoil(w, top)
			if got, ok := git.LinkedWorktree(folder, ""); ok {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestAnotherOwnersRepositoryHasNoWorktree needs root, which can give files away.
func TestAnotherOwnersRepositoryHasNoWorktree(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	for _, name := range []string{".git", ".git/worktrees/tree"} {
		w := newWorld(t)
		top := w.linked("tree")
		w.must(os.Lchown(filepath.Join(w.root, name), 12345, 12345))
		if got, ok := git.LinkedWorktree(top, ""); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// forge returns a new folder with this content of .git.
func (w world) forge(link string) string {
	w.Helper()
	folder := w.real(w.TempDir())
	w.must(os.WriteFile(filepath.Join(folder, ".git"), []byte(link), 0o644))
	return folder
}

// readFile returns the content of a worktree's .git.
func (w world) readFile(top string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(top, ".git"))
	w.must(err)
	return string(data)
}
