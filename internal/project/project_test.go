package project

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pawl"
	"pawl/internal/journal"
)

func TestInitTwiceKeepsTheProject(t *testing.T) {
	t.Parallel()
	first := fresh(t, "work")
	before := read(t, first.path("project.json"))
	second, err := Init(first.Root)
	if err != nil || !reflect.DeepEqual(second, first) {
		t.Fatalf("second init: %+v, %v; want %+v", second, err, first)
	}
	if after := read(t, first.path("project.json")); after != before {
		t.Errorf("project.json changed:\n%s\n%s", before, after)
	}
	if id, err := uuid.Parse(first.ID); err != nil || id.Version() != 7 {
		t.Errorf("id %s: version %d, %v", first.ID, id.Version(), err)
	}
	for path, want := range map[string]os.FileMode{first.Home(): 0o700, first.path("project.json"): 0o600, first.path(".gitignore"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

func TestFindLooksUpwards(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	deep := filepath.Join(p.Root, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(deep, link); err != nil {
		t.Fatal(err)
	}
	for _, start := range []string{p.Root, deep, link} {
		found, err := Find(start)
		if err != nil || !reflect.DeepEqual(found, p) {
			t.Errorf("from %s: %+v, %v; want %+v", start, found, err, p)
		}
	}
	if _, err := Find(filepath.Dir(p.Root)); !errors.Is(err, pawl.ErrNoProject) {
		t.Errorf("above the project: %v", err)
	}
}

func TestRootAndHomeAreNoProjects(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for folder, name := range map[string]string{"/": "the root of the file system", home: "your home folder"} {
		_, err := Init(folder)
		if pawl.KindOf(err) != pawl.KindUsage || !strings.Contains(err.Error(), name) || pawl.HintOf(err) == "" {
			t.Errorf("init %s: %v", folder, err)
		}
	}
	if err := os.Mkdir(filepath.Join(home, Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(home); !errors.Is(err, pawl.ErrNoProject) {
		t.Errorf("find in a home with .pawl: %v", err)
	}
}

// TestCloneIsUntrusted finds the .pawl of a clone. It changes nothing in it, and neither does Init.
func TestCloneIsUntrusted(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, Folder, "MEMORY.md"), "# Memory\n")
	for name, open := range map[string]func(string) (*Project, error){"find": Find, "init": Init} {
		p, err := open(root)
		if err != nil || p.Trust.Trusted() {
			t.Fatalf("%s: %+v, %v", name, p, err)
		}
		if err := p.Trusted(); pawl.KindOf(err) != pawl.KindDamaged || pawl.HintOf(err) != "pawl trust" {
			t.Errorf("%s: %v", name, err)
		}
		if notices := p.Register("active", today); notices != nil {
			t.Errorf("%s: %v", name, notices)
		}
		if names, err := os.ReadDir(p.Home()); err != nil || len(names) != 1 {
			t.Errorf("%s: the folder holds %v, %v", name, names, err)
		}
	}
}

// TestCommitsOfACloneAreNotReplayed finds a clone that brings a commit log. It stays as it is, and no run is made of it.
func TestCommitsOfACloneAreNotReplayed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	runs := filepath.Join(root, Folder, "runs")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	const hostile = "commit evil-20260101-000000-abcd 3 00000000\nabc"
	path := filepath.Join(runs, journal.CommitsName)
	write(t, path, hostile)
	p, err := Find(root)
	if err != nil || p.Trust.Trusted() {
		t.Fatalf("%+v, %v", p, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != hostile {
		t.Errorf("the log is now %q, %v", data, err)
	}
	if names, err := os.ReadDir(runs); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}

// TestLinkIsRefused does not follow a .pawl that is a symbolic link, for example to another project.
func TestLinkIsRefused(t *testing.T) {
	t.Parallel()
	p, root := fresh(t, "work"), t.TempDir()
	if err := os.Symlink(p.Home(), filepath.Join(root, Folder)); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(root); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestBadIdentity damages project.json. The trust record knows the id, so Find writes the file anew and keeps the damaged one.
func TestBadIdentity(t *testing.T) {
	t.Parallel()
	const id = "0197a3b2-0000-7000-8000-000000000000"
	for name, content := range map[string]string{
		"empty": "", "no json": "hello", "no id": `{"format":1}`, "id as path": `{"format":1,"id":"../../x"}`, "large": strings.Repeat(" ", maxIdentity+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t, "work")
			write(t, p.path("project.json"), content)
			found, err := Find(p.Root)
			if err != nil || found.ID != p.ID {
				t.Fatalf("%+v, %v; want %s", found, err, p.ID)
			}
			if aside, err := filepath.Glob(p.path("project.json.damaged-*")); err != nil || len(aside) != 1 || read(t, aside[0]) != content {
				t.Errorf("kept: %v, %v", aside, err)
			}
			if who, err := p.identity(); err != nil || who.ID != p.ID {
				t.Errorf("written: %+v, %v", who, err)
			}
		})
	}
	p := fresh(t, "newer")
	write(t, p.path("project.json"), `{"format":2,"id":"`+id+`"}`)
	if _, err := Find(p.Root); !errors.Is(err, pawl.ErrNewer) {
		t.Errorf("a newer format: %v", err)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	p := &Project{Root: "/w"}
	const run = "demo-20260102-030405-abcd"
	tests := map[string]string{
		p.AttemptDir(pawl.AttemptRef{Step: "s", Attempt: 2}, run):            "/w/.pawl/runs/" + run + "/steps/s/2",
		p.AttemptDir(pawl.AttemptRef{Step: "s", Item: "i", Attempt: 2}, run): "/w/.pawl/runs/" + run + "/steps/s/i/2",
		p.PlanFile(run, 1):      "/w/.pawl/runs/" + run + "/plan.yaml",
		p.PlanFile(run, 3):      "/w/.pawl/runs/" + run + "/plan.3.yaml",
		p.SummaryFile(run, "s"): "/w/.pawl/runs/" + run + "/SUMMARY-s.md",
		p.OutDir(run, "s"):      "/w/artifacts/" + run + "/s",
	}
	for got, want := range tests {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
