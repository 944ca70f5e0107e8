package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenBelow: neither way of opening ever follows a link, or leaves a descriptor open.
func TestOpenBelow(t *testing.T) {
	byComponent := func(root int, path string, flags int) (int, error) { return openByComponent(root, path, flags, 0) }
	for name, open := range map[string]func(int, string, int) (int, error){"in one call": OpenBelow, "step by step": byComponent} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "a/b/c"), []byte("1"), 0o600))
			must(t, os.Symlink("a", filepath.Join(dir, "link")))
			must(t, os.Symlink("c", filepath.Join(dir, "a/b/last")))
			must(t, os.Symlink("/", filepath.Join(dir, "a/root")))
			root, err := unix.Open(dir, folderFlags, 0)
			must(t, err)
			defer unix.Close(root)
			before := descriptors(t)
			const folder = unix.O_RDONLY | unix.O_DIRECTORY
			for _, c := range []struct {
				path  string
				flags int
				want  []error // any of these
			}{
				{".", folder, nil},
				{"a/b", folder, nil},
				{"a/b/c", unix.O_RDONLY, nil},
				{"a/b/c", folder, []error{unix.ENOTDIR}},
				{"a/b/c/d", folder, []error{unix.ENOTDIR}},
				{"a/none/c", unix.O_RDONLY, []error{unix.ENOENT}},
				{"link", folder, []error{unix.ELOOP, unix.ENOTDIR}},
				{"link/b", folder, []error{unix.ELOOP, unix.ENOTDIR}},
				{"a/b/last", unix.O_RDONLY, []error{unix.ELOOP}},
				{"a/root/etc", folder, []error{unix.ELOOP, unix.ENOTDIR}},
				{strings.Repeat("x/", 2048), folder, []error{unix.ENAMETOOLONG}},
			} {
				fd, err := open(root, c.path, c.flags)
				if err == nil {
					unix.Close(fd)
				}
				if !slices.ContainsFunc(c.want, func(want error) bool { return errors.Is(err, want) }) && (err != nil || len(c.want) > 0) {
					t.Errorf("%.20s: %v, want one of %v", c.path, err, c.want)
				}
			}
			if after := descriptors(t); !slices.Equal(before, after) {
				t.Errorf("open before: %q, after: %q", before, after)
			}
		})
	}
}

func TestExistsBelow(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "a/b/c"), nil, 0))
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	must(t, unix.Mkfifo(filepath.Join(dir, "a/pipe"), 0o600))
	folder, err := OpenFolder(dir)
	must(t, err)
	defer folder.Close()
	before := descriptors(t)
	for path, want := range map[string]bool{"a": true, "a/b/c": true, "a/pipe": true, "link": true, "a/none": false, "none/c": false, "a/b/c/d": false, "link/b/c": false, "../" + filepath.Base(dir): false} {
		if runtime.GOOS != "linux" && (path == "link" || path == "a/b/c") {
			continue // what cannot be opened
		}
		if got := ExistsBelow(int(folder.Fd()), path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if after := descriptors(t); !slices.Equal(before, after) {
		t.Errorf("open before: %q, after: %q", before, after)
	}
}

// world is a project with a file and a folder of the user's outside.
type world struct {
	*testing.T
	root, outside string
}

func newWorld(t *testing.T) world {
	w := world{T: t, root: t.TempDir(), outside: t.TempDir()}
	must(t, os.MkdirAll(w.path("runs"), 0o700))
	must(t, os.WriteFile(filepath.Join(w.outside, "secret"), []byte("secret\n"), 0o600))
	must(t, os.Mkdir(filepath.Join(w.outside, "empty"), 0o700))
	return w
}

func (w world) path(names ...string) string {
	return filepath.Join(append([]string{w.root, Guarded}, names...)...)
}

// unchanged fails the test if anything outside the project has changed.
func (w world) unchanged(what string) {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.outside, "secret"))
	names, _ := filepath.Glob(filepath.Join(w.outside, "*"))
	inside, _ := filepath.Glob(filepath.Join(w.outside, "empty/*"))
	if err != nil || string(data) != "secret\n" || len(names) != 2 || len(inside) != 0 {
		w.Fatalf("%s: changed files outside: %q, %v, %q, %q", what, data, err, names, inside)
	}
}

// calls are all functions that take a path, each for a file with this path.
func calls() map[string]func(path string) error {
	return map[string]func(path string) error{
		"Open":         func(p string) error { return closed(Open(p)) },
		"OpenWritable": func(p string) error { f, err := OpenWritable(p); return closed(f.File, err) },
		"OpenAppend":   func(p string) error { return closed(OpenAppend(p)) },
		"Create":       func(p string) error { f, err := Create(p); return closed(f.File, err) },
		"ReadFile":     func(p string) error { _, err := ReadFile(p, 100); return err },
		"AppendLine":   func(p string) error { return AppendLine(p, []byte("planted")) },
		"Clock":        func(p string) error { _, err := FileSystemClock(p); return err },
		"LinkFrom":     func(p string) error { return Link(p, p+".copy") },
	}
}

// folderCalls are functions that change a name in a folder, for a path whose folder is a link.
func folderCalls(w world) map[string]func(path string) error {
	source := w.path("source")
	more := map[string]func(path string) error{
		"Lstat":             func(p string) error { _, err := Lstat(p); return err },
		"Replace":           func(p string) error { return Replace(p, []byte("planted")) },
		"ReplacePreserving": func(p string) error { return ReplacePreserving(p, []byte("planted"), 0o600) },
		"Put":               func(p string) error { return Put(p, []byte("planted")) },
		"Remove":            Remove,
		"RemoveTree":        RemoveTree,
		"MakeFolders":       func(p string) error { return MakeFolders(filepath.Join(p, "new")) },
		"RenameTo":          func(p string) error { must(w.T, os.WriteFile(source, nil, 0o600)); return Rename(source, p) },
		"RenameFrom":        func(p string) error { return Rename(p, source) },
		"LinkTo":            func(p string) error { must(w.T, os.WriteFile(source, nil, 0o600)); return Link(source, p+".new") },
		"Symlink":           func(p string) error { return Symlink("/", p) },
		"SyncFolder":        func(p string) error { return SyncFolder(filepath.Dir(p)) },
		"ReadDir":           func(p string) error { _, err := ReadDir(filepath.Dir(p)); return err },
		"Glob":              func(p string) error { _, err := Glob(filepath.Dir(p), "*"); return err },
		"OpenFolder":        func(p string) error { f, err := OpenFolder(filepath.Dir(p)); return errors.Join(err, f.Close()) },
		"SyncFileSystem":    func(p string) error { _, err := SyncFileSystem(filepath.Dir(p)); return err },
	}
	for name, call := range calls() {
		more[name] = call
	}
	return more
}

func closed(f *os.File, err error) error {
	if err == nil {
		f.Close()
	}
	return err
}

// TestLastComponentIsALink: no call reads or writes through a link.
func TestLastComponentIsALink(t *testing.T) {
	for name, call := range calls() {
		for what, target := range map[string]string{"file": "secret", "new file": "new"} {
			w := newWorld(t)
			must(t, os.Symlink(filepath.Join(w.outside, target), w.path("x")))
			if err := call(w.path("x")); !errors.Is(err, ErrUnsafe) {
				t.Errorf("%s, link to a %s: %v", name, what, err)
			}
			w.unchanged(name)
		}
	}
}

// TestLinksAreReplaced: calls that give a new content replace or remove the link itself.
func TestLinksAreReplaced(t *testing.T) {
	for name, call := range map[string]func(string) error{
		"Replace":           func(p string) error { return Replace(p, []byte("new")) },
		"ReplacePreserving": func(p string) error { return ReplacePreserving(p, []byte("new"), 0o600) },
		"Put":               func(p string) error { return Put(p, []byte("new")) },
		"Put, temp": func(p string) error {
			must(t, os.Rename(p, p+".temp"))
			return PutBy(p+".temp", p, []byte("new"))
		},
	} {
		w := newWorld(t)
		must(t, os.Symlink(filepath.Join(w.outside, "secret"), w.path("x")))
		must(t, call(w.path("x")))
		if data, err := ReadFile(w.path("x"), 3); err != nil || string(data) != "new" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		w.unchanged(name)
	}
	for name, call := range map[string]func(string) error{"Remove": Remove, "RemoveTree": func(p string) error { return RemoveTree(filepath.Dir(p)) }} {
		w := newWorld(t)
		must(t, os.MkdirAll(w.path("d", "below"), 0o700))
		must(t, os.Symlink(w.outside, w.path("d", "x")))
		must(t, call(w.path("d", "x")))
		if Exists(w.path("d", "x")) {
			t.Errorf("%s: the link is still there", name)
		}
		w.unchanged(name)
	}
}

// TestParentIsALink: no call follows a link in the middle of a path, nor .pawl itself if that is a link.
func TestParentIsALink(t *testing.T) {
	for name := range folderCalls(world{T: t}) {
		for what, plant := range map[string]func(w world) string{
			"a folder": func(w world) string {
				must(t, os.Symlink(w.outside, w.path("x")))
				return w.path("x", "secret")
			},
			".pawl": func(w world) string {
				must(t, os.RemoveAll(w.path()))
				must(t, os.Symlink(w.outside, w.path()))
				return w.path("secret")
			},
		} {
			w := newWorld(t)
			path := plant(w)
			if strings.HasPrefix(name, "LinkTo") || strings.HasPrefix(name, "Rename") {
				if what == ".pawl" {
					continue // the other path is in the same folder
				}
			}
			if err := folderCalls(w)[name](path); !errors.Is(err, ErrUnsafe) {
				t.Errorf("%s, %s is a link: %v", name, what, err)
			}
			w.unchanged(name)
		}
	}
}

// TestSpecialFiles: nothing waits for a pipe or reads a device.
func TestSpecialFiles(t *testing.T) {
	for what, plant := range map[string]func(path string) error{
		"pipe":   func(p string) error { return unix.Mkfifo(p, 0o600) },
		"socket": func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		for name, call := range calls() {
			w := newWorld(t)
			must(t, plant(w.path("x")))
			err := call(w.path("x"))
			if err == nil || !strings.Contains(err.Error(), w.path("x")) || what != "folder" && !errors.Is(err, ErrUnsafe) {
				t.Errorf("%s of a %s: %v", name, what, err)
			}
		}
	}
}

// TestOtherUsers: a file of another user is refused below .pawl and read elsewhere. Only root can make one.
func TestOtherUsers(t *testing.T) {
	w := newWorld(t)
	must(t, os.WriteFile(w.path("x"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(w.root, "x"), nil, 0o644))
	if _, err := ReadFile(w.path("x"), 1); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chown(w.path("x"), 12345, -1), os.Chown(filepath.Join(w.root, "x"), 12345, -1)); err != nil {
		t.Logf("not root: %v", err)
		return
	}
	for name, call := range calls() {
		if err := call(w.path("x")); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "12345") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadFile(filepath.Join(w.root, "x"), 1); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, os.WriteFile(w.path("x"), make([]byte, 100), 0o600))
	if data, err := ReadFile(w.path("x"), 100); err != nil || len(data) != 100 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := ReadFile(w.path("x"), 99); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte too many: %v", err)
	}
	must(t, os.Truncate(w.path("x"), 1<<40))
	if _, err := ReadFile(w.path("x"), ConfigLimit); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("a sparse file: %v", err)
	}
	for _, path := range []string{"/dev/zero", "/proc/self/status"} { // elsewhere
		if _, err := ReadFile(path, 10); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}

// TestLinksAbove: links above .pawl are the user's own, and ".." below it is refused.
func TestLinksAbove(t *testing.T) {
	w := newWorld(t)
	must(t, os.Symlink(w.root, filepath.Join(w.outside, "link")))
	through := filepath.Join(w.outside, "link", Guarded)
	must(t, Replace(filepath.Join(through, "x"), []byte("1")))
	if data, err := ReadFile(w.path("x"), 1); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	must(t, MakeFolders(filepath.Join(through, "runs", "a", "b")))
	if _, err := Open(w.root + "/.pawl/runs/../../x"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("..: %v", err)
	}
	t.Chdir(w.root)
	if data, err := ReadFile(".pawl/x", 1); err != nil || string(data) != "1" {
		t.Errorf("relative: %q, %v", data, err)
	}
}

// TestWalkDir visits as filepath.WalkDir does, and no link.
func TestWalkDir(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"a/1", "a/skip/2", "b/3"} {
		must(t, MakeFolders(filepath.Dir(w.path(name))))
		must(t, Put(w.path(name), nil))
	}
	must(t, os.Symlink(w.outside, w.path("b/link")))
	visit := func(seen *[]string) fs.WalkDirFunc {
		return func(path string, d fs.DirEntry, err error) error {
			*seen = append(*seen, path)
			if d != nil && d.Name() == "skip" {
				return fs.SkipDir
			}
			return err
		}
	}
	var got, want []string
	must(t, WalkDir(w.path(), visit(&got)))
	must(t, filepath.WalkDir(w.path(), visit(&want)))
	if !slices.Equal(got, want) || len(got) < 8 {
		t.Errorf("%q, want %q", got, want)
	}
	if err := WalkDir(w.path("b/link"), visit(new([]string))); err != nil {
		t.Errorf("a link is visited as a file: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// descriptors lists what this process has open.
func descriptors(t *testing.T) []string {
	t.Helper()
	links, err := filepath.Glob("/dev/fd/*")
	must(t, err)
	var open []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			open = append(open, target)
		}
	}
	slices.Sort(open)
	return open
}

// TestHardLinks: below .pawl a file with another name is read but never opened for writing, unless the caller knows the name.
func TestHardLinks(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, Guarded), 0o700))
	victim, path, own := filepath.Join(dir, "victim"), filepath.Join(dir, Guarded, "f"), filepath.Join(dir, Guarded, "own")
	must(t, os.WriteFile(victim, []byte("precious\n"), 0o644))
	must(t, os.Link(victim, path))
	appended := func(path string) error { return AppendLine(path, []byte("x")) }
	for name, open := range map[string]func(string) error{
		"create": func(path string) error { _, err := Create(path); return err },
		"write":  func(path string) error { _, err := OpenWritable(path, own, path+"-missing"); return err },
		"append": func(path string) error { _, err := OpenAppend(path); return err },
		"line":   appended,
		"clock":  func(path string) error { _, err := FileSystemClock(path); return err },
	} {
		if err := open(path); !errors.Is(err, ErrLinked) || !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "2 names (hard links)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, err := ReadFile(path, 100); err != nil || string(data) != "precious\n" {
		t.Errorf("read %q, %v", data, err)
	}
	must(t, appended(victim)) // outside, links are the caller's
	info, err := os.Stat(victim)
	must(t, err)
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v", info.Mode())
	}
	must(t, Replace(path, []byte("ours\n")))
	must(t, os.Link(path, own))
	f, err := OpenWritable(path, own)
	must(t, err)
	must(t, f.Close())
}
