package ignore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sameAsGit compares what pawl and git keep, and both with files.
func (w worktree) sameAsGit(files ...string) {
	w.t.Helper()
	if diff := cmp.Diff(files, w.gitKept()); diff != "" {
		w.t.Errorf("the test says (-), git says (+):\n%s", diff)
	}
	w.keeps("", files...)
}

func (w worktree) keeps(folder string, files ...string) {
	w.t.Helper()
	if diff := cmp.Diff(files, w.kept(folder)); diff != "" {
		w.t.Errorf("the test says (-), pawl says (+):\n%s", diff)
	}
}

func (w worktree) writeAll(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.write(name, "")
	}
}

func TestRulesOfTheUserAndTheRepositoryCount(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.writeAll("a.log", "b.log", "a.tmp", "x")
	w.write(filepath.Join(w.home, ".config/git/ignore"), "*.log\n*.tmp\n")
	w.write(".git/info/exclude", "!b.log\n")
	w.sameAsGit("b.log", "x")
}

func TestExcludesFileIsSoughtWhereGitSeeksIt(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(worktree){
		"relative to home": func(w worktree) { w.git("config", "--global", "core.excludesFile", "~/mine") },
		"absolute":         func(w worktree) { w.git("config", "core.excludesFile", filepath.Join(w.home, "mine")) },
		"relative to the top": func(w worktree) {
			w.git("config", "core.excludesFile", "../home/mine")
		},
		"the repository's beats the user's": func(w worktree) {
			w.git("config", "--global", "core.excludesFile", "/nowhere")
			w.git("config", "core.excludesFile", "~/mine")
		},
		"in an included file": func(w worktree) {
			w.write(filepath.Join(w.home, "more"), "[core]\n\tEXCLUDESFILE = ~/mine\n")
			w.git("config", "--global", "includeIf.gitdir:"+w.top+"/.path", filepath.Join(w.home, "more"))
		},
		"a link": func(w worktree) {
			if err := os.Symlink("mine", filepath.Join(w.home, "link")); err != nil {
				w.t.Fatal(err)
			}
			w.git("config", "core.excludesFile", "~/link")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorktree(t)
			w.writeAll("a.log", "x", "y")
			w.write(filepath.Join(w.home, "mine"), "*.log\n")
			w.write(filepath.Join(w.home, ".config/git/ignore"), "x\n") // set aside by the setting
			set(w)
			w.sameAsGit("x", "y")
		})
	}
}

func TestExcludesFilesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "/dev/null", "~/missing"} {
		w := newWorktree(t)
		w.writeAll("a.log")
		w.write(filepath.Join(w.home, ".config/git/ignore"), "*.log\n")
		w.git("config", "core.excludesFile", file)
		w.sameAsGit("a.log")
	}
}

func TestFoldingFollowsCoreIgnoreCase(t *testing.T) {
	t.Parallel()
	for value, fold := range map[string]bool{"yes": true, "1": true, "ON": true, "false": false, "0": false, "": false} {
		w := newWorktree(t)
		w.writeAll("FOO.o", "Docs/A.html", "bar")
		w.write(".gitignore", "*.O\ndocs/*.HTML\n.gitignore\n")
		w.git("config", "core.ignoreCase", value)
		if fold {
			w.sameAsGit("bar")
		} else {
			w.sameAsGit("Docs/A.html", "FOO.o", "bar")
		}
	}
}

func TestALinkedWorkTreeHasTheRepositorysExcludes(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x")
	w.git("worktree", "add", "-q", "../linked")
	w.write(".git/info/exclude", "*.log\n")
	w.top = filepath.Join(filepath.Dir(w.top), "linked")
	w.writeAll("a.log", "x")
	w.sameAsGit("x")
}

// A hook of git runs with these set, and they point elsewhere.
func TestTheEnvironmentOfAHookLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	w, other := newWorktree(t), newWorktree(t)
	w.git("config", "core.ignoreCase", "true")
	env := append(w.env(), "GIT_DIR="+other.top+"/.git", "GIT_COMMON_DIR="+other.top+"/.git", "GIT_CONFIG=/dev/null",
		"GIT_WORK_TREE="+other.top)
	rules, err := Load(t.Context(), w.top, Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if !rules.fold {
		t.Error("core.ignoreCase of the repository is not seen")
	}
}

func TestBrokenSettingsOfGitAreAnError(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".git/config", "[core\n")
	_, err := Load(t.Context(), w.top, Options{Env: w.env()})
	if err == nil || !strings.Contains(err.Error(), "bad config line 1") {
		t.Errorf("Load says %v, want what git said", err)
	}
}

func TestAProjectBelowTheTopOfItsRepository(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".gitignore", "*.log\n/pkg/app/build/\nbuilt\n")
	w.write("pkg/.gitignore", "app/*.tmp\n!b.log\n")
	w.write("pkg/app/.gitignore", "!c.log\n")
	w.writeAll("pkg/app/a.log", "pkg/app/b.log", "pkg/app/c.log", "pkg/app/a.tmp", "pkg/app/x/a.tmp", "pkg/app/build/x",
		"pkg/app/x/build/x", "pkg/app/x/built")
	kept := []string{"pkg/app/.gitignore", "pkg/app/b.log", "pkg/app/c.log", "pkg/app/x/a.tmp", "pkg/app/x/build/x"}
	w.keeps("pkg/app", kept...)
	w.sameAsGit(append([]string{".gitignore", "pkg/.gitignore"}, kept...)...)
}

func TestAProjectThatItsRepositoryIgnoresIsOnItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".gitignore", "scratch/\n*.log\n")
	w.write("scratch/app/.gitignore", "*.tmp\n")
	w.writeAll("scratch/app/a.log", "scratch/app/a.tmp")
	w.keeps("scratch/app", "scratch/app/.gitignore", "scratch/app/a.log")
}

func TestWithoutARepositoryTheFilesCount(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	if err := os.RemoveAll(filepath.Join(w.top, ".git")); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.home, ".config/git/ignore"), "x\n")
	w.write(".gitignore", "*.log\n")
	w.writeAll("a.log", "a/b.log", "x")
	w.keeps("", ".gitignore", "x")
}

func TestADotGitThatIsNoRepositoryIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, file := range []string{".git/", ".git"} {
		w := newWorktree(t)
		w.write(".gitignore", "*.log\n")
		w.write("sub/"+file, "")
		w.writeAll("sub/a.log", "sub/x")
		w.keeps("sub", "sub/x")
	}
}

func TestARepositoryInsideIsContentButForItsDotGit(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".gitignore", "*.log\n")
	inner := w
	inner.top = filepath.Join(w.top, "inner")
	w.mkdir("inner")
	inner.git("init", "-q")
	w.write("inner/.gitignore", "*.tmp\n")
	w.write("inner/.git/info/exclude", "x\n")
	w.writeAll("inner/a.tmp", "inner/a.log", "inner/x")
	w.keeps("", ".gitignore", "inner/.gitignore", "inner/x")
}

func TestRulesInALinkAreNotRead(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write("rules", "*.log\n")
	w.writeAll("a.log")
	if err := os.Symlink("rules", filepath.Join(w.top, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	w.sameAsGit(".gitignore", "a.log", "rules")
}

func TestALinkToAFolderIsNoFolder(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write("real/x", "")
	w.write(".gitignore", "link/\n")
	if err := os.Symlink("real", filepath.Join(w.top, "link")); err != nil {
		t.Fatal(err)
	}
	w.sameAsGit(".gitignore", "link", "real/x")
}

func TestPawlignoreIsStrongerThanEveryGitignore(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".gitignore", "*.log\nbuild/\n.pawlignore\n")
	w.write(".pawlignore", "!keep.log\n!.venv/**\n*.big\n")
	w.write(".venv/.gitignore", "*\n")
	w.write("sub/.pawlignore", "!a.big\n")
	w.writeAll("keep.log", "a.log", "build/keep.log", ".venv/lib", "a.big", "sub/a.big", "sub/b.big")
	w.keeps("", ".gitignore", ".venv/.gitignore", ".venv/lib", "keep.log", "sub/a.big")
}

func TestPatternsOfTheSettingsAreStrongest(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".pawlignore", "*.log\n!data\n")
	w.writeAll("a.log", "b.log", "sub/data", "data")
	if diff := cmp.Diff([]string{".pawlignore", "a.log", "sub/data"}, w.kept("", "!a.log", "/data")); diff != "" {
		t.Errorf("the test says (-), pawl says (+):\n%s", diff)
	}
	why, out := w.load("", "!a.log", "/data").Explain("data", false)
	if want := (Reason{Pattern: "/data", File: "config", Line: 2}); why != want || !out {
		t.Errorf("Explain says %+v, %t, want %+v", why, out, want)
	}
}

// A walk that enters an ignored folder because of a tracked file ignores all other files there.
func TestEverythingInAnIgnoredFolderIsIgnored(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".gitignore", "build/\n")
	sub := w.load("").In("build", []byte("!x\n"), []byte("!x\n")).In("deep", nil, nil)
	why, out := sub.Explain("x", false)
	want := Reason{Pattern: "build/", File: filepath.Join(w.top, ".gitignore"), Line: 1}
	if !out || why != want || !sub.Ignored("x", false) {
		t.Errorf("Explain says %+v, %t, want %+v", why, out, want)
	}
}

func TestDotGitIsNeverContent(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".pawlignore", "!.git\n")
	rules := w.load("")
	for _, isDir := range []bool{true, false} {
		if why, out := rules.Explain(".git", isDir); !out || why != (Reason{Pattern: ".git"}) {
			t.Errorf("Explain(.git, %t) says %+v, %t", isDir, why, out)
		}
	}
	if rules.Ignored(".gitignore", false) || rules.Ignored(".github", true) || rules.Ignored(".GIT", true) {
		t.Error("names that only look like .git are left out")
	}
}

func TestLoadWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write(".gitignore", "*.log\n")
	before := w.everything()
	w.load("")
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		t.Errorf("before (-), after (+):\n%s", diff)
	}
}

// everything lists all files and folders with their times.
func (w worktree) everything() []string {
	w.t.Helper()
	var files []string
	err := filepath.Walk(w.top, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		files = append(files, path+" "+info.ModTime().String())
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func TestWithoutGitItsDefaultsHold(t *testing.T) {
	w := newWorktree(t)
	w.writeAll("a.log", "a.tmp", "a.swp", "x")
	w.write(filepath.Join(w.home, ".config/git/ignore"), "*.log\n")
	w.write(".git/info/exclude", "*.tmp\n")
	w.write(".gitignore", "*.swp\n")
	t.Setenv("PATH", "")
	w.keeps("", ".gitignore", "x")
}

// TestSum: the sum changes exactly with what the rules were read from.
func TestSum(t *testing.T) {
	t.Parallel()
	root := (&Rules{top: "/top"}).with([]byte("*.log\n"), nil)
	sums := map[Sum]string{}
	for name, r := range map[string]*Rules{
		"root":             root,
		"other patterns":   (&Rules{top: "/top"}).with([]byte("*.out\n"), nil),
		"in another file":  (&Rules{top: "/top"}).with(nil, []byte("*.log\n")),
		"below, with more": root.In("sub", []byte("x\n"), nil),
		"in what is out":   root.In("a.log", nil, nil),
	} {
		if other, taken := sums[r.Sum()]; taken {
			t.Errorf("%s has the sum of %s", name, other)
		}
		sums[r.Sum()] = name
	}
	if root.In("sub", nil, nil).Sum() != root.Sum() {
		t.Error("a folder without patterns of its own has another sum than the one above")
	}
}
