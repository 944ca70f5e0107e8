package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenBelow: neither way of opening ever follows a link, or leaves a descriptor open.
func TestOpenBelow(t *testing.T) {
	for name, open := range map[string]func(int, string, int) (int, error){"in one call": openBelow, "step by step": openByComponent} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.write("a/b/c", "1")
			w.must(os.Symlink("a", w.path("link")))
			w.must(os.Symlink("c", w.path("a/b/last")))
			w.must(os.Symlink("/", w.path("a/root")))
			root, err := openFolder(w.root)
			w.must(err)
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

// TestNoDescriptorStaysOpen after snapshots, restores, and both of them gone wrong.
func TestNoDescriptorStaysOpen(t *testing.T) {
	w := newWorkspace(t)
	w.write("a/b", "1")
	w.write("lib", "1")
	then := w.take()
	before := descriptors(t)
	w.write("a/b", "2")
	w.write("a/c/d", "2")
	w.restore(then)
	w.must(os.Remove(w.path("lib")))
	w.must(unix.Mkfifo(w.path("lib"), 0o600))
	if _, err := w.store.Prepare(t.Context(), then, nil); err == nil {
		t.Error("a pipe is no obstacle")
	}
	w.must(os.Remove(w.path("lib")))
	w.export(then)
	if _, err := w.store.Export(t.Context(), then, nil, w.root); err == nil {
		t.Error("written into a folder that is not empty")
	}
	if after := descriptors(t); len(after) > len(before) {
		t.Errorf("open before: %q, after: %q", before, after)
	}
}

// descriptors lists what this process has open.
func descriptors(t *testing.T) []string {
	t.Helper()
	links, err := filepath.Glob("/dev/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			open = append(open, target)
		}
	}
	slices.Sort(open)
	return open
}
