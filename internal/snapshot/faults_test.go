package snapshot

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
)

// scene is a workspace with a snapshot, and much changed since: something of each kind that a restore has to do. It
// returns the snapshot, and what it holds.
func scene(t *testing.T) (w *workspace, then Record, was map[string]string) {
	w = newWorkspace(t)
	for _, name := range []string{"same", "replaced", "gone", "deep/gone/too", "mode", "kind", "hidden", "out/hidden", "folder/x"} {
		w.write(name, "then "+name)
	}
	w.must(os.Symlink("then", w.path("link")))
	w.must(os.Mkdir(w.path("empty"), 0o750))
	w.must(os.Chmod(w.path("deep/gone"), 0o555))
	then, was = w.take(), contents(t, w.root)
	w.write(".gitignore", "hidden\nout/\n")
	for _, name := range []string{"replaced", "hidden", "out/hidden", "new", "new folder/a"} {
		w.write(name, "now "+name)
	}
	for _, name := range []string{"gone", "deep", "kind", "folder", "link", "empty"} {
		w.must(os.RemoveAll(w.path(name)))
	}
	w.must(os.Chmod(w.path("mode"), 0o600))
	w.write("kind/a", "now a folder")
	w.write("folder", "now a file")
	w.must(os.Symlink("now", w.path("link")))
	return w, then, was
}

// sweep calls each with the faults: the process dies at a call, the call fails, or all calls from there on fail.
func sweep(t *testing.T, calls int, each func(t *testing.T, fault string)) {
	faults := []string{"die:%d", "ENOSPC:%d", "EIO:%d-"}
	for kind, fault := range faults {
		t.Run(strings.ReplaceAll(fault, ":%d", ""), func(t *testing.T) {
			t.Parallel()
			for n := range disktest.FaultPoints(kind, len(faults), calls) {
				t.Run(fmt.Sprint(n), func(t *testing.T) { each(t, fmt.Sprintf(fault, n)) })
			}
		})
	}
}

// calls counts the calls to the disk of an actor that nothing disturbs.
func (w *workspace) calls(deeds ...string) int {
	w.t.Helper()
	log := filepath.Join(w.t.TempDir(), "calls")
	if s := w.run(w.actor([]string{disktest.FaultVar + "=count", disktest.FaultLog + "=" + log}, deeds...)); s.err != "" || s.killed {
		w.t.Fatalf("%+v", s)
	}
	data, err := os.ReadFile(log)
	w.must(err)
	return strings.Count(string(data), "\n")
}

// TestRestoreAtEveryFault lets a restore die, or fail, at each of its calls. What is there is then either as it was, or
// kept in a snapshot; done again it ends in what was asked for, with nothing left over.
func TestRestoreAtEveryFault(t *testing.T) {
	t.Parallel()
	w, then, _ := scene(t)
	calls := w.calls(string(then.Checkpoint))
	if calls < 30 {
		t.Fatalf("only %d calls", calls)
	}
	sweep(t, calls, func(t *testing.T, fault string) {
		w, then, was := scene(t)
		before := contents(t, w.root)
		s := w.run(w.actor([]string{disktest.FaultVar + "=" + fault}, string(then.Checkpoint)))
		if s.killed != strings.HasPrefix(fault, "die") {
			t.Fatalf("%+v", s)
		}
		if strings.HasSuffix(fault, "-") && s.err == "" {
			t.Error("nobody noticed")
		}
		w.wholeFiles()
		if len(s.ids) == 0 {
			same(t, before, contents(t, w.root))
		}
		if s.err == "" && !s.killed {
			same(t, was, contents(t, w.root))
		}
		if again := w.run(w.actor(nil, string(then.Checkpoint))); again.err != "" || again.killed {
			t.Fatalf("again: %+v", again)
		}
		same(t, was, contents(t, w.root))
		w.nothingLeft()
		w.kept(before, s.ids)
	})
}

// wholeFiles fails if a file of the scene is written in part.
func (w *workspace) wholeFiles() {
	w.t.Helper()
	w.must(filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".pawl" {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() || isTemporary([]byte(d.Name())) || d.Name() == ".gitignore" {
			return err
		}
		data, err := os.ReadFile(path)
		if text := string(data); !strings.HasPrefix(text, "then ") && !strings.HasPrefix(text, "now ") {
			w.t.Errorf("%s is written in part: %q", path, text)
		}
		return err
	}))
}

// nothingLeft fails where a temporary file of ours stands anywhere in the workspace.
func (w *workspace) nothingLeft() {
	w.t.Helper()
	w.must(filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if strings.Contains(d.Name(), "restore-") || strings.HasPrefix(d.Name(), "temp-") || strings.Contains(d.Name(), ".tmp") {
			w.t.Errorf("left: %s", path)
		}
		return err
	}))
}

// kept fails unless the snapshots that were acknowledged are there, and all of before was kept where one was.
func (w *workspace) kept(before map[string]string, ids []string) {
	w.t.Helper()
	records, err := w.store.Records()
	w.must(err)
	for _, id := range ids {
		i := slices.IndexFunc(records, func(r Record) bool { return r.ID.String() == id })
		if i < 0 {
			w.t.Fatalf("snapshot %s is gone", id)
		}
		if got := contents(w.t, w.export(records[i])); !maps.Equal(got, before) {
			w.t.Errorf("kept: %q, was there: %q", got, before)
		}
	}
}

// TestTakeAtEveryFault lets a snapshot die, or fail, at each of its calls, with a stat cache and with none. The next one
// is whole, and sees what one without a stat cache sees.
func TestTakeAtEveryFault(t *testing.T) {
	t.Parallel()
	scene := func(t *testing.T) *workspace {
		w, _, _ := scene(t)
		large := make([]byte, 9<<20) // more than a batch keeps in memory
		for i := range large {
			large[i] = byte(i * i >> 7)
		}
		w.write("large", string(large))
		return w
	}
	calls := scene(t).calls("take")
	if calls < 8 {
		t.Fatalf("only %d calls", calls)
	}
	sweep(t, calls, func(t *testing.T, fault string) {
		w := scene(t)
		before := contents(t, w.root)
		s := w.run(w.actor([]string{disktest.FaultVar + "=" + fault}, "take"))
		if s.killed != strings.HasPrefix(fault, "die") || strings.HasSuffix(fault, "-") && fault != fmt.Sprintf("EIO:%d-", calls) && s.err == "" {
			t.Errorf("%+v", s)
		}
		same(t, before, contents(t, w.root))
		next := w.take()
		w.must(os.RemoveAll(w.store.statFile()))
		if cold := w.take(); cold.Tree != next.Tree {
			t.Error("the stat cache tells something else than the files")
		}
		w.nothingLeft()
	})
}
