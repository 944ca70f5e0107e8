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
		want := Entry{ID: p.ID, Path: p.Root, Status: step.want, Updated: step.updated}
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
	home, p := t.TempDir(), fresh(t, "old")
	tell(t, p.Root, home, "register")
	moved := filepath.Join(filepath.Dir(p.Root), "new")
	if err := os.Rename(p.Root, moved); err != nil {
		t.Fatal(err)
	}
	if said, want := tell(t, moved, home, "register"), "this project has moved from "+p.Root+" to "+moved+"\nid "+p.ID+"\n"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	if said, want := tell(t, moved, home, "register"), "id "+p.ID+"\n"; said != want {
		t.Errorf("a second time: %q, want %q", said, want)
	}
	if entry := entryOf(t, home, p.ID); !strings.Contains(entry, moved) {
		t.Errorf("registry: %s", entry)
	}
}

// A damaged project.json is written anew where the registry or the runs say who the project is, and kept.
func TestDamagedIdentityIsMended(t *testing.T) {
	t.Parallel()
	home, p := t.TempDir(), fresh(t, "work")
	tell(t, p.Root, home, "register")
	write(t, p.path("project.json"), "{")
	said := tell(t, p.Root, home, "register")
	if !strings.Contains(said, "project.json was damaged; it is kept as project.json.damaged-") || !strings.HasSuffix(said, "id "+p.ID+"\n") {
		t.Errorf("by the registry: %q, want %s", said, p.ID)
	}
	if aside, err := filepath.Glob(p.path("project.json.damaged-*")); err != nil || len(aside) != 1 || read(t, aside[0]) != "{" {
		t.Errorf("kept: %v, %v", aside, err)
	}
	moved := filepath.Join(filepath.Dir(p.Root), "new")
	if err := os.Rename(p.Root, moved); err != nil {
		t.Fatal(err)
	}
	p.Root = moved
	write(t, p.path("project.json"), "{")
	journal := filepath.Join(p.Runs(), "demo-20260102-030405-abcd", "journal.jsonl")
	if err := os.MkdirAll(filepath.Dir(journal), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, journal, `{"seq":1,"data":{"format":1,"project":"`+p.ID+`"}}`+"\n")
	if said := tell(t, p.Root, home, "register"); !strings.HasSuffix(said, "id "+p.ID+"\n") {
		t.Errorf("by its run: %q, want %s", said, p.ID)
	}
}

func TestCopyBecomesAProjectOfItsOwn(t *testing.T) {
	t.Parallel()
	home, p := t.TempDir(), fresh(t, "original")
	tell(t, p.Root, home, "register")
	twin := filepath.Join(filepath.Dir(p.Root), "copy")
	if err := os.CopyFS(twin, os.DirFS(p.Root)); err != nil {
		t.Fatal(err)
	}
	said := tell(t, twin, home, "register")
	notice, id, _ := strings.Cut(said, "\nid ")
	id = strings.TrimSpace(id)
	if !strings.Contains(notice, "copy of the project at "+p.Root) || id == p.ID || checkID(id) != nil {
		t.Errorf("the copy said %q", said)
	}
	if said := tell(t, p.Root, home, "register"); said != "id "+p.ID+"\n" {
		t.Errorf("the original said %q", said)
	}
	if said := tell(t, twin, home, "register"); said != "id "+id+"\n" {
		t.Errorf("the copy said later %q", said)
	}
	if !strings.Contains(entryOf(t, home, p.ID), p.Root) || !strings.Contains(entryOf(t, home, id), twin) {
		t.Error("the registry does not have both")
	}
}

// The registry alone knows it when a folder comes back from a backup while its project lives elsewhere.
func TestRestoredBackupIsACopy(t *testing.T) {
	t.Parallel()
	home, p := t.TempDir(), fresh(t, "a")
	tell(t, p.Root, home, "register")
	backup := filepath.Join(t.TempDir(), "backup")
	moved := filepath.Join(filepath.Dir(p.Root), "b")
	if err := os.CopyFS(backup, os.DirFS(p.Root)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.Root, moved); err != nil {
		t.Fatal(err)
	}
	tell(t, moved, home, "register")
	if err := os.CopyFS(p.Root, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	if said := tell(t, p.Root, home, "register"); !strings.Contains(said, "copy of the project at "+moved) {
		t.Errorf("the backup said %q", said)
	}
}

func TestCopyRegisteredByManyAtOnce(t *testing.T) {
	t.Parallel()
	home, p := t.TempDir(), fresh(t, "original")
	twin := filepath.Join(filepath.Dir(p.Root), "copy")
	if err := os.CopyFS(twin, os.DirFS(p.Root)); err != nil {
		t.Fatal(err)
	}
	said := make(chan string)
	for range 4 {
		cmd := another(t, twin, home, "register")
		go func() {
			out, err := cmd.Output()
			if err != nil {
				out = []byte(err.Error())
			}
			said <- string(out)
		}()
	}
	ids, notices := map[string]bool{}, 0
	for range 4 {
		notice, id, _ := strings.Cut("\n"+<-said, "\nid ")
		ids[id] = true
		if notice != "" {
			notices++
		}
	}
	if len(ids) != 1 || notices != 1 {
		t.Errorf("ids %v, %d notices; want one of each", ids, notices)
	}
}

func TestRegistryTroubleIsANotice(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, home := range []string{"", file} {
		if said := tell(t, p.Root, home, "register"); !strings.Contains(said, "cannot register this project") || !strings.HasSuffix(said, "id "+p.ID+"\n") {
			t.Errorf("home %q: %q", home, said)
		}
	}
}

func entryOf(t *testing.T, home, id string) string {
	t.Helper()
	return read(t, filepath.Join(home, ".local/state/pawl/projects", id+".json"))
}
