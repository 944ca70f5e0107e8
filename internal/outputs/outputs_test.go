package outputs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pawl"
	"pawl/internal/outputs"
)

// workspace makes files below a new folder: name → content; a name that ends with '/' is a folder.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func hash(t *testing.T, root string, declared ...string) pawl.Outputs {
	t.Helper()
	found, err := outputs.Hash(root, declared)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHashNamesFilesFoldersAndMatches(t *testing.T) {
	t.Parallel()
	root := workspace(t, map[string]string{"a.txt": "abc", "d/x": "1", "d/e/y": "22", "m/1.md": "", "m/2.md": "", "odd*name": "!"})
	found := hash(t, root, "a.txt", "d", "m/*.md", "odd*name", "./d/../a.txt")
	want := pawl.Content{SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Size: 3}
	if found["a.txt"] != want {
		t.Errorf("a.txt: %+v, want %+v", found["a.txt"], want)
	}
	if d := found["d"]; d.Files != 2 || d.Size != 3 {
		t.Errorf("d: %+v, want 2 files of 3 bytes", d)
	}
	paths := make([]string, 0, len(found))
	for p := range found {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	if want := []string{"a.txt", "d", "m/1.md", "m/2.md", "odd*name"}; !reflect.DeepEqual(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
}

func TestFolderHashSeesEveryChange(t *testing.T) {
	t.Parallel()
	root := workspace(t, map[string]string{"d/x": "1", "d/e/y": "2"})
	seen := map[string]string{}
	check := func(what string) {
		t.Helper()
		sum := hash(t, root, "d")["d"].SHA256
		if before, twice := seen[sum]; twice {
			t.Errorf("%s gives the hash of %s", what, before)
		}
		seen[sum] = what
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check("the beginning")
	do(os.WriteFile(filepath.Join(root, "d/x"), []byte("3"), 0o644))
	check("another content")
	do(os.Chmod(filepath.Join(root, "d/x"), 0o755))
	check("an executable file")
	do(os.Rename(filepath.Join(root, "d/x"), filepath.Join(root, "d/z")))
	check("another name")
	do(os.Mkdir(filepath.Join(root, "d/empty"), 0o755))
	check("an empty folder")
	do(os.Symlink("z", filepath.Join(root, "d/link")))
	check("a link")
}

func TestManyMatchesAreOneContent(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 70 {
		files[fmt.Sprintf("p/%d.md", i)] = "x"
	}
	root := workspace(t, files)
	before := hash(t, root, "p/*.md")
	if len(before) != 1 || before["p/*.md"].Files != 70 || before["p/*.md"].Size != 70 {
		t.Fatalf("%+v, want one content of 70 files", before)
	}
	if err := os.WriteFile(filepath.Join(root, "p/69.md"), []byte("y"), 0o644); err != nil {
		t.Fatal(err)
	}
	now, err := outputs.HashOne(root, "p/*.md")
	if err != nil || now == before["p/*.md"] {
		t.Errorf("after a change: %+v, %v", now, err)
	}
}

func TestMissingPathsAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	root := workspace(t, map[string]string{"a": ""})
	_, err := outputs.Hash(root, []string{"b", "a", "c/*.md"})
	missing, ok := errors.AsType[*outputs.MissingError](err)
	if !ok || !reflect.DeepEqual(missing.Paths, []string{"b", "c/*.md"}) {
		t.Errorf("error %v, want b and c/*.md missing", err)
	}
	if err := outputs.Sync(root, []string{"b"}); err == nil {
		t.Error("Sync of a missing path succeeded")
	}
}

func TestLinksOutOfTheWorkspaceAreRefused(t *testing.T) {
	t.Parallel()
	outside := workspace(t, map[string]string{"secret": "s"})
	root := workspace(t, map[string]string{"in/file": "f"})
	for name, target := range map[string]string{"file": filepath.Join(outside, "secret"), "folder": outside, "fine": "in/file"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"file", "folder", "folder/secret"} {
		_, hashErr := outputs.Hash(root, []string{path})
		syncErr := outputs.Sync(root, []string{path})
		for _, err := range []error{hashErr, syncErr} {
			if _, ok := errors.AsType[*outputs.EscapeError](err); !ok {
				t.Errorf("%s: %v, want an EscapeError", path, err)
			}
		}
	}
	if _, err := outputs.Hash(root, []string{"fine"}); err != nil {
		t.Errorf("a link inside: %v", err)
	}
}

func TestALinkIsWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	root := workspace(t, map[string]string{"releases/1/page": "old"})
	if err := os.Symlink("releases/1", filepath.Join(root, "current")); err != nil {
		t.Fatal(err)
	}
	before := hash(t, root, "current")["current"]
	if before.Files != 1 {
		t.Errorf("%+v, want one file", before)
	}
	if err := os.WriteFile(filepath.Join(root, "releases/1/page"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if now := hash(t, root, "current")["current"]; now == before {
		t.Error("a change behind the link was not seen")
	}
	if err := outputs.Sync(root, []string{"current"}); err != nil {
		t.Error(err)
	}
}

func TestSyncManyFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("d/%d/f", i)] = "x"
	}
	root := workspace(t, files)
	if err := outputs.Sync(root, []string{"d", "d/*/f"}); err != nil {
		t.Error(err)
	}
}

func TestBegun(t *testing.T) {
	t.Parallel()
	root := workspace(t, map[string]string{
		"full": "x", "empty": "", "folder/in": "", "bare/": "", "a1.txt": "", "a2.txt": "x", "b1.txt": "",
	})
	for declared, want := range map[string]bool{
		"full": true, "empty": false, "folder": true, "bare": false, "a*.txt": true, "b*.txt": false, "none": false,
	} {
		if got := outputs.HasContent(root, declared); got != want {
			t.Errorf("%s: %v, want %v", declared, got, want)
		}
	}
}

// Durable is Sync and Hash, in a folder that is reached through a link too.
func TestDurable(t *testing.T) {
	t.Parallel()
	root := workspace(t, map[string]string{"d/e/x": "1", "f": "2"})
	for name, target := range map[string]string{"in": "d", "d/up": "../f", "far": os.TempDir(), "none": "missing"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(root, linked); err != nil {
		t.Fatal(err)
	}
	declared := []string{"f", "d/e", "in/e/x", "in/up"}
	want := hash(t, root, declared...)
	for _, from := range []string{root, linked} {
		if got, err := outputs.Durable(from, declared); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("in %s: %+v, %v, want %+v", from, got, err, want)
		}
		for path, says := range map[string]any{"far": new(*outputs.EscapeError), "none": new(*outputs.MissingError), "f/x": nil, "../x": new(*outputs.MissingError)} {
			if _, err := outputs.Durable(from, []string{path}); err == nil || says != nil && !errors.As(err, says) {
				t.Errorf("%s in %s: %v", path, from, err)
			}
		}
	}
	if want["in/e/x"].Size != 1 || want["in/up"] != want["f"] {
		t.Errorf("%+v", want)
	}
}
