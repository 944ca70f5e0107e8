package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// settle has the next walk of this process believe that the last one began long after everything had changed.
func (w *workspace) settle() {
	w.t.Helper()
	w.age()
	w.store.last.cache.started += muchLater
}

// muchLater is longer than the coarsest timestamps, in ns.
const muchLater = 3e9

// listsNone fails the test unless the file system of the workspace is one whose folders need not be listed again.
func (w *workspace) listsNone() {
	w.t.Helper()
	root, err := openFolder(w.root)
	w.must(err)
	defer unix.Close(root)
	if !timesNames(root) {
		w.t.Skip("the times of a folder say nothing about its names in this file system")
	}
}

// TestFolderThatChangedJustBefore: a folder that changed just before the walk may have changed again since, and have the same times. So it is
// listed. One that changed long before is not: that shows that this can fail.
func TestFolderThatChangedJustBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after int64 // ns from the folder's last change to the walk's start
		want  string
	}{
		{-1e9, "file 0644 2"}, {0, "file 0644 2"}, {clockGrain, "file 0644 2"}, {clockGrain + 1, "nothing"}, {1e12, "nothing"},
	} {
		w := newWorkspace(t)
		w.listsNone()
		w.write("sub/a", "1")
		w.age()
		w.write("sub/b", "2")
		cache := w.store.last.cache
		b := *cache.blocks["sub"]
		var st unix.Stat_t
		w.must(unix.Lstat(w.path("sub"), &st))
		b.stamp.mtime, b.stamp.ctime = timesOf(&st)
		cache.blocks["sub"], cache.started = &b, b.stamp.ctime+c.after
		if got := w.at(w.take(), "sub/b"); got != c.want {
			t.Errorf("%d ns after the folder changed: %s, want %s", c.after, got, c.want)
		}
	}
}

// TestSettled: a file system that keeps whole seconds gives all changes of a second the same time.
func TestSettled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ctime, after int64
		want         bool
	}{
		{5e9, clockGrain + 1, false}, {5e9, 1e9 + clockGrain, false}, {5e9, 1e9 + clockGrain + 1, true},
		{5e9 + 1, clockGrain, false}, {5e9 + 1, clockGrain + 1, true},
	} {
		if got := settled(c.ctime, c.ctime+c.after); got != c.want {
			t.Errorf("%d, %d ns later: %v", c.ctime, c.after, got)
		}
	}
}

// TestEachChangeOfNamesIsSeen: in a folder that would not be listed if it were as before.
func TestEachChangeOfNamesIsSeen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(in func(string) string) error{
		"nothing":         func(func(string) string) error { return nil },
		"a new file":      func(in func(string) string) error { return os.WriteFile(in("sub/new"), nil, 0o600) },
		"a removed file":  func(in func(string) string) error { return os.Remove(in("sub/a")) },
		"a removed link":  func(in func(string) string) error { return os.Remove(in("sub/link")) },
		"another name":    func(in func(string) string) error { return os.Rename(in("sub/a"), in("sub/c")) },
		"a file replaced": func(in func(string) string) error { return os.Rename(in("other/a"), in("sub/a")) },
		"a file moved in": func(in func(string) string) error { return os.Rename(in("other/a"), in("sub/0")) },
		"a link":          func(in func(string) string) error { return os.Symlink("a", in("sub/link2")) },
		"a hard link":     func(in func(string) string) error { return os.Link(in("other/a"), in("sub/hard")) },
		"a folder":        func(in func(string) string) error { return os.Mkdir(in("sub/folder2"), 0o700) },
		"a folder gone":   func(in func(string) string) error { return os.RemoveAll(in("sub/folder")) },
		"a pipe":          func(in func(string) string) error { return unix.Mkfifo(in("sub/pipe"), 0o600) },
		"a pattern":       func(in func(string) string) error { return os.WriteFile(in("sub/.gitignore"), []byte("a\n"), 0o600) },
		"other patterns":  func(in func(string) string) error { return os.WriteFile(in("other/.gitignore"), []byte("a\n"), 0o600) },
		"patterns gone":   func(in func(string) string) error { return os.Remove(in("other/.gitignore")) },
		"a file for a folder": func(in func(string) string) error {
			return firstError(os.RemoveAll(in("sub/folder")), os.WriteFile(in("sub/folder"), nil, 0o600))
		},
		"a folder for a file": func(in func(string) string) error {
			return firstError(os.Remove(in("sub/a")), os.Mkdir(in("sub/a"), 0o700))
		},
		"another folder with the same names": func(in func(string) string) error {
			return firstError(os.Rename(in("sub"), in("away")), os.Rename(in("twin"), in("sub")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			for _, folder := range []string{"sub", "other", "twin"} {
				w.write(folder+"/a", folder)
				w.write(folder+"/b", folder)
			}
			w.write("sub/folder/file", "")
			w.write("other/.gitignore", "b\n")
			w.must(os.Symlink("b", w.path("sub/link")))
			w.settle()
			w.must(change(w.path))
			r := w.take()
			cold := openWorkspace(t, w.root, Config{})
			w.must(os.Remove(w.store.statFile()))
			if again := cold.take(); again.Tree != r.Tree {
				changes, err := diff(w.store.tree, r.Tree, again.Tree, nil)
				t.Errorf("without the stat cache there is more to see: %+v %v", changes, err)
			}
			equal(t, cold.leftOut(r), w.leftOut(r))
		})
	}
}

func firstError(errs ...error) error {
	at := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if at < 0 {
		return nil
	}
	return errs[at]
}

// TestWhatOnlyAListingFinds: temporary files of a restore, and folders whose content says whether they can be made again.
func TestWhatOnlyAListingFinds(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("sub/a", "")
	w.write("env/lib/b", "1")
	w.write("env/lib/venv/pyvenv.cfg", "")
	w.write("env/lib/venv/c", "2")
	w.write("env/lib/package.json", "")
	w.write("env/lib/node_modules/d", "3")
	temp := "sub/" + tempPrefix + "0123456789abcdef"
	w.write(temp, "")
	for range 2 {
		w.settle()
		l, err := w.store.scan(t.Context(), nil, extent{})
		w.must(err)
		w.must(l.batch.Abort())
		equal(t, []string{temp}, l.leftover)
	}
	const modules = "env/lib/node_modules (derived: package.json is next to it)"
	equal(t, []string{modules, "env/lib/venv (derived: it has pyvenv.cfg)"}, w.leftOut(w.take()))
	w.settle()
	w.must(os.Remove(w.path("env/lib/venv/pyvenv.cfg")))
	r := w.take()
	equal(t, []string{modules}, w.leftOut(r))
	if got := w.at(r, "env/lib/venv/c"); got != "file 0644 2" {
		t.Error(got)
	}
	w.settle()
	w.must(os.Remove(w.path("env/lib/package.json")))
	if got := w.at(w.take(), "env/lib/node_modules/d"); got != "file 0644 3" {
		t.Error(got)
	}
}

// TestWhatAWatchSkipsIsListedOnce: a folder that changed just before it was listed last may have changed since, and have the same times. The
// watch, which says that it did not, is not enough for a walk.
func TestWhatAWatchSkipsIsListedOnce(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.listsNone()
	w.write("sub/deep/file", "1")
	w.write("still/file", "1")
	w.age()
	over := watched(w)
	over.tool()
	for name, b := range w.store.last.cache.blocks {
		if b.stamp == (folderStamp{}) {
			t.Errorf("%q was listed, and has no stamp", name)
		}
	}
	w.write("sub/deep/file", "2")
	w.store.watching.base.cache.started = 0 // as if all had changed just before
	over.tool()
	for _, name := range []string{"", "sub", "still"} {
		if w.store.last.cache.blocks[name].stamp != (folderStamp{}) {
			t.Errorf("%q was not listed, and has a stamp", name)
		}
	}
	w.settle()
	w.write("sub/deep/file", "3")
	w.store.watching.base.cache.started += muchLater
	over.tool()
	for _, name := range []string{"", "sub", "still"} {
		if w.store.last.cache.blocks[name].stamp == (folderStamp{}) {
			t.Errorf("%q was settled, and has no stamp", name)
		}
	}
}

// TestAFolderPassedIsNotListed: that the watch reported no change in a folder does not mean that a walk need not list it.
func TestAFolderPassedIsNotListed(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("sub/deep/file", "1")
	temp := "sub/" + tempPrefix + "0123456789abcdef"
	w.write(temp, "")
	w.age()
	over := watched(w)
	over.tool()
	w.write("sub/deep/file", "2")
	over.tool()
	w.store.last.cache.started += muchLater
	l, err := w.store.scan(t.Context(), nil, extent{})
	w.must(err)
	w.must(l.batch.Abort())
	equal(t, []string{temp}, l.leftover)
}

// TestNamesThatNoFolderHas: a stat file with names that a folder cannot have is not believed about the folder.
func TestNamesThatNoFolderHas(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../secret", outside, "folder/file", "./folder/file", "", ".", "..", ".pawl", "b\x00", "a", "0", "\x00"} {
		w := newWorkspace(t)
		w.write("sub/a", "1")
		w.write("sub/folder/file", "2")
		w.write("sub/folder/other", "2")
		w.settle()
		want := w.take()
		w.settle()
		b := *w.store.last.cache.blocks["sub"]
		var st unix.Stat_t
		w.must(unix.Lstat(w.path("sub/folder/file"), &st))
		forged := stamp{kind: byte(File), name: name, id: want.Tree}
		forged.set(&st)
		b.entries, b.names = forged.append(slices.Clone(b.entries)), b.names+1
		w.store.last.cache.blocks["sub"] = &b
		w.write("sub/folder/other", "3")
		r := w.take()
		equal(t, []string{"sub/a", "sub/folder/file", "sub/folder/other"}, w.files(r))
		if got := w.at(r, "sub/folder/other"); got != "file 0644 3" {
			t.Errorf("%q: %s", name, got)
		}
	}
}

// TestAWalkLeavesTheNextOneWhatItRead: within a process, what the stat file lacks is read only once.
func TestAWalkLeavesTheNextOneWhatItRead(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	first := w.many(200, "changed")
	for _, want := range []int64{int64(len("changed")), 0} {
		l, err := w.store.scan(t.Context(), nil, extent{})
		w.must(err)
		if l.read != want {
			t.Errorf("%d bytes were read, want %d", l.read, want)
		}
		_, err = l.commit(t.Context(), w.stamp(""))
		w.must(err)
	}
	if !os.SameFile(first, w.statFile()) {
		t.Error("the stat file was written for one file")
	}
}

// TestTheStatFileGrowsOld: it is written again when it would spare the next walk the listing of many folders.
func TestTheStatFileGrowsOld(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.listsNone()
	w.write("sub/a", "")
	w.age()
	young := w.statFile()
	w.must(os.Chtimes(w.path("sub"), time.Time{}, time.Unix(1, 0)))
	w.take()
	if !os.SameFile(young, w.statFile()) {
		t.Error("written for a folder that may change again within the same tick")
	}
	w.tick()
	w.take()
	old := w.statFile()
	if os.SameFile(young, old) {
		t.Error("not written, so that each process lists the folder")
	}
	w.take()
	if !os.SameFile(old, w.statFile()) {
		t.Error("written again")
	}
}

// TestGoneFolderIsTriedAgain: a folder that a walk could not open is in no tree. The next walks try it again, and list it.
func TestGoneFolderIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	name := strings.Repeat("n", 200)
	inside := strings.TrimSuffix(strings.Repeat(name+"/", 20), "/")
	w.deep(inside+"/"+name, "too long", "1")
	for range 3 {
		w.settle()
		equal(t, []string{inside + "/" + name + " (" + whyTooDeep + ")"}, w.leftOut(w.take()))
	}
}
