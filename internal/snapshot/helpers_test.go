package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pawl"
)

// workspace is a folder with a store in it, as a project has them.
type workspace struct {
	t     testing.TB
	root  string
	store *Store
	count int
	gits  map[string]string // how every .git, and what it names elsewhere, looked when git was last run
	more  []string          // folders outside root that belong to git
}

// newWorkspace makes an empty workspace. When the test ends, its store must be whole and its .git untouched.
func newWorkspace(t testing.TB) *workspace {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return openWorkspace(t, root, Config{})
}

func openWorkspace(t testing.TB, root string, cfg Config) *workspace {
	t.Helper()
	cfg.Root, cfg.Dir = root, filepath.Join(root, ".pawl", "snapshots")
	store, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{t: t, root: root, store: store}
	w.gits = w.lookAtGit()
	t.Cleanup(func() {
		w.check()
		w.sameGit()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// check says what is wrong with the store.
func (w *workspace) check() {
	w.t.Helper()
	faults, err := w.store.Verify(context.Background())
	if err != nil || len(faults) > 0 {
		w.t.Errorf("verify: %v %v", err, faults)
	}
}

func (w *workspace) path(name string) string { return filepath.Join(w.root, name) }

// write makes a file and the folders above it.
func (w *workspace) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// stamp returns the stamp of a new checkpoint.
func (w *workspace) stamp(kind pawl.CheckpointKind) Stamp {
	w.count++
	return Stamp{Checkpoint: pawl.CheckpointID(fmt.Sprintf("%08x", w.count)), Kind: kind, Run: "run"}
}

func (w *workspace) take() Record {
	w.t.Helper()
	r, err := w.store.Take(context.Background(), w.stamp(pawl.CheckpointStep))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// age lets the stat cache see everything that there is now after a while: from then on the next walk believes it.
func (w *workspace) age() {
	w.t.Helper()
	w.tick()
	w.take()
}

// many writes files, ten in a folder, with a stat file that may lack a little, and changes one of them since.
func (w *workspace) many(files int, changed string) (stat os.FileInfo) {
	w.t.Helper()
	w.store.small, w.store.part = 0, 4
	for i := range files {
		w.write(fmt.Sprintf("folder%d/file%d", i/10, i), "")
	}
	w.age()
	stat = w.statFile()
	w.write("folder0/file0", changed)
	w.tick()
	return stat
}

// tick waits until the clock of the file system has moved on by so much that what changed before is settled.
func (w *workspace) tick() {
	w.t.Helper()
	probe := filepath.Join(w.root, ".pawl", "probe")
	for until := time.Now().UnixNano() + 2*clockGrain; ; {
		w.must(os.WriteFile(probe, nil, 0o600))
		var st unix.Stat_t
		w.must(unix.Stat(probe, &st))
		if _, ctime := timesOf(&st); ctime > until {
			return
		}
	}
}

// restore brings a snapshot back, and returns the one of what was there before.
func (w *workspace) restore(to Record, paths ...string) Record {
	w.t.Helper()
	r, err := w.store.Prepare(context.Background(), to, paths)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	before, err := r.Save(context.Background(), w.stamp(pawl.CheckpointBeforeRestore))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := r.Apply(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return before
}

// export writes a snapshot into a new folder and returns it.
func (w *workspace) export(r Record) string {
	w.t.Helper()
	folder := filepath.Join(w.t.TempDir(), "out")
	if _, err := w.store.Export(context.Background(), r, r.Paths, folder); err != nil {
		w.t.Fatal(err)
	}
	return folder
}

// at gives what a snapshot has at a path: as describe does, or "nothing".
func (w *workspace) at(r Record, path string) string {
	w.t.Helper()
	e, err := w.store.At(r, path)
	w.must(err)
	switch {
	case e == nil:
		return "nothing"
	case e.Kind == Folder:
		return fmt.Sprintf("folder %04o", e.Mode)
	case e.Kind == Link:
		return "link to " + e.Target
	}
	data, err := w.store.read(*e)
	w.must(err)
	return fmt.Sprintf("file %04o %s", e.Mode, data)
}

// is fails unless this is at a path of the workspace.
func (w *workspace) is(path, want string) {
	w.t.Helper()
	got, err := describe(w.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		got, err = "nothing", nil
	}
	if err != nil || got != want {
		w.t.Errorf("%s is %.200q %v, want %.200q", path, got, err, want)
	}
}

// equal fails unless two lists are the same.
func equal(t testing.TB, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// leftOut lists what a snapshot left out, as "path (why)".
func (w *workspace) leftOut(r Record) []string {
	w.t.Helper()
	list, err := w.store.LeftOutOf(r)
	if err != nil {
		w.t.Fatal(err)
	}
	names := []string{}
	for _, l := range list {
		names = append(names, fmt.Sprintf("%s (%s)", l.Path, l.Why))
	}
	return names
}

// git runs git in the workspace, far from the settings of whoever runs the tests.
func (w *workspace) git(args ...string) string {
	w.t.Helper()
	return w.gitIn(".", args...)
}

// gitIn runs git in a folder inside or outside of the workspace.
func (w *workspace) gitIn(folder string, args ...string) string {
	w.t.Helper()
	w.sameGit()
	out := gitIn(w.t, filepath.Join(w.root, folder), args...)
	w.gits = w.lookAtGit()
	return out
}

// sameGit fails where anything of git's was touched by us: content, names, modes, times, inodes.
func (w *workspace) sameGit() {
	w.t.Helper()
	if diff := cmp.Diff(w.gits, w.lookAtGit()); diff != "" {
		w.t.Errorf("git's own files were touched:\n%s", diff)
	}
}

// lookAtGit says of every .git, and of all that is in it, how it looks.
func (w *workspace) lookAtGit() map[string]string {
	w.t.Helper()
	looks := map[string]string{}
	for _, top := range append([]string{w.root}, w.more...) {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENAMETOOLONG) {
				return nil
			}
			if err != nil || top == w.root && !strings.Contains(path+"/", "/.git/") {
				return err
			}
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return err
			}
			mtime, ctime := timesOf(&st)
			var sum [sha256.Size]byte
			if d.Type().IsRegular() {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				sum = sha256.Sum256(data)
			}
			looks[path] = fmt.Sprintf("%o %d %d %d %d %x", st.Mode, st.Size, st.Ino, mtime, ctime, sum[:8])
			return nil
		})
		w.must(err)
	}
	return looks
}

func gitIn(t testing.TB, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+folder,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// contents reads a folder whole: path → kind, mode and content. What never is content of a snapshot is passed over.
func contents(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.Name() == ".git" || d.Name() == ".pawl" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if name == "." {
			return nil
		}
		all[name], err = describe(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func describe(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		return "link to " + target, err
	case unix.S_IFDIR:
		return fmt.Sprintf("folder %04o", st.Mode&0o7777), nil
	case unix.S_IFREG:
		data, err := os.ReadFile(path)
		return fmt.Sprintf("file %04o %s", st.Mode&0o7777, data), err
	}
	return "special", nil
}

// same fails unless two folders hold the same.
func same(t testing.TB, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
