package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// indexKinds are the ways in which git keeps an index, and what makes it so.
var indexKinds = []struct {
	name string
	init []string
	make func(w *workspace)
}{
	{"version 2", nil, func(w *workspace) {}},
	{"version 3, with intent to add and skip-worktree", nil, func(w *workspace) {
		w.write("later", "")
		w.git("add", "-N", "later")
		w.git("update-index", "--skip-worktree", "a")
	}},
	{"version 4", nil, func(w *workspace) { w.git("update-index", "--index-version", "4") }},
	{"split", nil, func(w *workspace) {
		w.git("update-index", "--split-index")
		w.git("config", "splitIndex.maxPercentChange", "100")
		w.write("added", "")
		w.write("sub/b", "changed")
		w.git("add", "added", "sub/b")
		w.git("rm", "-q", "--cached", "a", "sub/c.log")
	}},
	{"split, nothing changed since", nil, func(w *workspace) { w.git("update-index", "--split-index") }},
	{"split, version 4", nil, func(w *workspace) {
		w.git("update-index", "--index-version", "4", "--split-index")
		w.git("config", "splitIndex.maxPercentChange", "100")
		w.git("rm", "-q", "--cached", "sub/b")
	}},
	{"sparse", nil, func(w *workspace) { w.git("sparse-checkout", "set", "--cone", "--sparse-index", "sub") }},
	{"sparse, with files in a folder that should not be there", nil, func(w *workspace) {
		w.git("sparse-checkout", "set", "--cone", "--sparse-index", "sub")
		w.write("out/deep/d.log", "")
	}},
	{"SHA-256", []string{"--object-format=sha256"}, func(w *workspace) {}},
	{"SHA-256, split", []string{"--object-format=sha256"}, func(w *workspace) {
		w.git("update-index", "--split-index")
		w.git("rm", "-q", "--cached", "a")
	}},
	{"merging", nil, func(w *workspace) {
		w.git("checkout", "-q", "-b", "side")
		w.write("a", "side")
		w.git("commit", "-qam", "side")
		w.git("checkout", "-q", "main")
		w.write("a", "main")
		w.git("commit", "-qam", "main")
		w.git("-c", "alias.try=!git merge -q side || true", "try")
	}},
	{"with other extensions", nil, func(w *workspace) {
		w.git("update-index", "--untracked-cache", "--fsmonitor")
		w.git("status")
	}},
	{"empty", nil, func(w *workspace) { w.git("rm", "-rq", "--cached", ".") }},
	{"none", nil, func(w *workspace) { w.must(os.Remove(w.path(".git/index"))); w.gits = w.lookAtGit() }},
}

// TestTracked compares what we read of the index with what git says.
func TestTracked(t *testing.T) {
	t.Parallel()
	for _, kind := range indexKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.git(append([]string{"init", "-q", "-b", "main"}, kind.init...)...)
			for _, name := range []string{"a", "sub/b", "sub/c.log", "out/deep/d.log", "sub/e\nf", "sub-g", "sub0", "\xff"} {
				w.write(name, name)
			}
			w.git("add", ".")
			w.git("commit", "-qm", "one")
			w.write(".gitignore", "*.log\n")
			kind.make(w)
			known, err := trackedBelow(t.Context(), w.root)
			w.must(err)
			got := []string{}
			if known.key != (indexKey{}) {
				data, err := os.ReadFile(known.index())
				w.must(err)
				if _, ok := readIndex(data, known.shared); !ok {
					t.Fatal("the index was not understood")
				}
				got, err = known.read()
				w.must(err)
				got = slices.DeleteFunc(got, func(p string) bool { return strings.HasSuffix(p, "/") })
			}
			w.sameGit()
			want := strings.Split(strings.TrimSuffix(w.git("ls-files", "-z"), "\x00"), "\x00")
			if kind.name == "sparse" { // what is not on the disk cannot be asked about
				want = slices.DeleteFunc(want, func(p string) bool { return strings.HasPrefix(p, "out/") })
			}
			want = slices.DeleteFunc(want, func(p string) bool { return p == "" })
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-git +pawl\n%s", diff)
			}
		})
	}
}

// TestSomeonesTrackedFilesWereIgnored: what git tracks is content although a pattern hides it, from the moment on when it
// is tracked and as long as it is; also when nothing else changed and the stat cache is warm.
func TestSomeonesTrackedFilesWereIgnored(t *testing.T) {
	t.Parallel()
	for _, above := range []string{"", "project"} { // the workspace is the repository, or a folder of it
		t.Run("in top"+above, func(t *testing.T) {
			t.Parallel()
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			gitIn(t, top, "init", "-q")
			if err := os.MkdirAll(filepath.Join(top, above), 0o755); err != nil {
				t.Fatal(err)
			}
			w := openWorkspace(t, filepath.Join(top, above), Config{})
			w.write(".gitignore", "*.log\nbuild/\n")
			w.write("a.log", "a")
			w.write("build/deep/b", "b")
			w.write("build/deep/c", "c")
			w.write("build/other/d", "d")
			w.age()
			check := func(what string, want ...string) {
				t.Helper()
				for _, temperature := range []string{"warm", "warmer"} {
					r := w.take()
					if diff := cmp.Diff(want, w.files(r)); diff != "" {
						t.Errorf("%s, %s: -want +got\n%s", what, temperature, diff)
					}
				}
			}
			check("untracked", ".gitignore")
			w.git("add", "-f", "a.log")
			check("a file", ".gitignore", "a.log")
			w.git("add", "-f", "build/deep/b")
			check("in a folder", ".gitignore", "a.log", "build/deep/b")
			w.write("build/deep/b", "B")
			if r := w.take(); w.at(r, "build/deep/b") != "file 0644 B" {
				t.Error("a change in it is not seen")
			}
			w.git("rm", "-q", "--cached", "a.log")
			check("not any more", ".gitignore", "build/deep/b")
			w.git("rm", "-rq", "--cached", "-f", "build")
			check("none", ".gitignore")
		})
	}
}

// files lists the files and links of a snapshot.
func (w *workspace) files(r Record) []string {
	w.t.Helper()
	all, err := w.store.Diff([32]byte{}, r.Tree)
	w.must(err)
	var names []string
	for _, c := range all {
		if c.New.Kind != Folder {
			names = append(names, c.Path)
		}
	}
	slices.Sort(names)
	return names
}

// TestGitsEnvironmentLeadsNowhere: in a hook git says where another index is.
func TestGitsEnvironmentLeadsNowhere(t *testing.T) {
	w := newWorkspace(t)
	w.git("init", "-q", "-b", "main")
	w.write("a", "")
	w.git("add", "a")
	w.git("commit", "-qm", "one")
	known, err := trackedBelow(t.Context(), w.root)
	w.must(err)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("GIT_DIR", t.TempDir())
	got, err := known.list("", "ls-files", "-z")
	w.must(err)
	equal(t, []string{"a"}, got)
	h := &Head{}
	if err := h.queryGit(context.Background(), known.repo); err != nil || h.Branch != "refs/heads/main" {
		t.Errorf("%v %v", h, err)
	}
}

func FuzzIndex(f *testing.F) {
	for _, kind := range indexKinds {
		if kind.name != "version 2" && kind.name != "split, version 4" && kind.name != "sparse" {
			continue
		}
		w := newWorkspace(f)
		w.git(append([]string{"init", "-q", "-b", "main"}, kind.init...)...)
		for _, name := range []string{"a", "sub/b", "sub/c.log", "out/deep/d.log"} {
			w.write(name, name)
		}
		w.git("add", ".")
		w.git("commit", "-qm", "one")
		kind.make(w)
		data, err := os.ReadFile(w.path(".git/index"))
		w.must(err)
		var base []byte
		if shared, _ := filepath.Glob(w.path(".git/sharedindex.*")); len(shared) > 0 {
			base, err = os.ReadFile(shared[0])
			w.must(err)
		}
		f.Add(data, base)
	}
	f.Fuzz(func(t *testing.T, data, base []byte) {
		x, ok := readIndex(data, func(name string) ([]byte, error) {
			if strings.Trim(name, "0123456789abcdef") != "" {
				t.Errorf("a name of %q", name)
			}
			if len(base) == 0 {
				return nil, fmt.Errorf("none")
			}
			return base, nil
		})
		if ok && !slices.IsSorted(x.paths) {
			t.Errorf("not in order: %q", x.paths)
		}
	})
}
