package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pawl"
)

func TestInitTwiceKeepsTheProject(t *testing.T) {
	t.Parallel()
	first := fresh(t, "work")
	before := read(t, first.path("project.json"))
	second, err := Init(first.Root)
	if err != nil || *second != *first {
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
		if err != nil || *found != *p {
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

// A clone has what was committed of .pawl, and nothing else.
func TestFindCompletesAClone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	gitignore, memory := filepath.Join(root, Folder, ".gitignore"), filepath.Join(root, Folder, "MEMORY.md")
	write(t, gitignore, "mine\n")
	write(t, memory, "# Memory\n")
	p, err := Find(root)
	if err != nil || p.ID == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	again, err := Find(root)
	if err != nil || again.ID != p.ID {
		t.Errorf("a second find: %+v, %v; want %s", again, err, p.ID)
	}
	if read(t, gitignore) != "mine\n" || read(t, memory) != "# Memory\n" {
		t.Error("what was there has changed")
	}
}

func TestBadIdentity(t *testing.T) {
	t.Parallel()
	const id = "0197a3b2-0000-7000-8000-000000000000"
	tests := map[string]struct {
		content string
		kind    pawl.Kind
	}{
		"empty":        {"", pawl.KindDamaged},
		"no json":      {"hello", pawl.KindDamaged},
		"no id":        {`{"format":1}`, pawl.KindDamaged},
		"id as path":   {`{"format":1,"id":"../../x"}`, pawl.KindDamaged},
		"newer format": {`{"format":2,"id":"` + id + `"}`, pawl.KindDamaged},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t, "work")
			write(t, p.path("project.json"), test.content)
			_, err := Find(p.Root)
			if pawl.KindOf(err) != test.kind || !strings.Contains(err.Error(), "project.json") || pawl.HintOf(err) == "" {
				t.Errorf("%v (hint %q)", err, pawl.HintOf(err))
			}
			if read(t, p.path("project.json")) != test.content {
				t.Error("the bad file was changed")
			}
		})
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
