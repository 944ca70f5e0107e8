package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/snapshot/ignore"
)

// What happened to people with other tools. Each test is named after it, and says where it was reported.

// TestSomeonesStoreLayInTheWorktree: each snapshot held the ones before, to 170 GB and more (opencode#17753, #18857).
func TestSomeonesStoreLayInTheWorktree(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a.txt", "a")
	w.write("sub/.pawl/notes", "of another project, nested")
	first := w.take()
	for range 5 {
		if again := w.take(); again.Tree != first.Tree || again.Added > 0 {
			t.Errorf("the store is in its own snapshot: %+v", again)
		}
	}
	if got := w.at(first, "sub/.pawl"); got != "nothing" {
		t.Errorf("sub/.pawl is %s", got)
	}
	size, err := w.store.packs.Size()
	w.must(err)
	if size > 64<<10 {
		t.Errorf("six snapshots of 35 bytes take %d bytes", size)
	}
}

// TestSomeonesRestoreRevertedGitignoreAndCleanedWhatItHid: files that are ignored now, and were not then, or were then,
// and are not now, went (cline#14367).
func TestSomeonesRestoreRevertedGitignoreAndCleanedWhatItHid(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.git("init", "-q")
	w.write(".gitignore", "*.db\n/node_modules/\n")
	w.write("main.go", "1")
	then := w.take()
	w.write(".gitignore", "*.log\n") // what was ignored is not, and the reverse
	w.write("main.go", "2")
	w.write("users.db", "precious")
	w.write("node_modules/left-pad/index.js", "module")
	w.must(os.Mkdir(w.path("node_modules/empty"), 0o755))
	w.write("today.log", "log")
	w.write("new.go", "new")
	r, err := w.store.Prepare(t.Context(), then, nil)
	w.must(err)
	equal(t, []string{"node_modules", "users.db"}, r.Kept)
	w.must(r.Close())
	before := w.restore(then)
	w.is(".gitignore", "file 0644 *.db\n/node_modules/\n")
	w.is("main.go", "file 0644 1")
	w.is("users.db", "file 0644 precious")
	w.is("node_modules/left-pad/index.js", "file 0644 module")
	w.is("node_modules/empty", "folder 0755")
	w.is("today.log", "file 0644 log")
	w.is("new.go", "nothing")
	w.restore(before)
	w.is("new.go", "file 0644 new")
	w.is("today.log", "file 0644 log")
}

// TestSomeonesFileWasIgnoredMeanwhile: it is in the snapshot, is ignored today, and differs on the disk. It is brought
// back, and what was there is in the snapshot that was taken before (opencode#36465, cline#14367).
func TestSomeonesFileWasIgnoredMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("config.ini", "then")
	w.write("out/report.txt", "then")
	then := w.take()
	w.write(".gitignore", "config.ini\nout/\n")
	w.write(".pawlignore", "later\n")
	w.write("config.ini", "now")
	w.write("out/report.txt", "now")
	w.write("out/other.txt", "other")
	if r := w.take(); w.at(r, "config.ini") != "nothing" {
		t.Error("config.ini is not ignored")
	}
	before := w.restore(then)
	w.is("config.ini", "file 0644 then")
	w.is("out/report.txt", "file 0644 then")
	w.is("out/other.txt", "file 0644 other") // ignored when the restore began
	if got := w.at(before, "config.ini") + w.at(before, "out/report.txt"); got != "file 0644 nowfile 0644 now" {
		t.Errorf("kept before: %q", got)
	}
}

// TestSomeonesIgnoredFolderStandsWhereAFileWas: a folder that nobody has a copy of is not removed for a file.
func TestSomeonesIgnoredFolderStandsWhereAFileWas(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(".gitignore", "deep.db\n")
	w.write("data", "a file")
	w.write("other", "1")
	then := w.take()
	w.must(os.Remove(w.path("data")))
	w.write("data/sub/deep.db", "precious")
	w.write("other", "2")
	_, err := w.store.Prepare(t.Context(), then, nil)
	if pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "data") {
		t.Errorf("%v", err)
	}
	w.is("data/sub/deep.db", "file 0644 precious")
	w.is("other", "file 0644 2")
	w.restore(then, "./other/")
	w.is("other", "file 0644 1")
}

// TestSomeonesCheckpointsMovedHead: a restore knocked commits off the branch (cline#13550). Ours leaves git alone, and
// says where git stood then and stands now.
func TestSomeonesCheckpointsMovedHead(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.git("init", "-q", "-b", "main")
	w.write("a", "1")
	unborn := w.take()
	w.git("add", "a")
	w.git("commit", "-qm", "one")
	one := strings.TrimSpace(w.git("rev-parse", "HEAD"))
	first := w.take()
	w.write("a", "2")
	w.git("commit", "-qam", "two")
	r, err := w.store.Prepare(t.Context(), first, nil)
	w.must(err)
	defer r.Close()
	then, now, err := r.Head(t.Context())
	w.must(err)
	if then.Commit != one || then.Branch != "refs/heads/main" || now.Commit == one || now.Branch != "refs/heads/main" {
		t.Errorf("then %v, now %v", then, now)
	}
	w.must(r.Close())
	w.restore(first)
	w.is("a", "file 0644 1")
	if unborn.Head.Commit != "" || unborn.Head.Branch != "refs/heads/main" {
		t.Errorf("unborn: %v", unborn.Head)
	}
}

// TestSomeoneWasInTheMiddleOfARebase: git's half-done work is neither seen as done nor touched (acceptance case 6).
func TestSomeoneWasInTheMiddleOfARebase(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.git("init", "-q", "-b", "main")
	for _, text := range []string{"1", "2"} {
		w.write("a", text)
		w.git("add", "a")
		w.git("commit", "-qm", text)
	}
	w.git("checkout", "-q", "-b", "side", "HEAD~")
	w.write("a", "3")
	w.git("commit", "-qam", "3")
	w.git("-c", "alias.try=!git rebase main || true", "try")
	during := w.take()
	if h := during.Head; h.InProgress != "rebase" || h.Branch != "" || len(h.Commit) != 40 {
		t.Errorf("%v", during.Head)
	}
	w.write("a", "resolved")
	w.restore(during)
	if got := w.at(during, "a"); !strings.Contains(got, "<<<<<<<") {
		t.Errorf("a is %q", got)
	}
	w.git("rebase", "--abort")
	if h := w.take().Head; h.InProgress != "" || h.Branch != "refs/heads/side" {
		t.Errorf("after it: %v", h)
	}
}

// TestSomeonesHeadWasOddlyKept: detached, packed, behind another name, in a linked worktree, with leftovers about.
func TestSomeonesHeadWasOddlyKept(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.git("init", "-q", "-b", "feature")
	w.write("a", "1")
	w.git("add", "a")
	w.git("commit", "-qm", "one")
	one := strings.TrimSpace(w.git("rev-parse", "HEAD"))
	head := func(what, commit, branch string) {
		t.Helper()
		h, err := HeadOf(t.Context(), w.root)
		if err != nil || h.Commit != commit || h.Branch != branch {
			t.Errorf("%s: %v %v", what, h, err)
		}
	}
	w.git("pack-refs", "--all")
	head("packed", one, "refs/heads/feature")
	w.must(os.MkdirAll(w.path(".git/refs/heads/feature/x"), 0o755))
	w.gits = w.lookAtGit()
	head("packed, with an empty folder of that name", one, "refs/heads/feature")
	w.git("symbolic-ref", "refs/heads/alias", "refs/heads/feature")
	w.git("symbolic-ref", "HEAD", "refs/heads/alias")
	head("alias", one, "refs/heads/alias")
	w.git("checkout", "-q", "--detach", "feature")
	head("detached", one, "")
	w.git("tag", "v1")
	w.git("worktree", "add", "-q", "linked", "-b", "other")
	h, err := HeadOf(t.Context(), w.path("linked"))
	if err != nil || h.Commit != one || h.Branch != "refs/heads/other" {
		t.Errorf("linked: %v %v", h, err)
	}
	w.git("symbolic-ref", "HEAD", "refs/heads/none")
	head("unborn", "", "refs/heads/none")
	w.git("symbolic-ref", "HEAD", "refs/heads/other")
	repo, _, err := ignore.FindRepository(w.root)
	w.must(err)
	asked := &Head{} // as where refs are in tables; the git that runs here may not know those
	if err := asked.queryGit(t.Context(), repo); err != nil || asked.Commit != one || asked.Branch != "refs/heads/other" {
		t.Errorf("asked git: %v %v", asked, err)
	}
}

// TestSomeonesNestedRepositoryWasRenamed: .git became .git_disabled and stayed so (cline#5598, #9590). Files of a
// repository in the project, or of a submodule, are content like any other; its .git is not, and is not touched.
func TestSomeonesNestedRepositoryWasRenamed(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.git("init", "-q")
	other := filepath.Join(t.TempDir(), "library")
	w.must(os.Mkdir(other, 0o755))
	gitIn(t, other, "init", "-q")
	gitIn(t, other, "commit", "-q", "--allow-empty", "-m", "one")
	w.git("submodule", "--quiet", "add", other, "submodule")
	w.must(os.MkdirAll(w.path("nested"), 0o755))
	w.gitIn("nested", "init", "-q")
	before := contents(t, w.root)
	empty := w.take()
	for _, folder := range []string{"nested", "submodule"} {
		w.write(folder+"/code.go", "1")
	}
	with := w.take()
	for _, folder := range []string{"nested", "submodule"} {
		if got := w.at(with, folder+"/code.go") + " " + w.at(with, folder+"/.git"); got != "file 0644 1 nothing" {
			t.Errorf("%s: %s", folder, got)
		}
	}
	w.restore(empty)
	same(t, before, contents(t, w.root))
	w.restore(with)
	w.is("nested/code.go", "file 0644 1")
}

// TestSomeonesRepositoryAppearedWhereAFileWas: it is not in any snapshot, so nothing is begun.
func TestSomeonesRepositoryAppearedWhereAFileWas(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("lib", "a file")
	w.write("other", "1")
	then := w.take()
	w.must(os.Remove(w.path("lib")))
	w.write("other", "2")
	w.write("lib/sub/x", "x")
	w.gitIn("lib/sub", "init", "-q")
	if _, err := w.store.Prepare(t.Context(), then, nil); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("%v", err)
	}
	w.is("lib/sub/x", "file 0644 x")
	w.must(os.RemoveAll(w.path("lib/sub/.git")))
	w.gits = w.lookAtGit()
	w.restore(then)
	w.is("lib", "file 0644 a file")
}

// TestSomeonesLargeFilesWereFilteredAway: a pointer of LFS stays a pointer, and no filter is run (acceptance case 6).
func TestSomeonesLargeFilesWereFilteredAway(t *testing.T) {
	t.Parallel()
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	w := newWorkspace(t)
	w.git("init", "-q")
	ran := filepath.Join(t.TempDir(), "ran")
	w.write(".gitattributes", "*.bin filter=lfs eol=crlf\n")
	w.write("big.bin", pointer)
	for _, which := range []string{"clean", "smudge", "process"} {
		w.git("config", "filter.lfs."+which, "touch "+ran+"; cat")
	}
	r := w.take()
	w.write("big.bin", "the real thing\n")
	w.restore(r)
	w.is("big.bin", "file 0644 "+pointer)
	if _, err := os.Stat(ran); err == nil {
		t.Error("a filter was run")
	}
}

// TestSomeonesHardLinksWereOne: they come back as files of their own, and nothing is written through a link that leads
// out of the workspace (claude-code's rewind refuses links).
func TestSomeonesHardLinksWereOne(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	victim := filepath.Join(t.TempDir(), "victim")
	w.must(os.WriteFile(victim, []byte("one"), 0o644))
	for _, name := range []string{"a", "b", "mode"} {
		w.must(os.Link(victim, w.path(name)))
	}
	then := w.take()
	w.must(os.WriteFile(victim, []byte("two"), 0o644)) // all of them
	w.must(os.Chmod(victim, 0o600))
	w.restore(then)
	for _, name := range []string{"a", "b", "mode"} {
		w.is(name, "file 0644 one")
	}
	if got, err := describe(victim); err != nil || got != "file 0600 two" {
		t.Errorf("outside: %s %v", got, err)
	}
	w.must(os.Remove(w.path("a")))
	w.must(os.Link(w.path("b"), w.path("a")))
	now := w.take()
	w.must(os.Chmod(w.path("b"), 0o640))
	w.restore(now) // each loses the other's link while it runs
	w.is("a", "file 0644 one")
	w.is("b", "file 0644 one")
}

// TestSomeonesFolderBecameALink, and the reverse: no write ever leaves the workspace, whenever the swap is.
func TestSomeonesFolderBecameALink(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	victim := filepath.Join(t.TempDir(), "victim")
	w.must(os.MkdirAll(filepath.Join(victim, "deep"), 0o755))
	for _, name := range []string{"a", "new", "deep/b"} {
		w.must(os.WriteFile(filepath.Join(victim, name), []byte("outside"), 0o644))
	}
	outside := contents(t, victim)
	w.write("folder/a", "1")
	w.write("folder/deep/b", "1")
	w.must(os.Symlink(victim, w.path("link")))
	then, was := w.take(), contents(t, w.root)

	w.must(os.Rename(w.path("folder"), w.path("moved")))
	w.must(os.Symlink(victim, w.path("folder")))
	w.must(os.Remove(w.path("link")))
	w.write("link/a", "2")
	before, now := w.take(), contents(t, w.root)
	if got := w.at(before, "folder") + " " + w.at(before, "folder/a"); got != "link to "+victim+" nothing" {
		t.Errorf("folder is %s", got)
	}
	w.restore(then)
	same(t, was, contents(t, w.root))
	w.restore(before)
	same(t, now, contents(t, w.root))
	same(t, outside, contents(t, victim))
}

// TestSomeoneSwappedAFolderForALinkMeanwhile: between thinking and doing.
func TestSomeoneSwappedAFolderForALinkMeanwhile(t *testing.T) {
	t.Parallel()
	for _, change := range []struct {
		name string
		edit func(w *workspace)
	}{
		{"write", func(w *workspace) { w.write("top/folder/a", "2") }},
		{"make", func(w *workspace) { w.must(os.Remove(w.path("top/folder/a"))) }},
		{"remove", func(w *workspace) { w.write("top/folder/new", "2") }},
		{"mode", func(w *workspace) { w.must(os.Chmod(w.path("top/folder/deep"), 0o700)) }},
		{"make folder", func(w *workspace) { w.must(os.RemoveAll(w.path("top/folder/deep"))) }},
	} {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			victim := filepath.Join(t.TempDir(), "victim")
			w.must(os.MkdirAll(filepath.Join(victim, "folder"), 0o755))
			w.must(os.WriteFile(filepath.Join(victim, "folder", "new"), []byte("outside"), 0o644))
			outside := contents(t, victim)
			w.write("top/folder/a", "1")
			w.write("top/folder/deep/b", "1")
			then := w.take()
			change.edit(w)
			r, err := w.store.Prepare(t.Context(), then, nil)
			w.must(err)
			defer r.Close()
			_, err = r.Save(t.Context(), w.stamp(pawl.CheckpointBeforeRestore))
			w.must(err)
			w.must(os.Rename(w.path("top"), w.path("away")))
			w.must(os.Symlink(victim, w.path("top")))
			if err := r.Apply(t.Context()); !errors.Is(err, unix.ELOOP) || !strings.Contains(err.Error(), "top/folder") {
				t.Errorf("%v", err)
			}
			same(t, outside, contents(t, victim))
		})
	}
}

// TestSomeoneSavedAFileWhileItWasRestored: what was saved after the snapshot before is in no snapshot, so it stays
// (opencode#3148, claude-code#64615).
func TestSomeoneSavedAFileWhileItWasRestored(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(w *workspace){
		"same size":      func(w *workspace) { w.write("a", "3") },
		"to be removed":  func(w *workspace) { w.write("b", "3") },
		"mode":           func(w *workspace) { w.must(os.Chmod(w.path("a"), 0o755)) },
		"a link now":     func(w *workspace) { w.must(os.Remove(w.path("a"))); w.must(os.Symlink("x", w.path("a"))) },
		"another link":   func(w *workspace) { w.must(os.Remove(w.path("link"))); w.must(os.Symlink("3", w.path("link"))) },
		"a folder now":   func(w *workspace) { w.must(os.Remove(w.path("a"))); w.must(os.Mkdir(w.path("a"), 0o755)) },
		"where none was": func(w *workspace) { w.write("gone", "3") },
		"in the folder":  func(w *workspace) { w.write("sub/came", "3") },
		"a large file":   func(w *workspace) { w.patch("large", 5<<20, "3") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			large := "small"
			if name == "a large file" {
				large = strings.Repeat("0123456789abcdef", largeFile/16+1)
			}
			w.write("a", "1")
			w.write("gone", "1")
			w.write("sub", "1")
			w.write("large", large)
			w.must(os.Symlink("1", w.path("link")))
			then := w.take()
			w.write("a", "2")
			w.write("b", "2")
			w.must(os.Remove(w.path("gone")))
			w.must(os.Remove(w.path("sub")))
			w.must(os.Mkdir(w.path("sub"), 0o755))
			w.write("large", "x"+large)
			w.must(os.Remove(w.path("link")))
			w.must(os.Symlink("2", w.path("link")))
			r, err := w.store.Prepare(t.Context(), then, nil)
			w.must(err)
			defer r.Close()
			if err := r.Apply(t.Context()); err == nil {
				t.Error("restored without having saved")
			}
			_, err = r.Save(t.Context(), w.stamp(pawl.CheckpointBeforeRestore))
			w.must(err)
			edit(w)
			now := contents(t, w.root)
			if err := r.Apply(t.Context()); err == nil {
				t.Error("no error")
			}
			after := contents(t, w.root)
			edited := map[string]string{"to be removed": "b", "another link": "link", "where none was": "gone", "in the folder": "sub/came", "a large file": "large"}[name]
			if edited == "" {
				edited = "a"
			}
			if after[edited] != now[edited] {
				t.Errorf("%s is %.99q, and was %.99q", edited, after[edited], now[edited])
			}
			w.restore(then) // again, with that saved
			w.is("a", "file 0644 1")
		})
	}
}

// TestSomeoneTouchedAFileWhileItWasRestored: that is no change.
func TestSomeoneTouchedAFileWhileItWasRestored(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	large := strings.Repeat("0123456789abcdef", largeFile/16+1)
	w.write("a", "1")
	w.write("large", large)
	then := w.take()
	w.write("a", "2")
	w.write("large", "x"+large)
	w.must(os.Symlink("x", w.path("link")))
	r, err := w.store.Prepare(t.Context(), then, nil)
	w.must(err)
	defer r.Close()
	_, err = r.Save(t.Context(), w.stamp(pawl.CheckpointBeforeRestore))
	w.must(err)
	for _, name := range []string{"a", "large", "link"} {
		w.must(unix.Lchown(w.path(name), os.Getuid(), os.Getgid()))
	}
	w.must(r.Apply(t.Context()))
	w.is("a", "file 0644 1")
	w.is("link", "nothing")
}

// TestSomeoneWorksInALinkedWorktree (claude-code#30906): its .git is a file, and the index is elsewhere.
func TestSomeoneWorksInALinkedWorktree(t *testing.T) {
	t.Parallel()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, tree := filepath.Join(tmp, "main"), filepath.Join(tmp, "tree")
	w := newWorkspace(t)
	w.must(os.Mkdir(main, 0o755))
	gitIn(t, main, "init", "-q")
	w.must(os.WriteFile(filepath.Join(main, ".gitignore"), []byte("*.out\n"), 0o644))
	w.must(os.WriteFile(filepath.Join(main, "kept.out"), []byte("tracked"), 0o644))
	gitIn(t, main, "add", "-f", ".")
	gitIn(t, main, "commit", "-qm", "one")
	gitIn(t, main, "worktree", "add", "-q", tree)
	w.must(os.WriteFile(filepath.Join(main, ".git", "info", "exclude"), []byte("*.tmp\n"), 0o644))
	w = openWorkspace(t, tree, Config{})
	w.more = []string{filepath.Join(main, ".git")}
	w.gits = w.lookAtGit()
	w.write("a.out", "ignored")
	w.write("a.tmp", "ignored too")
	r := w.take()
	equal(t, []string{"a.out (ignored)", "a.tmp (ignored)"}, w.leftOut(r))
	if got := w.at(r, "kept.out"); got != "file 0644 tracked" || r.Head.Branch != "refs/heads/tree" {
		t.Errorf("kept.out is %s; %v", got, r.Head)
	}
	w.write("kept.out", "changed")
	w.restore(r)
	w.is("kept.out", "file 0644 tracked")
}

// TestSomeonesCheckoutWasSparse: what is not on the disk is not in the snapshot, and does not come back with a restore.
func TestSomeonesCheckoutWasSparse(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.git("init", "-q")
	for _, name := range []string{"in/a", "out/b", ".gitignore"} {
		w.write(name, "*.log\n")
	}
	w.write("in/tracked.log", "log")
	w.git("add", "-f", ".")
	w.git("commit", "-qm", "one")
	w.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
	r := w.take()
	w.write("in/a", "changed")
	w.restore(r)
	w.is("in/a", "file 0644 *.log\n")
	w.is("out", "nothing")
	if got := w.at(r, "in/tracked.log"); got != "file 0644 log" {
		t.Errorf("in/tracked.log is %s", got)
	}
}

// TestSomeoneHadNoGit: neither a repository, nor the program.
func TestSomeoneHadNoGit(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(".gitignore", "*.log\n")
	w.write("a.log", "")
	w.write("a", "1")
	cmd := w.actor([]string{"PATH=" + t.TempDir()}, "take")
	if s := w.run(cmd); s.err != "" || len(s.ids) != 1 {
		t.Fatalf("%+v", s)
	}
	records, err := w.store.Records()
	w.must(err)
	equal(t, []string{"a.log (ignored)"}, w.leftOut(records[0]))
	if records[0].Head != nil {
		t.Errorf("head %v", records[0].Head)
	}
	w.git("init", "-q") // a repository, and still no program
	w.git("add", "-f", "a.log")
	if s := w.run(w.actor([]string{"PATH=" + t.TempDir()}, "take")); s.err != "" {
		t.Fatalf("%+v", s)
	}
	records, err = w.store.Records()
	w.must(err)
	if got := w.at(records[1], "a.log"); got != "file 0644 " {
		t.Errorf("a.log is %s", got)
	}
}

// TestSomeoneRanTwoSessionsAtOnce on one worktree (claude-code#39151): processes that take snapshots at the same time,
// one of them restoring. All snapshots are whole, and the restore ends as it should or says that something changed.
func TestSomeoneRanTwoSessionsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for i := range 40 {
		w.write("f"+string(rune('a'+i%26))+"/"+string(rune('a'+i/26)), strings.Repeat("1", i))
	}
	then, was := w.take(), contents(t, w.root)
	for i := range 40 {
		w.write("f"+string(rune('a'+i%26))+"/"+string(rune('a'+i/26)), strings.Repeat("2", i))
	}
	results := make(chan said)
	for _, deeds := range [][]string{{"take", "take", "take"}, {"take", "take", "take"}, {string(then.Checkpoint)}} {
		go func() { results <- w.run(w.actor(nil, deeds...)) }()
	}
	total := 1
	for range 3 {
		s := <-results
		if s.err != "" {
			t.Error(s.err)
		}
		total += len(s.ids)
	}
	same(t, was, contents(t, w.root))
	records, err := w.store.Records()
	w.must(err)
	if len(records) != total || total != 8 {
		t.Errorf("%d records, %d said", len(records), total)
	}
}

// patch changes a file in place.
func (w *workspace) patch(name string, at int64, text string) {
	w.t.Helper()
	f, err := os.OpenFile(w.path(name), os.O_WRONLY, 0)
	w.must(err)
	_, err = f.WriteAt([]byte(text), at)
	w.must(errors.Join(err, f.Close()))
}

// TestACancelledSnapshotLeavesNothing: it may be asked for with the context over.
func TestACancelledSnapshotLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.store.Take(ctx, w.stamp(pawl.CheckpointStep)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if records, err := w.store.Records(); err != nil || len(records) > 0 {
		t.Errorf("%v %v", records, err)
	}
}
