package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl"
)

// forge writes a stat cache that says of the file a in the root what is true of it now, but for its content, and that the
// walk began so long after the file last changed.
func (w *workspace) forge(after int64) {
	w.t.Helper()
	c := readStatCache(w.store.statFile())
	var st unix.Stat_t
	w.must(unix.Lstat(w.path("a"), &st))
	_, ctime := timesOf(&st)
	var blocks []*block
	for _, b := range c.blocks {
		forged := *b
		forged.entries = nil
		for _, s := range b.stamps() {
			if b.path == "" && s.name == "a" {
				s.set(&st)
			}
			forged.entries = s.append(forged.entries)
		}
		forged.encode()
		blocks = append(blocks, &forged)
	}
	w.must(writeStatCache(w.store.statFile(), ctime+after, c.index, blocks))
}

// TestAChangeWithinOneTickIsSeen: a file that changed just before the walk may have changed again since, in the same tick
// of the clock, and look the same. So it is read. One that changed long before is not: that shows that this can fail.
func TestAChangeWithinOneTickIsSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after int64
		want  string
	}{{-1e9, "2"}, {0, "2"}, {clockGrain - 1, "2"}, {clockGrain, "2"}, {clockGrain + 1, "1"}, {1e9, "1"}} {
		w := newWorkspace(t)
		w.write("a", "1")
		w.write("sub/b", "1")
		w.take()
		w.write("a", "2")
		w.forge(c.after)
		if got := w.at(w.take(), "a"); got != "file 0644 "+c.want {
			t.Errorf("%d ns after it changed: %s, want %s", c.after, got, c.want)
		}
	}
}

// TestTheStatCacheIsWrittenOnlyForNews: neither a change that is none, nor something that is left out, costs a write.
func TestTheStatCacheIsWrittenOnlyForNews(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(".gitignore", "*.log\nout/\n")
	w.write("a", "1")
	w.write("a.log", "")
	w.write("out/b", "")
	w.write("sub/deep/c", "")
	w.age()
	look := w.statFile
	first := look()
	w.take()
	if !os.SameFile(first, look()) {
		t.Error("written although nothing changed")
	}
	w.write("out/b2", "")
	w.take()
	if !os.SameFile(first, look()) {
		t.Error("written although nothing changed but in an ignored folder")
	}
	w.must(os.RemoveAll(w.path("sub")))
	w.take()
	if os.SameFile(first, look()) {
		t.Error("not written although a folder is gone")
	}
	if r := w.take(); w.at(r, "sub") != "nothing" {
		t.Error("it is back")
	}
}

// TestADamagedStatCacheCountsAsEmpty: cut, changed, of another format, or no file at all.
func TestADamagedStatCacheCountsAsEmpty(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "1")
	w.write("sub/b", "1")
	w.age()
	want := w.take()
	good, err := os.ReadFile(w.store.statFile())
	w.must(err)
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		if _, ok := parseStatCache(bad); ok {
			t.Errorf("believed with byte %d changed", i)
		}
		if _, ok := parseStatCache(good[:i]); ok {
			t.Errorf("believed with only %d bytes", i)
		}
	}
	w.must(os.WriteFile(w.store.statFile(), good[:len(good)/2], 0o600))
	if r := w.take(); r.Tree != want.Tree {
		t.Error("another tree with half a stat cache")
	}
	w.must(os.Remove(w.store.statFile()))
	w.must(os.Mkdir(w.store.statFile(), 0o700))
	if r := w.take(); r.Tree != want.Tree {
		t.Error("another tree with none")
	}
}

// TestTheStatCacheIsNotBelievedAboutWhatTheStoreLacks: it names trees and files of a snapshot that was never committed.
func TestTheStatCacheIsNotBelievedAboutWhatTheStoreLacks(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "1")
	w.write("sub/b", "1")
	w.age()
	w.write("a", "2")
	w.write("sub/c", "2")
	w.tick()
	l, err := w.store.scan(t.Context(), nil, extent{})
	w.must(err)
	w.must(l.batch.Abort())
	same(t, contents(t, w.root), contents(t, w.export(w.take())))
}

// TestTwoWalksAtOnceShareTheStatCache in one process.
func TestTwoWalksAtOnceShareTheStatCache(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	other := openWorkspace(t, w.root, Config{})
	for i := range 30 {
		w.write(string(rune('a'+i%10))+"/"+string(rune('a'+i/10)), "1")
	}
	done := make(chan Record)
	for _, each := range []*workspace{w, other} {
		go func() {
			var last Record
			for range 5 {
				r, err := each.store.Take(t.Context(), Stamp{Checkpoint: "00000001", Kind: pawl.CheckpointStep, Run: "run", Why: each.root})
				if err != nil {
					t.Error(err)
				}
				last = r
			}
			done <- last
		}()
	}
	if a, b := <-done, <-done; a.Tree != b.Tree || a.Files != 30 {
		t.Errorf("%+v and %+v", a, b)
	}
}

// FuzzStatCache: whatever the file says, with the right sum, reading it ends.
func FuzzStatCache(f *testing.F) {
	b := block{path: "sub", mode: 0o755, size: 3, files: 1}
	for _, s := range []stamp{
		{kind: byte(File), name: "a", mode: 0o100644, size: 3, mtime: 1, ctime: 2, inode: 3}, {kind: byte(Link), name: "b", text: "c"},
		{kind: byte(Folder), name: "d"}, {kind: leftOutKind, name: "e", mode: 4, text: whyIgnored, tracked: true},
	} {
		b.entries = s.append(b.entries)
	}
	b.names = 4
	b.encode()
	f.Add(b.raw)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		file := append([]byte(statMagic), make([]byte, 8+len(indexKey{}))...)
		file = append(file, data...)
		file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(file, castagnoli))
		c, ok := parseStatCache(file)
		if !ok {
			return
		}
		for _, b := range c.blocks {
			again := block{path: b.path, mode: b.mode, tree: b.tree, size: b.size, files: b.files, rules: b.rules}
			for _, s := range b.stamps() {
				again.entries = s.append(again.entries)
			}
			if len(again.entries) > len(b.entries) {
				t.Errorf("%q comes out longer: %q", b.entries, again.entries)
			}
		}
	})
}

// TestTheStatFileMayLackALittle: a large stat file is left as it is until what it lacks is worth writing it. What it lacks is read again.
func TestTheStatFileMayLackALittle(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.store.small, w.store.part = 0, 4
	name := func(i int) string { return fmt.Sprintf("folder%d/a", i) }
	const folders = 24
	for i := range folders {
		w.write(name(i), "1")
		for n := range 10 {
			w.write(fmt.Sprintf("folder%d/file%d", i, n), "")
		}
	}
	w.age()
	first := w.statFile()
	written := 0
	for i := range folders {
		w.write(name(i), "2")
		w.tick()
		r := w.take()
		if got := w.at(r, name(i)); got != "file 0644 2" {
			t.Fatalf("%s: %s", name(i), got)
		}
		other, err := Open(t.Context(), w.store.cfg)
		w.must(err)
		other.small, other.part = 0, 4
		again, err := other.Take(t.Context(), w.stamp(pawl.CheckpointStep))
		w.must(errors.Join(err, other.Close()))
		if again.Tree != r.Tree {
			t.Fatal("another process sees another tree")
		}
		if now := w.statFile(); !os.SameFile(first, now) {
			first, written = now, written+1
			if i == 0 {
				t.Error("written for one file")
			}
		}
	}
	if written == 0 || written > folders/3 {
		t.Errorf("written %d times for %d snapshots", written, folders)
	}
	w.write("large", strings.Repeat("x", 100_000))
	w.take()
	if os.SameFile(first, w.statFile()) {
		t.Error("not written although much was read")
	}
	w.age()
	first = w.statFile()
	for i := range folders / 3 * 2 {
		w.must(os.RemoveAll(w.path(fmt.Sprintf("folder%d", i))))
	}
	w.take()
	if os.SameFile(first, w.statFile()) {
		t.Error("not written although most of it is gone")
	}
}

// TestTheStatFileIsReadOnce: a store reads the stat file only if another one has replaced it.
func TestTheStatFileIsReadOnce(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("a", "1")
	w.age()
	was := w.store.statCache()
	if len(was.blocks) == 0 || w.store.statCache() != was {
		t.Error("read again")
	}
	w.must(writeStatCache(w.store.statFile(), was.started+1, was.index, nil))
	if now := w.store.statCache(); now == was || now.started != was.started+1 || len(now.blocks) > 0 {
		t.Error("not read although it was replaced")
	}
	w.must(os.Remove(w.store.statFile()))
	if now := w.store.statCache(); len(now.blocks) > 0 || now.started != 0 {
		t.Error("it is gone, and is believed")
	}
	if got := w.at(w.take(), "a"); got != "file 0644 1" {
		t.Error(got)
	}
}

func (w *workspace) statFile() os.FileInfo {
	w.t.Helper()
	info, err := os.Stat(w.store.statFile())
	w.must(err)
	return info
}

// TestTheStatFileOutlivesGitsIndex: a new index of git costs a write of a large stat file only if much depends on it. What depends on it is
// seen either way.
func TestTheStatFileOutlivesGitsIndex(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.store.small, w.store.part = 0, 4
	w.git("init", "-q")
	w.write(".gitignore", "*.log\n")
	const folders = 10
	for i := range folders {
		for n := range 10 {
			w.write(fmt.Sprintf("folder%d/file%d", i, n), "")
		}
	}
	w.write("folder0/a.log", "1")
	w.git("add", ".gitignore")
	w.age()
	first := w.statFile()
	w.git("add", "-f", "folder0/a.log")
	if got := w.at(w.take(), "folder0/a.log"); got != "file 0644 1" {
		t.Errorf("it is tracked now, and %s", got)
	}
	w.git("rm", "-q", "--cached", "folder0/a.log")
	if got := w.at(w.take(), "folder0/a.log"); got != "nothing" {
		t.Errorf("it is ignored again, and %s", got)
	}
	if !os.SameFile(first, w.statFile()) {
		t.Error("written although little depends on the index")
	}
	for i := range folders {
		w.write(fmt.Sprintf("folder%d/b.log", i), "")
	}
	w.take()
	first = w.statFile()
	w.git("add", "folder1/file1")
	w.take()
	if os.SameFile(first, w.statFile()) {
		t.Error("not written although much depends on the index")
	}
}
