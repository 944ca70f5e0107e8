package grid_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/grid"
)

// FuzzRead reads folders of any content, given as txtar. Nothing may panic, what is read is plain data, and no path that
// it names leads out of the project.
func FuzzRead(f *testing.F) {
	addFixtures(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files, log := unpacked(data)
		r, findings := grid.Format().Read(files, format.Env{Now: now, Commits: log})
		if _, err := json.Marshal([]any{r, findings}); err != nil {
			t.Fatal(err)
		}
		for _, name := range pathsOf(r) {
			if clean, err := format.Inside(name); err != nil || clean != name {
				t.Fatalf("%q leads out of the project", name)
			}
		}
		grid.Format().Verify(files, format.Env{Now: now, Exists: func(name string) bool {
			if clean, err := format.Inside(name); err != nil || clean != name {
				t.Fatalf("%q was looked for", name)
			}
			return false
		}, HasCommit: func(string) bool { return false }})
	})
}

// FuzzWrite writes a run into folders of any content. What is written is of The Grid, and written once.
func FuzzWrite(f *testing.F) {
	addFixtures(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files, _ := unpacked(data)
		s := begin(t, blogPlan, files)
		s.memories = []pawl.Memory{{Kind: pawl.Gotcha, Text: "a: \"b\""}, {Kind: pawl.Fragile, Text: "c"}}
		s.items["layout"] = []format.Item{{ID: "a", Name: "x", Status: pawl.ItemIsDone}, {ID: "b", Status: pawl.ItemRunning}}
		s.Add(pawl.EngineStarted{Epoch: 1, PID: 1}, started("setup", 1), done("setup", 1, nil), started("layout", 1),
			pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no disk"}}, pawl.DecisionMade{Decision: pawl.Decision{Question: "q", Choice: "c"}})
		if len(data)%3 == 0 { // as if these files had been imported
			read, _ := grid.Format().Read(files, format.Env{Now: now})
			for _, g := range read.Gates {
				s.Add(pawl.GateOpened{Gate: g.Gate})
			}
			s.Add(pawl.RunImported{System: "grid"})
		}
		status := []pawl.RunStatus{pawl.StatusInterrupted, pawl.StatusActive, pawl.StatusFailed, pawl.StatusCompleted}[len(data)%4]
		v := s.view(format.Exported, status)
		for _, reply := range grid.Format().Answers(files, v) {
			if g := v.State.Gate(reply.Gate); g == nil || !g.Open() {
				t.Fatalf("%v is no answer", reply)
			}
		}
		for _, file := range grid.Format().Write(s.disk, v) {
			if !strings.Contains("/"+file.Path, "/.grid/") && !strings.HasSuffix(file.Path, "-SUMMARY.md") {
				t.Fatalf("%s was written", file.Path)
			}
			s.disk = formattest.Without(s.disk, file.Path)
			if file.Data != nil {
				s.disk = append(s.disk, file)
			}
		}
		if again := grid.Format().Write(s.disk, v); len(again) > 0 {
			old := s.disk.Find(again[0].Path)
			t.Fatalf("%s: %s is written again:\n%v\n---\n%s", status, again[0].Path, old, again[0].Data)
		}
	})
}

func addFixtures(f *testing.F) {
	names, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(txtar.Format(archive))
		f.Add([]byte(strings.ReplaceAll(string(txtar.Format(archive)), "\n", "\r\n")))
	}
	f.Add([]byte("-- .grid/STATE.md --\n# Grid State - sh\x00\x00\x00\x80r")) // a name that is no UTF-8
	f.Add([]byte("-- .grid/WARMTH.md --\n---\ngotchas:\n- \"x\n@ -\n\n## Fragile Areas\n* y\n"))
}

// unpacked returns the files of an archive, and the lines of git.log as commits.
func unpacked(data []byte) (format.Files, []format.Commit) {
	files := formattest.Unpack(data)
	var log []format.Commit
	if f := files.Find("git.log"); f != nil {
		for line := range strings.Lines(string(f.Data)) {
			hash, message, _ := strings.Cut(strings.TrimSpace(line), " ")
			log = append(log, format.Commit{Hash: hash, Message: message, Time: now, Files: []string{message}})
		}
	}
	files = formattest.Without(files, "git.log")
	for i := range files {
		files[i].Changed = now
	}
	return files, log
}

// pathsOf returns all paths that a reading names.
func pathsOf(r format.Project) []string {
	var names []string
	claims := func(list []format.Claim) {
		for _, c := range list {
			names = append(names, c.Path)
		}
	}
	for _, c := range r.Checkpoints {
		claims(c.Claims)
	}
	for _, phase := range r.Phases {
		for _, s := range phase.Steps {
			claims(s.Claims)
			for _, item := range s.Items {
				names = append(names, item.Outputs...)
			}
			if s.Partial != nil {
				names = slices.Concat(names, s.Partial.Created, s.Partial.Modified)
			}
		}
	}
	return names
}
