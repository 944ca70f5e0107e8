package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
)

var today = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRegisterAndList(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	if entries, err := List(); entries != nil || err != nil {
		t.Errorf("empty registry: %v, %v", entries, err)
	}
	p := fresh(t, "work")
	steps := []struct {
		status  pawl.RunStatus
		at      time.Time
		want    pawl.RunStatus
		updated time.Time
	}{
		{"active", today, "active", today},
		{"active", today.Add(time.Hour), "active", today}, // nothing changed, nothing written
		{"", today.Add(time.Hour), "active", today},
		{"completed", today.Add(time.Hour), "completed", today.Add(time.Hour)},
	}
	for _, step := range steps {
		if notices := p.Register(step.status, step.at); notices != nil {
			t.Error(notices)
		}
		want := Entry{ID: p.ID, Path: p.Root, Status: step.want, Updated: step.updated, Consent: trusted}
		if entries, err := List(); err != nil || len(entries) != 1 || entries[0] != want || !entries[0].Live() {
			t.Errorf("%v, %v; want %v", entries, err, want)
		}
	}
	write(t, filepath.Join(os.Getenv("XDG_STATE_HOME"), "pawl/projects", "0197a3b2-0000-7000-8000-000000000000.json"), "{")
	if entries, err := List(); len(entries) != 1 || err == nil {
		t.Errorf("with a damaged entry: %v, %v", entries, err)
	}
}

func TestMovedFolderIsMended(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	root := freshAt(t, home, "old")
	id := tell(t, root, home, "register")
	moved := filepath.Join(filepath.Dir(root), "new")
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	if said, want := tell(t, moved, home, "register"), "this project has moved from "+root+" to "+moved+"\n"+id; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	if said := tell(t, moved, home, "register"); said != id {
		t.Errorf("a second time: %q, want %q", said, id)
	}
	if entry := entryOf(t, home, strings.TrimSpace(strings.TrimPrefix(id, "id "))); !strings.Contains(entry, moved) {
		t.Errorf("registry: %s", entry)
	}
}

// TestForeignIdentity replaces project.json, as a pull can. The trust record decides, so Register writes the file anew.
func TestForeignIdentity(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	root := freshAt(t, home, "work")
	id := tell(t, root, home, "register")
	path := filepath.Join(root, Folder, "project.json")
	write(t, path, `{"format":1,"id":"0197a3b2-0000-7000-8000-000000000000","path":"/elsewhere"}`)
	if got := tell(t, root, home, "register"); got != id {
		t.Errorf("%q, want %q", got, id)
	}
	if got := read(t, path); !strings.Contains(got, strings.TrimSpace(strings.TrimPrefix(id, "id "))) || !strings.Contains(got, root) {
		t.Errorf("project.json: %s", got)
	}
}

// TestCopyIsUntrusted copies a project with all its files. The copy is untrusted as long as the original exists.
func TestCopyIsUntrusted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	root := freshAt(t, home, "original")
	id := tell(t, root, home, "register")
	twin := filepath.Join(filepath.Dir(root), "copy")
	if err := os.CopyFS(twin, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if got, want := tell(t, twin, home, "register"), "untrusted: it is a copy of the project at "+root+"\n"; got != want {
		t.Errorf("the copy: %q, want %q", got, want)
	}
	if err := os.Rename(root, root+"-moved"); err != nil {
		t.Fatal(err)
	}
	if got := tell(t, root+"-moved", home, "register"); got != "this project has moved from "+root+" to "+root+"-moved\n"+id {
		t.Errorf("the moved original: %q", got)
	}
	if got := tell(t, twin, home, "register"); !strings.HasPrefix(got, "untrusted: it is a copy") {
		t.Errorf("the copy, after the original moved: %q", got)
	}
}

// TestRegistryTroubleIsANotice makes the folder of the registry a file. Registering reports that as a notice.
func TestRegistryTroubleIsANotice(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	root := freshAt(t, home, "work")
	write(t, filepath.Join(home, ".local/state/pawl/projects"), "")
	if said := tell(t, root, home, "register"); !strings.Contains(said, "cannot register this project") {
		t.Errorf("%q", said)
	}
}

func entryOf(t *testing.T, home, id string) string {
	t.Helper()
	return read(t, filepath.Join(home, ".local/state/pawl/projects", id+".json"))
}
