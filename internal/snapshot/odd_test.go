package snapshot

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// meddler is a context under which others work in the workspace: the walk asks it before each name that it looks at and
// before each block of a large file, in the order of names where there is one folder.
type meddler struct {
	context.Context
	mu    sync.Mutex
	calls int
	at    func(call int)
}

func (m *meddler) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.at(m.calls)
	return m.Context.Err()
}

// TestChangesBetweenListingAndLooking: what is gone is not in the snapshot; what is something else is that, or is not in
// it. Neither is an error.
func TestChangesBetweenListingAndLooking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(w *workspace)
		want []string // of a and d
	}{
		{"a file goes", func(w *workspace) { w.must(os.Remove(w.path("a"))) }, []string{"nothing", "folder 0755"}},
		{"a folder goes", func(w *workspace) { w.must(os.RemoveAll(w.path("d"))) }, []string{"file 0644 a", "nothing"}},
		{"a folder is a link now", func(w *workspace) {
			w.must(os.RemoveAll(w.path("d")))
			w.must(os.Symlink("/", w.path("d")))
		}, []string{"file 0644 a", "link to /"}},
		{"a file is a folder now", func(w *workspace) {
			w.must(os.Remove(w.path("a")))
			w.must(os.Mkdir(w.path("a"), 0o755))
		}, []string{"folder 0755", "folder 0755"}},
		{"a file is a pipe now", func(w *workspace) {
			w.must(os.Remove(w.path("a")))
			w.must(unix.Mkfifo(w.path("a"), 0o644))
		}, []string{"nothing", "folder 0755"}},
		{"a file is longer now", func(w *workspace) { w.write("a", "longer") }, []string{"file 0644 longer", "folder 0755"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write("a", "a")
			w.write("d/x", "x")
			w.write("z", "z")
			edit := sync.OnceFunc(func() { c.edit(w) })
			m := &meddler{Context: t.Context(), at: func(int) {
				if w.listed() {
					edit()
				}
			}}
			r, err := w.store.Take(m, w.stamp(pawl.CheckpointStep))
			w.must(err)
			equal(t, append(c.want, "file 0644 z"), []string{w.at(r, "a"), w.at(r, "d"), w.at(r, "z")})
			again := w.take()
			if c.name != "a file is a pipe now" && again.Tree != r.Tree {
				t.Error("the next snapshot differs")
			}
		})
	}
}

// listed reports whether the walk has begun to look at names: the caller of Err is worker.scanFolder.
func (w *workspace) listed() bool { return calledBy("(*worker).scanFolder") }

// TestAFileChangesWhileItIsRead, once: it is read again. All the time: it is taken as it was read last, and the next
// snapshot reads it again.
func TestAFileChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	const size = largeFile + blockSize/2
	for name, times := range map[string]int{"once": 1, "always": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write("large", strings.Repeat("0", size))
			w.age()
			w.patch("large", 0, "x") // else it would not be read
			blocks, edits := 0, 0
			m := &meddler{Context: t.Context(), at: func(int) {
				if !calledBy("(*largeReader).readBlocks") {
					return
				}
				if blocks++; blocks > 6 && edits < times { // the first one has been read
					edits++
					w.patch("large", int64(edits%size), fmt.Sprint(edits%10))
				}
			}}
			r, err := w.store.Take(m, w.stamp(pawl.CheckpointStep))
			w.must(err)
			if edits == 0 || r.Bytes != size {
				t.Fatalf("%d edits, %d bytes", edits, r.Bytes)
			}
			if times == 1 && w.at(r, "large") != w.now("large") {
				t.Error("not read again")
			}
			if got := w.at(w.take(), "large"); got != w.now("large") {
				t.Error("the next snapshot is not of what is there")
			}
		})
	}
}

// TestAFileShrinksWhileItIsRead to less than was looked at.
func TestAFileShrinksWhileItIsRead(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("large", strings.Repeat("0123456789abcdef", (largeFile+blockSize)/16))
	shrink := sync.OnceFunc(func() { w.must(os.Truncate(w.path("large"), largeFile+10)) })
	r, err := w.store.Take(&meddler{Context: t.Context(), at: func(int) {
		if calledBy("(*largeReader).readBlocks") {
			shrink()
		}
	}}, w.stamp(pawl.CheckpointStep))
	w.must(err)
	if r.Bytes != largeFile+10 || w.at(r, "large") != w.now("large") {
		t.Errorf("%d bytes", r.Bytes)
	}
}

func (w *workspace) now(name string) string {
	w.t.Helper()
	text, err := describe(w.path(name))
	w.must(err)
	return text
}

// TestUnreadable: files and folders that may not be read are left out and listed, each with what the system says. What a
// restore would overwrite without a copy is not overwritten; what was left out then stays.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "1")
	w.write("file", "1")
	w.write("folder/b", "1")
	w.write("\xffodd", "1")
	w.take()
	for _, name := range []string{"file", "\xffodd"} {
		w.must(os.Chmod(w.path(name), 0))
	}
	w.must(os.Chmod(w.path("folder"), 0))
	w.run(w.nobody("take", "take"))
	records, err := w.store.Records()
	w.must(err)
	last := records[len(records)-1]
	want := []string{"file (permission denied)", "folder (permission denied)", "\xffodd (permission denied)"}
	equal(t, want, w.leftOut(last))
	equal(t, []string{"a"}, w.files(last))
	if s := w.run(w.nobody(string(records[0].Checkpoint))); !strings.Contains(s.err, "the restore would overwrite what no snapshot holds: file, folder/b, \"\\377odd\"") {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"file", "\xffodd"} {
		w.must(os.Chmod(w.path(name), 0o644))
	}
	w.must(os.Chmod(w.path("folder"), 0o755))
	w.write("new", "1")
	w.restore(last)
	equal(t, []string{"a", "file", "folder/b", "\xffodd"}, w.files(w.take()))
}

// TestReadOnlyFolders: a restore writes in read-only folders and sets their mode again.
func TestReadOnlyFolders(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for _, name := range []string{"stays/a", "closes/a", "opens/a", "goes/a"} {
		w.write(name, "1")
	}
	w.write("stays/deep/a", "1")
	modes := func(text string) {
		for i, name := range []string{"stays", "closes", "opens", "goes", "stays/deep"} {
			w.must(os.Chmod(w.path(name), map[byte]os.FileMode{'r': 0o555, 'w': 0o755}[text[i]]))
		}
	}
	modes("rrwwr")
	then, was := w.take(), contents(t, w.root)
	modes("wwwww")
	for _, name := range []string{"stays/a", "closes/b", "opens/b", "stays/deep/b", "new/folder/b"} {
		w.write(name, "2")
	}
	w.must(os.RemoveAll(w.path("goes")))
	w.must(os.Remove(w.path("opens/a")))
	modes2 := map[string]os.FileMode{"stays": 0o555, "closes": 0o755, "opens": 0o555, "stays/deep": 0o555, "new/folder": 0o555, "new": 0o555}
	for name, mode := range modes2 {
		w.must(os.Chmod(w.path(name), mode))
	}
	if s := w.run(w.nobody(string(then.Checkpoint))); s.err != "" {
		t.Fatalf("%+v", s)
	}
	same(t, was, contents(t, w.root))
}

// TestSpecialFiles are left out and listed, are not opened, and stay where they are; what cannot go without them stays
// too. A device can only be made by one who may: as an ordinary user this test goes without.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	then := w.take()
	w.must(os.Mkdir(w.path("d"), 0o755))
	w.write("d/file", "1")
	w.must(unix.Mkfifo(w.path("d/pipe"), 0o644))
	folder, err := os.Open(w.path("d"))
	w.must(err)
	defer folder.Close()
	socket, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/socket", folder.Fd())) // the whole path may be too long
	w.must(err)
	defer socket.Close()
	want := []string{"d/pipe (named pipe)", "d/socket (socket)"}
	switch err := unix.Mknod(w.path("d/null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); {
	case err == nil:
		want = slices.Insert(want, 0, "d/null (device)")
	case !errors.Is(err, unix.EPERM):
		t.Fatal(err)
	}
	r := w.take()
	equal(t, want, w.leftOut(r))
	equal(t, []string{"d/file"}, w.files(r))
	w.age()
	cache, err := os.Stat(w.store.statFile())
	w.must(err)
	equal(t, want, w.leftOut(w.take()))
	if again, err := os.Stat(w.store.statFile()); err != nil || !os.SameFile(cache, again) {
		t.Error("the stat cache was written again although nothing changed")
	}
	w.restore(then)
	w.is("d/file", "nothing")
	for _, name := range want {
		name, _, _ = strings.Cut(name, " ")
		w.is(name, "special")
	}
	w.write("x", "")
	w.must(os.Remove(w.path("x")))
	w.must(unix.Mkfifo(w.path("d/file"), 0o644))
	if _, err := w.store.Prepare(t.Context(), r, nil); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "d/file") {
		t.Errorf("%v", err)
	}
}

// TestOddNames: any bytes that a name may have come through, also those that differ only in case, links to themselves and
// to nowhere.
func TestOddNames(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	long := strings.Repeat("n", 255)
	for _, name := range []string{
		"new\nline", "bad\xff\xfeutf8", "Case", "case", "CASE/x", "Case2/x", "case2/x", long, long[:254] + "/" + long, " ", "-rf", "*", "a\\b",
		"\x01\x7f", "..a", "...", "é", "é", ".gitx", ".pawl-restore-mine", ".pawl-restore-0123456789abcdeg", "\xff/\xfe", "~", "con", "nul ",
	} {
		w.write(name, name)
	}
	for name, target := range map[string]string{
		"loop": "loop", "up": "..", "self": ".", "nowhere": "no/such", "bytes": "\xff\n", "long": strings.Repeat("x/", 2047), "a-loop": "b-loop", "b-loop": "a-loop",
	} {
		w.must(os.Symlink(target, w.path(name)))
	}
	first, was := w.take(), contents(t, w.root)
	same(t, was, contents(t, w.export(first)))
	entries, err := os.ReadDir(w.root)
	w.must(err)
	for _, e := range entries {
		if e.Name() != ".pawl" {
			w.must(os.RemoveAll(w.path(e.Name())))
		}
	}
	empty := w.take()
	w.restore(first)
	same(t, was, contents(t, w.root))
	if again := w.take(); again.Tree != first.Tree {
		t.Error("another tree")
	}
	w.restore(empty)
	if left := contents(t, w.root); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLongPaths: a folder is in the snapshot as long as its path is of 4095 bytes, and so is what is in it, however
// much longer; what lies below a longer one is left out and listed.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	name := strings.Repeat("p", 204)
	deep := strings.Repeat(name+"/", 19) + strings.Repeat("q", maxPath-19*205) // just so long
	w.deep(deep, "long enough", "1")
	w.deep(deep+"/"+name, "too long", "1")
	w.deep(path.Dir(deep)+"/"+strings.Repeat("r", 200), "sibling", "1")
	first := w.take()
	equal(t, []string{deep + "/" + name + " (" + whyTooDeep + ")"}, w.leftOut(first))
	want := []string{deep + "/long enough", path.Dir(deep) + "/" + strings.Repeat("r", 200) + "/sibling"}
	equal(t, want, w.files(first))
	w.must(os.RemoveAll(w.path(name)))
	w.restore(first)
	if again := w.take(); again.Tree != first.Tree {
		equal(t, want, w.files(again))
	}
	w.deep(deep, "long enough", "2")
	w.deep(deep, "another", "2")
	w.restore(first)
	if again := w.take(); again.Tree != first.Tree {
		equal(t, want, w.files(again))
	}
}

// deep writes a file in a folder whose path may be too long for one call.
func (w *workspace) deep(folder, name, content string) {
	w.t.Helper()
	at, err := os.OpenRoot(w.root)
	w.must(err)
	for part := range strings.SplitSeq(folder, "/") {
		if err := at.Mkdir(part, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			w.t.Fatal(err)
		}
		next, err := at.OpenRoot(part)
		w.must(errors.Join(err, at.Close()))
		at = next
	}
	w.must(at.WriteFile(name, []byte(content), 0o644))
	w.must(at.Close())
}

// TestModes: all twelve bits come back, whatever the umask is; of folders too.
func TestModes(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	modes := []uint32{0, 0o400, 0o644, 0o777, 0o4755, 0o2755, 0o1777, 0o6777}
	for _, mode := range modes {
		w.write(fmt.Sprintf("f%o", mode), "1")
		w.write(fmt.Sprintf("d%o/x", mode), "1")
	}
	set := func(offset int) {
		for i, mode := range modes {
			to := modes[(i+offset)%len(modes)]
			w.must(unix.Chmod(w.path(fmt.Sprintf("f%o", mode)), to))
			w.must(unix.Chmod(w.path(fmt.Sprintf("d%o", mode)), to|0o500)) // else an ordinary user could not read it
		}
	}
	set(0)
	if os.Geteuid() != 0 {
		w.must(unix.Chmod(w.path("f0"), 0o400))
	}
	first, was := w.take(), contents(t, w.root)
	set(2)
	for _, mode := range modes {
		w.must(unix.Chmod(w.path(fmt.Sprintf("f%o", mode)), 0o600))
	}
	w.restore(first)
	same(t, was, contents(t, w.root))
	for _, mode := range modes {
		w.must(os.RemoveAll(w.path(fmt.Sprintf("f%o", mode))))
		w.must(os.RemoveAll(w.path(fmt.Sprintf("d%o", mode))))
	}
	w.restore(first)
	same(t, was, contents(t, w.root))
}

// TestOwners: files that root restores belong to the owner of what they replace, or of their folder.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	t.Parallel()
	w := newWorkspace(t)
	for _, name := range []string{"own/new", "own/below/new", "replaced", "mine"} {
		w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
		w.write(name, "first")
	}
	first := w.take()
	w.must(os.RemoveAll(w.path("own")))
	w.must(os.Mkdir(w.path("own"), 0o755))
	w.write("replaced", "second")
	w.write("mine", "second")
	const nobody, group = 65534, 54321
	w.must(errors.Join(os.Chown(w.path("own"), nobody, group), os.Chown(w.path("replaced"), nobody, group)))
	w.restore(first)
	for name, want := range map[string]uint32{"own/new": nobody, "own/below": nobody, "own/below/new": nobody, "replaced": nobody, "mine": 0} {
		var st unix.Stat_t
		w.must(unix.Lstat(w.path(name), &st))
		if st.Uid != want || want != 0 && st.Gid != group {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
}

// TestEmptyFolders are content; so is the change from one into something else.
func TestEmptyFolders(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.must(os.MkdirAll(w.path("a/b/c"), 0o755))
	w.must(os.Mkdir(w.path("d"), 0o700))
	first, was := w.take(), contents(t, w.root)
	w.must(os.RemoveAll(w.path("a/b")))
	w.must(os.Remove(w.path("d")))
	w.write("d", "a file")
	second, now := w.take(), contents(t, w.root)
	w.restore(first)
	same(t, was, contents(t, w.root))
	w.restore(second)
	same(t, now, contents(t, w.root))
}

// TestHoles: a file over 4 GiB that is mostly holes is taken without reading them, and comes back with them.
func TestHoles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	const size = 5<<30 + 12345
	w.write("sparse", "begin")
	w.must(os.Truncate(w.path("sparse"), size))
	w.patch("sparse", 4<<30+100, "middle")
	w.patch("sparse", size-3, "end")
	w.write("small", "begin")
	w.must(os.Truncate(w.path("small"), largeFile))
	w.write("tail", "begin")
	w.must(os.Truncate(w.path("tail"), largeFile+blockSize+100)) // a hole that is no whole block
	start := time.Now()
	first := w.take()
	if first.Bytes != size+2*largeFile+blockSize+100 || first.Added > 1<<20 {
		t.Errorf("%+v", first)
	}
	sum := func(root string) []string {
		var st unix.Stat_t
		w.must(unix.Stat(filepath.Join(root, "sparse"), &st))
		if st.Size != size || st.Blocks*512 > 8<<20 {
			t.Errorf("%s: %d bytes take %d on the disk", root, st.Size, st.Blocks*512)
		}
		f, err := os.Open(filepath.Join(root, "sparse"))
		w.must(err)
		defer f.Close()
		var parts []string
		for _, at := range []int64{0, 4<<30 + 100, size - 3} {
			buf := make([]byte, 6)
			n, _ := f.ReadAt(buf, at)
			parts = append(parts, strings.Trim(string(buf[:n]), "\x00"))
		}
		return parts
	}
	equal(t, []string{"begin", "middle", "end"}, sum(w.export(first)))
	w.age()
	equal(t, []string{"begin", "middle", "end"}, sum(w.export(first))) // now it could be a copy
	w.patch("sparse", 4<<30+100, "MIDDLE")
	second := w.take()
	if second.Added > 1<<20 || second.Tree == first.Tree {
		t.Errorf("%+v", second)
	}
	w.restore(first)
	equal(t, []string{"begin", "middle", "end"}, sum(w.root))
	t.Logf("%v", time.Since(start))
}

// TestATooLargeFileIsLeftOut, and does not keep the rest from being taken.
func TestATooLargeFileIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "1")
	w.write("huge", "")
	if err := os.Truncate(w.path("huge"), maxFile+1); err != nil {
		t.Logf("%v: this file system has no files so large, so there is nothing to be left out", err)
		return
	}
	r := w.take()
	equal(t, []string{"a"}, w.files(r))
	equal(t, []string{"huge (larger than 2 TiB)"}, w.leftOut(r))
}

// TestAChangeInALargeFileCostsItsBlock.
func TestAChangeInALargeFileCostsItsBlock(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	random := make([]byte, largeFile+3*blockSize+17)
	rand.NewChaCha8([32]byte{1}).Read(random)
	w.write("large", string(random))
	if first := w.take(); first.Added < int64(len(random)) {
		t.Errorf("%+v", first)
	}
	w.patch("large", 5<<20+10, "changed")
	r := w.take()
	if r.Added > blockSize+64<<10 {
		t.Errorf("one block costs %d bytes", r.Added)
	}
	if w.at(r, "large") != w.now("large") {
		t.Error("not what is there")
	}
}

// TestTimesAreNoTrap: mtimes in the future, or set back after a change that kept the size.
func TestTimesAreNoTrap(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	old, future := time.Unix(1e9, 0), time.Now().Add(1000*time.Hour)
	for _, name := range []string{"old", "future"} {
		w.write(name, "1")
	}
	times := func() {
		w.must(os.Chtimes(w.path("old"), old, old))
		w.must(os.Chtimes(w.path("future"), future, future))
	}
	times()
	w.age()
	for _, text := range []string{"2", "3"} {
		w.write("old", text)
		w.write("future", text)
		times()
		r := w.take()
		equal(t, []string{"file 0644 " + text, "file 0644 " + text}, []string{w.at(r, "old"), w.at(r, "future")})
	}
}

// TestTooFewDescriptors is an error: with the folders that could not be opened left out there would be a snapshot, of
// almost nothing.
func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for i := range 50 {
		w.write(fmt.Sprintf("d%d/e/f", i), "1")
	}
	for n := 8; ; n++ {
		s := w.run(w.actor(nil, fmt.Sprintf("files=%d", n), "take"))
		if s.err == "" {
			break
		}
		if !strings.Contains(s.err, "too many open files") || n > 100 {
			t.Fatalf("%d: %s", n, s.err)
		}
	}
	records, err := w.store.Records()
	w.must(err)
	if len(records) != 1 || records[0].Files != 50 || records[0].LeftOut != 0 {
		t.Errorf("%+v", records)
	}
}
