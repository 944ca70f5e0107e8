package dotagent_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/planfile"
)

// FuzzRead reads folders of any content, given as an archive. Nothing may panic, what is read is plain data, and no path
// that it names leads out of the project.
func FuzzRead(f *testing.F) {
	addFixtures(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files := folder(data)
		inside := func(name string) bool {
			if clean, err := format.Inside(name); err != nil || clean != name {
				t.Fatalf("%q leads out of the project", name)
			}
			return len(name)%2 == 0
		}
		env := format.Env{Now: now, Exists: inside}
		r, findings := dotagent.Format().Read(files, env)
		if _, err := json.Marshal([]any{r, findings}); err != nil {
			t.Fatal(err)
		}
		for _, name := range pathsOf(r) {
			inside(name)
		}
		dotagent.Format().Verify(files, env)
		if plan := format.PlanOf(r, pawl.ClaudeCode); len(plan.Steps()) > 0 {
			data, err := planfile.Write(plan)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := planfile.Read("plan.yaml", data); err != nil {
				t.Fatalf("no plan can be made of it: %v\n%s", err, data)
			}
		}
		for _, out := range dotagent.Format().Archive(files, now) {
			inside(strings.TrimSuffix(out.Path, "/"))
		}
	})
}

// FuzzWrite writes a run into folders of any content. What is written is dotagent's, lies inside, and is written once.
func FuzzWrite(f *testing.F) {
	addFixtures(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := begin(t, shopPlan, folder(data))
		s.start("pm", 1)
		s.finish("pm", 1)
		s.start("designers", 1)
		s.finish("designers", 1)
		status := []pawl.RunStatus{pawl.StatusInterrupted, pawl.StatusActive, pawl.StatusFailed, pawl.StatusCompleted}[len(data)%4]
		if len(data)%2 == 0 {
			r, _ := dotagent.Format().Read(s.disk, format.Env{Now: s.Now})
			s.State.Import.System, s.State.Name = dotagent.System, r.Name
		}
		v := s.view(status)
		out := dotagent.Format().Write(s.disk, v)
		for _, file := range out {
			if clean, err := format.Inside(strings.TrimSuffix(file.Path, "/")); err != nil || !strings.HasPrefix(clean, "memory/") {
				t.Fatalf("%s was written", file.Path)
			}
		}
		s.disk = store(s.disk, out, s.Now)
		if again := dotagent.Format().Write(s.disk, v); len(again) > 0 {
			t.Fatalf("%s: %s is written again:\n%s\n---\n%s", status, again[0].Path, s.get(again[0].Path), again[0].Data)
		}
	})
}

func addFixtures(f *testing.F) {
	for _, a := range archives(f) {
		f.Add(txtar.Format(&txtar.Archive{Files: a.Files}))
		f.Add([]byte(strings.ReplaceAll(string(txtar.Format(&txtar.Archive{Files: a.Files})), "\n", "\r\n")))
	}
}

// folder returns the files of an archive that the format reads, the longer ones older.
func folder(data []byte) format.Files {
	files := formattest.Wanted(dotagent.Format(), formattest.Unpack(data))
	for i, f := range files {
		files[i].Changed = now.Add(-time.Duration(len(f.Data)) * time.Hour)
	}
	return files
}

// BenchmarkRead reads a workflow of 10,000 tasks.
func BenchmarkRead(b *testing.B) {
	var execution strings.Builder
	files := format.Files{{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"w","current_phase":"IMPLEMENTATION","phase_status":"in_progress"}`)}}
	for i := range 10_000 {
		id := "task-" + strconv.Itoa(i)
		execution.WriteString(map[bool]string{true: `{"tasks":[`, false: ","}[i == 0] + `{"id":"` + id + `","status":"verified","attempts":1}`)
		files = append(files, format.File{Path: "memory/tasks/" + id + "/output.json", Data: []byte(`{"task_id":"` + id + `","status":"pre_complete","files_modified":[{"path":"src/` + id + `.go"}]}`)})
	}
	files = append(files, format.File{Path: "memory/state/execution.json", Data: []byte(execution.String() + "]}")})
	b.ReportAllocs()
	for b.Loop() {
		if r, _ := dotagent.Format().Read(files, format.Env{Now: now}); len(r.Phases[2].Steps) != 10_000 {
			b.Fatal(len(r.Phases[2].Steps))
		}
	}
}
