package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// watchedWorkspace is a workspace that its store watches, and another store of the same folder that never does.
type watchedWorkspace struct {
	*workspace
	walking *Store
}

func newWatched(t testing.TB) *watchedWorkspace {
	t.Helper()
	w := newWorkspace(t)
	return watched(w)
}

func watched(w *workspace) *watchedWorkspace {
	w.t.Helper()
	w.store.Watch()
	walking, err := Open(w.t.Context(), w.store.cfg)
	w.must(err)
	w.t.Cleanup(func() {
		if err := walking.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return &watchedWorkspace{w, walking}
}

// base takes the snapshot on which the next one rests. Nothing in it is so new that it must be read again.
func (w *watchedWorkspace) base() {
	w.t.Helper()
	w.tick()
	w.tool()
	if w.store.watching.base == nil {
		w.t.Fatal("the workspace is not watched")
	}
}

// tool takes a snapshot that may rest on the watch.
func (w *watchedWorkspace) tool() Record {
	w.t.Helper()
	r, err := w.store.Take(w.t.Context(), w.stamp(pawl.CheckpointTool))
	w.must(err)
	return r
}

// walked returns what a walk without any memory finds.
func (w *watchedWorkspace) walked() *scan {
	w.t.Helper()
	file := w.store.statFile()
	aside := file + ".aside"
	if err := os.Rename(file, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	l, err := w.walking.scan(w.t.Context(), nil, extent{})
	w.must(err)
	w.must(l.batch.Abort())
	if err := os.Rename(aside, file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return l
}

// compare fails unless a snapshot has what a walk finds, and leaves out what a walk leaves out.
func (w *watchedWorkspace) compare(r Record) {
	w.t.Helper()
	l := w.walked()
	if l.root.ID != r.Tree {
		changes, err := diff(l.tree, r.Tree, l.root.ID, nil)
		w.t.Fatalf("a walk sees more: %+v %v", changes, err)
	}
	want := []string{}
	for _, o := range l.leftOut {
		want = append(want, fmt.Sprintf("%s (%s)", o.Path, o.Why))
	}
	equal(w.t, want, w.leftOut(r))
}

// TestWatchedChanges: each kind of change is in the next snapshot that rests on the watch, and that one skips what did not change.
func TestWatchedChanges(t *testing.T) {
	t.Parallel()
	inFile := func(flags int, do func(*os.File) error) func(w *watchedWorkspace) error {
		return func(w *watchedWorkspace) error {
			f, err := os.OpenFile(w.path("a/b/file"), flags, 0)
			if err != nil {
				return err
			}
			return errors.Join(do(f), f.Close())
		}
	}
	for name, change := range map[string]func(w *watchedWorkspace) error{
		"nothing":   func(*watchedWorkspace) error { return nil },
		"create":    func(w *watchedWorkspace) error { return os.WriteFile(w.path("a/b/new"), []byte("1"), 0o600) },
		"in root":   func(w *watchedWorkspace) error { return os.WriteFile(w.path("new"), []byte("1"), 0o600) },
		"write":     inFile(os.O_WRONLY, func(f *os.File) error { _, err := f.WriteAt([]byte("F"), 0); return err }),
		"append":    inFile(os.O_WRONLY|os.O_APPEND, func(f *os.File) error { _, err := f.WriteString("more"); return err }),
		"truncate":  func(w *watchedWorkspace) error { return os.Truncate(w.path("a/b/file"), 2) },
		"fallocate": inFile(os.O_WRONLY, func(f *os.File) error { return unix.Fallocate(int(f.Fd()), 0, 0, 100) }),
		"mapping": inFile(os.O_RDWR, func(f *os.File) error {
			m, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return err
			}
			m[0] = 'F'
			return unix.Munmap(m)
		}),
		"chmod":            func(w *watchedWorkspace) error { return os.Chmod(w.path("a/b/file"), 0o755) },
		"chmod of folder":  func(w *watchedWorkspace) error { return os.Chmod(w.path("a/b"), 0o700) },
		"chmod of root":    func(w *watchedWorkspace) error { return os.Chmod(w.root, 0o700) },
		"same size, mtime": sameStat,
		"mtime": func(w *watchedWorkspace) error {
			return os.Chtimes(w.path("a/b/file"), time.Unix(1, 0), time.Unix(1, 0))
		},
		"rename in":      func(w *watchedWorkspace) error { return os.Rename(w.outside("in"), w.path("a/b/new")) },
		"rename out":     func(w *watchedWorkspace) error { return os.Rename(w.path("a/b/file"), w.outside("out")) },
		"rename over":    func(w *watchedWorkspace) error { return os.Rename(w.path("a/other"), w.path("a/b/file")) },
		"rename within":  func(w *watchedWorkspace) error { return os.Rename(w.path("a/b/file"), w.path("c/d/file")) },
		"folder in":      func(w *watchedWorkspace) error { return os.Rename(w.outside("folder"), w.path("a/folder")) },
		"folder out":     func(w *watchedWorkspace) error { return os.Rename(w.path("a/b"), w.outside("out")) },
		"folder renamed": func(w *watchedWorkspace) error { return os.Rename(w.path("a"), w.path("e")) },
		"folder over": func(w *watchedWorkspace) error {
			return errors.Join(os.RemoveAll(w.path("a/b")), os.Rename(w.path("c/d"), w.path("a/b")))
		},
		"folders swapped": func(w *watchedWorkspace) error {
			return unix.Renameat2(unix.AT_FDCWD, w.path("a/b"), unix.AT_FDCWD, w.path("c/d"), unix.RENAME_EXCHANGE)
		},
		"folder there and back": func(w *watchedWorkspace) error {
			return errors.Join(os.Rename(w.path("a"), w.path("e")), os.WriteFile(w.path("e/b/file"), []byte("changed"), 0o600), os.Rename(w.path("e"), w.path("a")))
		},
		"change in a moved folder": func(w *watchedWorkspace) error {
			return errors.Join(os.Rename(w.path("a"), w.path("e")), os.WriteFile(w.path("e/b/file"), []byte("changed"), 0o600))
		},
		"delete":        func(w *watchedWorkspace) error { return os.Remove(w.path("a/b/file")) },
		"delete folder": func(w *watchedWorkspace) error { return os.RemoveAll(w.path("a/b")) },
		"folder again": func(w *watchedWorkspace) error {
			return errors.Join(os.RemoveAll(w.path("a/b")), os.Mkdir(w.path("a/b"), 0o755), os.WriteFile(w.path("a/b/file"), []byte("1"), 0o600))
		},
		"nested": func(w *watchedWorkspace) error {
			return errors.Join(os.MkdirAll(w.path("a/b/1/2/3"), 0o755), os.WriteFile(w.path("a/b/1/2/3/new"), []byte("1"), 0o600))
		},
		"symlink": func(w *watchedWorkspace) error { return os.Symlink("file", w.path("a/b/new")) },
		"symlink again": func(w *watchedWorkspace) error {
			return errors.Join(os.Remove(w.path("a/link")), os.Symlink("other", w.path("a/link")))
		},
		"pipe":             func(w *watchedWorkspace) error { return unix.Mkfifo(w.path("a/b/new"), 0o600) },
		"patterns":         func(w *watchedWorkspace) error { return os.WriteFile(w.path("a/.gitignore"), []byte("file\n"), 0o600) },
		"patterns gone":    func(w *watchedWorkspace) error { return os.Remove(w.path("c/.gitignore")) },
		"patterns of root": func(w *watchedWorkspace) error { return os.WriteFile(w.path(".pawlignore"), []byte("d\n"), 0o600) },
		"file for folder": func(w *watchedWorkspace) error {
			return errors.Join(os.RemoveAll(w.path("a/b")), os.WriteFile(w.path("a/b"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t)
			w.fill()
			w.base()
			w.must(change(w))
			l, err := w.store.scan(t.Context(), nil, extent{rests: true})
			w.must(err)
			if !l.watched.skips || !l.watched.kept("far/away") && name != "patterns of root" {
				t.Errorf("it did not skip what did not change")
			}
			r, err := l.commit(t.Context(), w.stamp(pawl.CheckpointTool))
			w.must(err)
			w.compare(r)
			w.compare(w.tool())
		})
	}
}

// outside returns the path of something outside the workspace, on the same file system.
func (w *watchedWorkspace) outside(name string) string { return w.root + "-" + name }

// fill makes files in the workspace, and some outside.
func (w *watchedWorkspace) fill() {
	w.t.Helper()
	for _, path := range []string{"a/b/file", "a/other", "c/d/file", "c/d/e/file", "a/b/sub/file", "c/d/sub/file", "far/away/file", "far/away/deep/file"} {
		w.write(path, path+" as at first")
	}
	w.write("c/.gitignore", "*.o\n")
	w.write("c/d/x.o", "ignored")
	w.must(os.Symlink("file", w.path("a/link")))
	w.must(os.MkdirAll(w.outside("folder/sub"), 0o755))
	w.must(errors.Join(os.WriteFile(w.outside("in"), []byte("1"), 0o600), os.WriteFile(w.outside("folder/sub/file"), []byte("1"), 0o600)))
	w.t.Cleanup(func() {
		for _, name := range []string{"in", "out", "folder"} {
			w.must(os.RemoveAll(w.outside(name)))
		}
	})
}

// sameStat writes content of the same length and sets the time back.
func sameStat(w *watchedWorkspace) error {
	info, err := os.Lstat(w.path("a/b/file"))
	if err != nil {
		return err
	}
	content := strings.Repeat("x", int(info.Size()))
	return errors.Join(os.WriteFile(w.path("a/b/file"), []byte(content), 0o600), os.Chtimes(w.path("a/b/file"), info.ModTime(), info.ModTime()))
}

// TestWatchedLinks: a file with several hard links may change by any of them.
func TestWatchedLinks(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fill()
	w.must(os.Link(w.path("a/other"), w.outside("out")))
	w.base()
	w.must(os.WriteFile(w.outside("out"), []byte("by a name outside"), 0o600))
	w.compare(w.tool())
	w.must(os.Link(w.path("c/d/file"), w.path("a/b/new")))
	w.must(os.WriteFile(w.path("a/b/new"), []byte("by a new name"), 0o600))
	w.compare(w.tool())
	w.must(os.WriteFile(w.path("a/b/new"), []byte("by a known name"), 0o600))
	w.compare(w.tool())
}

// TestWatchedKinds: what results and restores rely on is walked.
func TestWatchedKinds(t *testing.T) {
	t.Parallel()
	for kind, rests := range map[pawl.CheckpointKind]bool{
		pawl.CheckpointTool: true, pawl.CheckpointItem: true, pawl.CheckpointHeartbeat: true, pawl.CheckpointManual: true,
		pawl.CheckpointStep: false, pawl.CheckpointGate: false, pawl.CheckpointBeforeRestore: false, pawl.CheckpointEmergency: false,
		pawl.CheckpointBeforeCompaction: false,
	} {
		if mayRest(kind) != rests {
			t.Errorf("%s: %v", kind, !rests)
		}
	}
	w := newWatched(t)
	w.fill()
	w.base()
	w.write("a/b/file", "changed")
	root, err := openFolder(w.root)
	w.must(err)
	defer unix.Close(root)
	_, err = w.store.watching.watcher.Drain(root) // as if the change were not reported
	w.must(err)
	if r := w.tool(); r.Tree == w.walked().root.ID {
		t.Error("a tool's snapshot walked")
	}
	w.compare(w.take())
}

// TestWatchedIndex: what git tracks decides about ignored files, and no event tells of that.
func TestWatchedIndex(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.git("init", "-q")
	w.fill()
	w.base()
	w.git("add", "-f", "c/d/x.o")
	r := w.tool()
	w.compare(r)
	if got := w.at(r, "c/d/x.o"); got != "file 0644 ignored" {
		t.Errorf("it has %q", got)
	}
	w.git("rm", "-q", "--cached", "c/d/x.o")
	w.compare(w.tool())
}

// TestWatchedDerived: the file that marks a folder as derived lies in the folder, which is not watched.
func TestWatchedDerived(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fill()
	w.write("far/away/venv/pyvenv.cfg", "")
	w.write("far/away/venv/lib", "")
	w.base()
	w.must(os.Remove(w.path("far/away/venv/pyvenv.cfg")))
	r := w.tool()
	w.compare(r)
	if got := w.at(r, "far/away/venv/lib"); got != "file 0644 " {
		t.Errorf("it has %q", got)
	}
}

// TestWatchedLeftOut: a folder that is left out stays out while a folder below the one that has it changes.
func TestWatchedLeftOut(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.write(".gitignore", "out/\n")
	w.write("out/b", "1")
	w.write("sub/out/b", "1")
	w.write("sub/deep/c", "1")
	w.base()
	w.write("sub/deep/c", "2")
	r := w.tool()
	w.compare(r)
	equal(t, []string{"out (ignored)", "sub/out (ignored)"}, w.leftOut(r))
}

// TestWatchedRoot: when another folder takes the place of the root, the watch is of no use.
func TestWatchedRoot(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fill()
	w.base()
	w.must(os.Rename(w.root, w.outside("out")))
	w.must(os.Mkdir(w.root, 0o755))
	w.must(os.Rename(w.outside("out")+"/.pawl", w.path(".pawl")))
	w.write("a/b/file", "another")
	w.compare(w.tool())
	w.write("a/b/file", "and another")
	w.compare(w.tool())
}

// TestWatchedLostObjects: a folder whose objects were pruned is read again.
func TestWatchedLostObjects(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fill()
	w.base()
	w.write("a/b/file", "changed")
	l, err := w.store.scan(t.Context(), nil, extent{rests: true})
	w.must(err)
	w.must(l.batch.Abort()) // the base has trees that the store has not
	_, err = w.store.Prune(t.Context(), PruneOptions{Policy: func(Record) bool { return false }, Named: func(Record) bool { return false }, RunGone: func(Record) bool { return true }, Now: time.Now()})
	w.must(err)
	r := w.tool()
	w.compare(r)
	w.export(r)
}

// TestWatchedFailure: after a snapshot that failed, the next one walks.
func TestWatchedFailure(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fill()
	w.base()
	w.write("a/b/file", "changed")
	quota := w.store.cfg.Quota
	w.store.cfg.Quota = 1
	if _, err := w.store.scanUpTo(t.Context(), nil, extent{rests: true}, 1); !errors.Is(err, ErrQuota) {
		t.Fatal(err)
	}
	w.store.cfg.Quota = quota
	if w.store.watching.base != nil {
		t.Error("the changes that it saw are lost")
	}
	w.compare(w.tool())
}

// TestWatchedStories compares snapshots that rest on the watch with walks, after random edits.
func TestWatchedStories(t *testing.T) {
	t.Parallel()
	play(t, func(p *player) {
		w := watched(p.workspace)
		var cache []byte
		p.now = contents(p.t, p.root)
		for range 25 {
			for range p.IntN(8) {
				p.edit()
				if hasLinks(p.t, p.root) { // a write by a name that is gone at the next snapshot is not reported
					w.compare(w.tool())
				}
			}
			if p.IntN(4) == 0 {
				p.patterns()
			}
			p.upset(&cache)
			w.compare(w.tool())
		}
	})
}

// hasLinks reports whether a file has several hard links.
func hasLinks(t testing.TB, root string) (has bool) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if st, ok := info.Sys().(*syscall.Stat_t); err == nil && ok {
			has = has || st.Nlink > 1
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return has
}

// TestWatchedMeanwhile: what changes while snapshots are taken and watches are set is in the next one at the latest.
func TestWatchedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fill()
	for round := range 3 * *stories {
		random := rand.New(rand.NewPCG(uint64(round), 1))
		var edits sync.WaitGroup
		edits.Go(func() {
			for i := range 20 + random.IntN(300) {
				editMeanwhile(w.root, random, i)
			}
		})
		w.tool()
		edits.Wait()
		w.compare(w.tool())
		for _, name := range []string{"p", "q", "r"} { // what comes next is new, and not yet watched
			w.must(os.RemoveAll(w.path(name)))
		}
	}
}

// TestWatchedBeforeRead: a new folder is watched before it is read, so that what changes during the read is in the next snapshot.
func TestWatchedBeforeRead(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fill()
	w.base()
	large := make([]byte, 64<<20)
	_, err := rand.NewChaCha8([32]byte{1}).Read(large)
	w.must(err)
	w.write("new/large", string(large))
	opened, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	w.must(err)
	defer unix.Close(opened)
	_, err = unix.InotifyAddWatch(opened, w.path("new/large"), unix.IN_OPEN)
	w.must(err)
	var edit sync.WaitGroup
	edit.Go(func() {
		if _, err := unix.Read(opened, make([]byte, 4096)); err != nil {
			t.Error(err)
		}
		w.write("new/late", "while new/large is read")
	})
	w.tool()
	edit.Wait()
	w.compare(w.tool())
}

// editMeanwhile moves folders about, and makes files and folders in them.
func editMeanwhile(root string, random *rand.Rand, i int) {
	at := func() string {
		parts := []string{root}
		for range 1 + random.IntN(3) {
			parts = append(parts, string(rune('p'+random.IntN(3))))
		}
		return filepath.Join(parts...)
	}
	switch random.IntN(6) {
	case 0, 1:
		_ = os.MkdirAll(at(), 0o755)
	case 2, 3:
		_ = os.WriteFile(filepath.Join(at(), "file"), fmt.Append(nil, i), 0o600)
	case 4:
		_ = os.Rename(at(), at())
	case 5:
		_ = os.RemoveAll(at())
	}
}

// TestTheStatFileOfAWatchLacksNothingForLong: what the first watched walk left out of the stat file is written when a minute has passed.
func TestTheStatFileOfAWatchLacksNothingForLong(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	first := w.many(100, "2")
	r := watched(w)
	r.tool()
	if !os.SameFile(first, w.statFile()) {
		t.Fatal("written for one file")
	}
	w.store.watching.base.saved = time.Now().Add(-saveAfter)
	r.tool()
	if os.SameFile(first, w.statFile()) {
		t.Error("not written after a minute")
	}
}
