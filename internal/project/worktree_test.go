package project

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"pawl"
)

// repository makes the project's root a repository with a commit.
func repository(t *testing.T, p *Project) {
	t.Helper()
	gitIn(t, p.Root, "init", "-q", "-b", "main")
	gitIn(t, p.Root, "commit", "-q", "--allow-empty", "-m", "one")
}

// linkedTo adds a linked worktree outside of the project and returns its top.
func linkedTo(t *testing.T, p *Project) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(folder, "tree")
	gitIn(t, p.Root, "worktree", "add", "-q", top)
	return top
}

func gitIn(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAWorktreeHasTheMainProject(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	repository(t, p)
	top := linkedTo(t, p)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(top, link); err != nil {
		t.Fatal(err)
	}
	want := *p
	want.Linked = top
	for _, start := range []string{top, mkdir(t, filepath.Join(top, "a", "b")), link} {
		if found, err := FindOrMain(start); err != nil || !reflect.DeepEqual(found, &want) {
			t.Errorf("from %s: %+v, %v; want %+v", start, found, err, want)
		}
	}
	if found, err := FindOrMain(p.Root); err != nil || !reflect.DeepEqual(found, p) {
		t.Errorf("from %s: %+v, %v; want %+v", p.Root, found, err, p)
	}
	if _, err := Find(top); !errors.Is(err, pawl.ErrNoProject) {
		t.Errorf("Find leaves the worktree: %v", err)
	}
	own, err := Init(top)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := FindOrMain(filepath.Join(top, "a")); err != nil || found.Root != own.Root {
		t.Errorf("the worktree's own project does not take precedence: %+v, %v", found, err)
	}
}

// TestACommittedFolderIsNoProjectOfTheWorktree: git checks out the committed part of .pawl into each worktree.
func TestACommittedFolderIsNoProjectOfTheWorktree(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	repository(t, p)
	if err := os.WriteFile(p.Memory(), []byte("- note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gitIn(t, p.Root, "add", ".pawl")
	gitIn(t, p.Root, "commit", "-q", "-m", "memory")
	top := linkedTo(t, p)
	if found, err := FindOrMain(top); err != nil || found.Root != p.Root {
		t.Errorf("%+v, %v", found, err)
	}
	nested := mkdir(t, filepath.Join(top, "a", Folder, "runs"))
	if found, err := FindOrMain(nested); err != nil || found.Trust.Trusted() || found.Root != filepath.Join(top, "a") {
		t.Errorf("an untrusted project below the top: %+v, %v", found, err)
	}
	if err := p.Revoke(); err != nil {
		t.Fatal(err)
	}
	if found, err := FindOrMain(top); err != nil || found.Trust.Trusted() || found.Root != top {
		t.Errorf("without the main project: %+v, %v", found, err)
	}
}

func TestWorktreesWithoutTheMainProject(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(p *Project) error{
		"no .pawl":             func(p *Project) error { return os.RemoveAll(p.Home()) },
		"an untrusted project": (*Project).Revoke,
		"an empty .pawl": func(p *Project) error {
			return errors.Join(os.RemoveAll(p.Home()), os.Mkdir(p.Home(), 0o700))
		},
		".pawl is a link": func(p *Project) error {
			return errors.Join(os.Rename(p.Home(), p.Root+"-pawl"), os.Symlink(p.Root+"-pawl", p.Home()))
		},
		"the worktree is pruned": func(p *Project) error { return os.RemoveAll(filepath.Join(p.Root, ".git", "worktrees")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t, "work")
			repository(t, p)
			top := linkedTo(t, p)
			if err := spoil(p); err != nil {
				t.Fatal(err)
			}
			if found, err := FindOrMain(top); !errors.Is(err, pawl.ErrNoProject) {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// TestAnotherUsersWorktreeHasNoProject needs root, which can give files away.
func TestAnotherUsersWorktreeHasNoProject(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	p := fresh(t, "work")
	repository(t, p)
	top := linkedTo(t, p)
	for _, path := range []string{filepath.Join(p.Root, ".git"), filepath.Join(p.Root, ".git", "worktrees", "tree"), filepath.Join(top, ".git")} {
		if err := os.Lchown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := FindOrMain(top); !errors.Is(err, pawl.ErrNoProject) {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestWorktreeOf(t *testing.T) {
	t.Parallel()
	p, other := fresh(t, "work"), fresh(t, "other")
	repository(t, p)
	repository(t, other)
	outside, foreign := linkedTo(t, p), linkedTo(t, other)
	inside := filepath.Join(p.Root, "trees", "one")
	gitIn(t, p.Root, "worktree", "add", "-q", inside)
	nested := mkdir(t, filepath.Join(p.Root, "clone"))
	gitIn(t, nested, "init", "-q")
	for folder, want := range map[string]string{
		p.Root:                                "",
		mkdir(t, filepath.Join(p.Root, "a")):  "",
		nested:                                "",
		filepath.Join(p.Root, "gone"):         "",
		"":                                    "",
		"a":                                   "",
		inside:                                inside,
		filepath.Join(inside, "gone"):         inside,
		outside:                               outside,
		mkdir(t, filepath.Join(outside, "a")): outside,
		filepath.Dir(outside):                 "",
		foreign:                               "",
	} {
		if got := p.WorktreeOf(folder); got != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
	own := &Project{Root: outside}
	if got := own.WorktreeOf(mkdir(t, filepath.Join(outside, "a"))); got != "" {
		t.Errorf("a project in a worktree: %q", got)
	}
}
