package dotagent_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/planfile"
)

// story is a run in progress, with the folder that its mirror writes.
type story struct {
	*formattest.Run
	disk format.Files
}

func begin(t *testing.T, plan string, disk format.Files) *story {
	t.Helper()
	p := formattest.Plan(t, plan)
	s := &story{formattest.New(t, p, now.Add(-3*time.Hour)), slices.Clone(disk)}
	s.Add(pawl.RunCreated{Format: 1, Run: shopRun, Kind: pawl.PlanRun, Name: p.Name}, pawl.RunPlanned{Revision: 1, Steps: len(p.Steps()), Mode: p.Mode})
	return s
}

// start and finish say that a step's attempt began, and that it is done.
func (s *story) start(id pawl.StepID, attempt int) {
	s.T.Helper()
	s.Add(pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: id, Attempt: attempt, Token: pawl.Token(fmt.Sprintf("%s-%d", id, attempt))}})
}

func (s *story) finish(id pawl.StepID, attempt int, outputs ...string) {
	s.T.Helper()
	done := pawl.StepDone{Step: id, Attempt: attempt, Token: pawl.Token(fmt.Sprintf("%s-%d", id, attempt)), Summary: "done: " + string(id)}
	if step := s.Plan.Step(id); step != nil {
		done.Accept = pawl.AcceptOf(step)
	}
	for _, name := range outputs {
		if done.Outputs == nil {
			done.Outputs = pawl.Outputs{}
		}
		done.Outputs[name] = pawl.Content{SHA256: strings.Repeat("ab", 32), Size: 3}
	}
	s.Add(done)
}

func (s *story) view(status pawl.RunStatus) format.Export {
	return format.Export{Now: s.Now, Root: "/project", State: s.State, Plan: s.Plan, Status: status, Trigger: format.StepEnded}
}

// put changes a file on disk.
func (s *story) put(name, data string) {
	s.disk = append(formattest.Without(s.disk, name), format.File{Path: name, Data: []byte(data), Changed: s.Now})
}

func (s *story) get(name string) string {
	if f := s.disk.Find(name); f != nil {
		return string(f.Data)
	}
	return ""
}

// store does with a folder what was written says.
func store(disk format.Files, out []format.File, at time.Time) format.Files {
	for _, f := range out {
		disk = formattest.Without(disk, f.Path)
		if f.Data != nil {
			disk = append(disk, format.File{Path: f.Path, Data: f.Data, Changed: at})
		}
	}
	return disk
}

// write calls Write, and checks that nothing is left to write then, that a death between any two files leaves
// what can be read and gone on with, and that the whole is without a fault.
func (s *story) write(status pawl.RunStatus) []format.File {
	s.T.Helper()
	v := s.view(status)
	out := dotagent.Format().Write(s.disk, v)
	for n := range out {
		cut := store(s.disk, out[:n], s.Now)
		s.readable(cut, fmt.Sprintf("%d of %d files", n, len(out)))
		again := store(cut, dotagent.Format().Write(cut, v), s.Now)
		if diff := gocmp.Diff(texts(store(s.disk, out, s.Now)), texts(again)); diff != "" {
			s.T.Errorf("written again after %d of %d files: -want +got\n%s", n, len(out), diff)
		}
	}
	s.disk = store(s.disk, out, s.Now)
	s.readable(s.disk, "all")
	for _, f := range dotagent.Format().Write(s.disk, v) {
		s.T.Errorf("%s would be written again:\n%s", f.Path, f.Data)
	}
	return out
}

func texts(files format.Files) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		all[f.Path] = updated.ReplaceAllString(string(f.Data), "")
	}
	return all
}

// readable checks that a folder has no fault for a reader.
func (s *story) readable(files format.Files, what string) {
	s.T.Helper()
	_, findings := dotagent.Format().Read(files, format.Env{Now: s.Now})
	for _, f := range findings {
		if f.Level == pawl.Bad {
			s.T.Errorf("%s: %+v", what, f)
		}
	}
}

func names(files []format.File) []string {
	list := []string{}
	for _, f := range files {
		name := f.Path
		if f.Data == nil {
			name = "-" + name
		}
		list = append(list, name)
	}
	return list
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
}

// imported is a run that was made of the files of a fixture, as `pawl import` makes it, and its folder.
func imported(t *testing.T, fixture string) *story {
	t.Helper()
	a := archives(t)["testdata/read/"+fixture+".txtar"]
	if a == nil {
		t.Fatalf("there is no fixture %s", fixture)
	}
	files, env := unpacked(t, a)
	r, _ := dotagent.Format().Read(files, env)
	data, err := planfile.Write(format.PlanOf(r, pawl.ClaudeCode))
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, string(data), files)
	for _, p := range r.Phases {
		for _, step := range p.Steps {
			if step.Status == pawl.Done {
				s.Add(pawl.StepDone{Step: step.ID, Adopted: "imported"})
			}
		}
	}
	s.Add(pawl.RunImported{System: dotagent.System, Name: r.Name})
	return s
}
