package gyoshu_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/gyoshu"
)

const tidePlan = `
name: tide-levels
goal: Predict tides
steps:
  - {id: S01_load_tides, run: x, goal: Load the tide tables}
  - {id: clean-2, run: x}
  - {id: clean_2, run: x}
  - {id: "3", run: x}
`

const tideRun = "tide-levels-20260302-120000-ab12"

var csv = pawl.Outputs{"out/tides.csv": {SHA256: strings.Repeat("ab", 32), Size: 7}, "out/all": {SHA256: strings.Repeat("cd", 32), Size: 9, Files: 3},
	"../x": {SHA256: strings.Repeat("ef", 32)}}

// TestWriteARun follows a run through an interruption to its end, and checks at each moment where Gyoshu would resume.
func TestWriteARun(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	if got := s.write(format.Began); !slices.Equal(got, []string{"notebooks/tide-levels.ipynb", "reports/tide-levels/auto/loop-state.json"}) {
		t.Errorf("at the beginning %v", got)
	}
	golden(t, "testdata/begun.ipynb", s.files.Find("notebooks/tide-levels.ipynb").Data)
	s.start("S01_load_tides", 1)
	s.cut("S01_load_tides", 1, "0badcafe")
	if got := s.write(format.Interrupted); slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, "checkpoint.json") }) {
		t.Errorf("nothing is finished, and Gyoshu would go on behind what was cut off: %v", got)
	}
	s.start("S01_load_tides", 2)
	s.done("S01_load_tides", 2, csv)
	s.write(format.StepEnded)
	if id, stage := s.wouldResume(); id != "ckpt-000008" || stage != "S01_load_tides" {
		t.Errorf("Gyoshu would go on behind %s, %s", id, stage)
	}
	s.start("clean-2", 1)
	s.cut("clean-2", 1, "1badcafe")
	s.write(format.Interrupted)
	if id, stage := s.wouldResume(); id != "ckpt-000011-again" || stage != "S01_load_tides" {
		t.Errorf("after an interruption Gyoshu would go on behind %s, %s", id, stage)
	}
	m := s.manifest("ckpt-emergency-")
	if m.Status != gyoshu.Interrupted || m.Reason != gyoshu.Timeout || m.Stage != "S02_run_clean" || len(m.Artifacts) > 0 || !strings.HasSuffix(m.CheckpointID, "-1badcafe") {
		t.Errorf("%+v", m)
	}
	s.start("clean-2", 2)
	s.done("clean-2", 2, nil)
	s.start("clean_2", 1)
	s.done("clean_2", 1, nil)
	s.write(format.StepEnded)
	if _, stage := s.wouldResume(); stage != "S03_run_clean" {
		t.Errorf("Gyoshu would go on behind %s", stage)
	}
	s.AddEach(pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "2badcafe", Kind: pawl.CheckpointManual}})
	s.write(format.Beat)
	if id, stage := s.wouldResume(); id != "ckpt-2badcafe" || stage != "S03_run_clean" {
		t.Errorf("behind a checkpoint by hand: %s, %s", id, stage)
	}
	s.AddEach(pawl.StepReopened{Step: "clean_2", Why: "it is not clean"})
	s.write(format.GateClosed)
	if _, stage := s.wouldResume(); stage != "S02_run_clean" {
		t.Errorf("of a stage that was opened again Gyoshu would think that it is finished: %s", stage)
	}
	s.start("clean_2", 2)
	s.done("clean_2", 2, nil)
	s.start("3", 1)
	s.done("3", 1, nil)
	s.AddEach(pawl.EngineStopped{}, pawl.RunEnded{Status: pawl.StatusCompleted})
	if got := s.write(format.RunEnded); !slices.Contains(got, "reports/tide-levels/README.md") {
		t.Errorf("at the end %v", got)
	}
	golden(t, "testdata/ended.md", s.files.Find("reports/tide-levels/README.md").Data)
	golden(t, "testdata/ended-loop.json", s.files.Find("reports/tide-levels/auto/loop-state.json").Data)
	s.check()
}

// TestEnvironmentIsWritten: a manifest has the interpreter and the packages of the run, and the last seeds that executed cells set.
func TestEnvironmentIsWritten(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.start("S01_load_tides", 1)
	s.write(format.StepBegan)
	cell := func(source, count string) string {
		return `{"cell_type":"code","execution_count":` + count + `,"id":"c` + count + source[:2] + `","metadata":{},"outputs":[],"source":"` + source + `"}`
	}
	cells := strings.Join([]string{cell(`random.seed(1)`, "1"), cell(`import random\n  random.seed(7)\nnp.random.seed( 42 )`, "2"), cell(`numpy.random.seed(9)`, "null")}, ",")
	s.files = formattest.With(s.files, []format.File{{Path: "notebooks/tide-levels.ipynb", Data: []byte(`{"cells":[` + cells + `],"metadata":{},"nbformat":4,"nbformat_minor":5}`)}})
	s.done("S01_load_tides", 1, csv)
	v := s.view(format.StepEnded)
	v.Python = func() (string, []string) { return "/p/.venv/bin/python", []string{"numpy==1.24.2"} }
	s.files = formattest.With(s.files, gyoshu.Format().Write(s.files, v))
	got := s.manifest("ckpt-").Python
	if got.Path != "/p/.venv/bin/python" || !slices.Equal(got.Packages, []string{"numpy==1.24.2"}) || !slices.Equal(got.Seeds, gyoshu.Seeds{{Name: "random", Value: 7}, {Name: "numpy", Value: 42}}) {
		t.Errorf("%+v", got)
	}
	if m := s.manifest("ckpt-"); !slices.Contains(m.Rehydration.Source, "np.random.seed(42)") || m.Executions != 2 {
		t.Errorf("%q, %d", m.Rehydration.Source, m.Executions)
	}
}

// TestWriteBesideOthers: of the files of a research that is there, only what pawl has to say changes.
func TestWriteBesideOthers(t *testing.T) {
	t.Parallel()
	files := wanted(t, tides)
	made := gyoshu.Format().Write(files, tideView(t))
	var paths []string
	for _, f := range made {
		paths = append(paths, strings.TrimPrefix(f.Path, "reports/tide-levels/"))
	}
	const here = "checkpoints/" + tideRun + "/"
	want := []string{"notebooks/tide-levels.ipynb", here + "ckpt-000005/checkpoint.json", here + "ckpt-emergency-mm94x3pc-1badcafe/checkpoint.json", here + "ckpt-000008-again/checkpoint.json", "auto/loop-state.json", "README.md"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	after := formattest.With(files, made)
	changedLines(t, files, after, "reports/tide-levels/auto/loop-state.json",
		"-  \"iteration\": 4,", "+  \"iteration\": 1,", "-  \"runId\": \"run-20260302-101500\",", "+  \"runId\": \""+tideRun+"\",",
		"-  \"researchSessionID\": \"ses_tides\",", "+  \"researchSessionID\": \""+tideRun+"\",",
		"-    \"currentCycle\": 4,", "+    \"currentCycle\": 1,", "-    \"startedAt\": \"2026-03-02T10:15:00.000Z\"", "+    \"startedAt\": \"2026-03-02T12:01:00.000Z\"",
		"-  \"nextObjective\": \"check the model\",", "+  \"nextObjective\": \"S02_run_clean: clean-2\",")
	readme := string(after.Find("reports/tide-levels/README.md").Data)
	if !strings.HasPrefix(readme, "# Tide Levels Research Report\r\n\r\nHand-written.\r\n\r\n<!-- GYOSHU:REPORT:EXECUTION_HISTORY:BEGIN -->\r\n") || strings.Count(readme, "\n") != strings.Count(readme, "\r\n") {
		t.Errorf("%q", readme)
	}
	old, now := files.Find("notebooks/tide-levels.ipynb").Data, after.Find("notebooks/tide-levels.ipynb").Data
	for _, line := range bytes.Split(old, []byte("\n")) {
		if !bytes.Contains(now, line) && !bytes.Contains(line, []byte("updated:")) {
			t.Errorf("%s is gone", line)
		}
	}
	n, err := gyoshu.ReadNotebook(now)
	if err != nil || len(n.Front.Runs) != 3 || n.Front.Runs[2].ID != tideRun || n.Front.Runs[1].Notes != "second try: more ports" || n.Front.Goal != "Predict tides within 5 cm" {
		t.Errorf("%v %+v", err, n.Front)
	}
}

// TestWriteLeavesBrokenFiles: what cannot be read is not written over; and no checkpoint is made whose cell cannot be, which is said.
func TestWriteLeavesBrokenFiles(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"{", "", `{"cells": 5}`, "[]"} {
		files := format.Files{{Path: "notebooks/tide-levels.ipynb", Data: []byte(broken)}, {Path: "reports/tide-levels/auto/loop-state.json", Data: []byte("[")}}
		if made := gyoshu.Format().Write(files, tideView(t)); len(made) > 0 {
			t.Errorf("%q: %s is written", broken, made[0].Path)
		}
		refuses := gyoshu.Format().Refuses(files, tideView(t).State)
		if len(refuses) != 1 || refuses[0].Level != pawl.Bad || !strings.HasPrefix(refuses[0].Where, files[0].Path) {
			t.Errorf("%q: %+v", broken, refuses)
		}
	}
	if made := gyoshu.Format().Write(nil, tideView(t)); len(gyoshu.Format().Refuses(made, tideView(t).State)) > 0 {
		t.Error("it refuses what it wrote itself")
	}
}

// TestFrontMatterIsEdited line by line.
func TestFrontMatterIsEdited(t *testing.T) {
	t.Parallel()
	view := tideView(t)
	notebook := func(source any) []byte {
		data, err := json.Marshal(map[string]any{"cells": []any{map[string]any{"cell_type": "raw", "source": source}}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, c := range map[string]struct{ old, want string }{
		"another run": {
			"---\ntitle: x # kept\ngyoshu:\n  schema_version: 1\n  status: completed\n  runs:\n    - id: run-1\n      status: completed\n  tags:\nmore: y\n---",
			"---\ntitle: x # kept\ngyoshu:\n  schema_version: 1\n  status: active\n  runs:\n    - id: run-1\n      status: completed\n    - id: RUN\n      started: \"2026-03-02T12:01:00.000Z\"\n      status: in_progress\n  tags:\n  updated: \"2026-03-02T12:08:00.000Z\"\nmore: y\n---"},
		"its run, CRLF": {
			"---\r\ngyoshu:\r\n  status: active\r\n  updated: x\r\n  runs:\r\n  -   id: RUN\r\n      notes: n\r\n      status: failed\r\n---\r\n",
			"---\r\ngyoshu:\r\n  status: active\r\n  updated: \"2026-03-02T12:08:00.000Z\"\r\n  runs:\r\n  -   id: RUN\r\n      notes: n\r\n      status: in_progress\r\n---\r\n"},
		"no runs": {
			"---\ngyoshu:\n    status: active\n---",
			"---\ngyoshu:\n    status: active\n    runs:\n      - id: RUN\n        started: \"2026-03-02T12:01:00.000Z\"\n        status: in_progress\n    updated: \"2026-03-02T12:08:00.000Z\"\n---"},
		"nothing to say":   {"---\ngyoshu:\n  status: active\n  runs:\n    - id: RUN\n      status: in_progress\n---", ""},
		"none of Gyoshu's": {"---\ntitle: x\n---", ""},
		"another shape":    {"---\ngyoshu:\n  status: active\n  runs: [a]\n---", ""},
	} {
		run := strings.NewReplacer("RUN", tideRun)
		old, want := run.Replace(c.old), run.Replace(c.want)
		files := format.Files{{Path: "notebooks/tide-levels.ipynb", Data: notebook(old)}}
		made := format.Files(gyoshu.Format().Write(files, view))
		var got struct{ Cells []struct{ Source any } }
		if err := json.Unmarshal(made.Find("notebooks/tide-levels.ipynb").Data, &got); err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			want = old
		}
		if diff := cmp.Diff(want, got.Cells[0].Source); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestPythonInFrontMatter: the front matter names the Python of the newest checkpoint that knows it.
func TestPythonInFrontMatter(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, nil)
	s.write(format.StepEnded)
	if text := string(s.files.Find("notebooks/tide-levels.ipynb").Data); strings.Contains(text, "python_env") {
		t.Errorf("without a known Python the front matter has one: %s", text)
	}
	m := *s.manifest("ckpt-")
	m.Python.Path = "/tides/.venv/bin/python"
	path := gyoshu.Records(s.files, "tide-levels", "")[0].Path
	s.files = formattest.With(s.files, []format.File{{Path: path, Data: m.Encode()}})
	s.write(format.StepEnded)
	if text := string(s.files.Find("notebooks/tide-levels.ipynb").Data); strings.Count(text, "python_env: /tides/.venv/bin/python") != 1 {
		t.Errorf("the front matter has no Python: %s", text)
	}
}

// TestRunsInFrontMatter: the front matter keeps the last ten runs.
func TestRunsInFrontMatter(t *testing.T) {
	t.Parallel()
	lines := []string{"---", "gyoshu:", "  runs:"}
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("    - id: run-%d", i), "      status: completed")
	}
	source, err := json.Marshal(strings.Join(append(lines, "  tags:", "---"), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	files := format.Files{{Path: "notebooks/tide-levels.ipynb", Data: []byte(`{"cells": [{"cell_type": "raw", "source": ` + string(source) + `}]}`)}}
	made := format.Files(gyoshu.Format().Write(files, tideView(t)))
	n, err := gyoshu.ReadNotebook(made.Find("notebooks/tide-levels.ipynb").Data)
	if err != nil || len(n.Front.Runs) != 10 || n.Front.Runs[0].ID != "run-3" || n.Front.Runs[9].ID != tideRun || !strings.Contains(n.Cells[0].Source, "\n  tags:\n") {
		t.Errorf("%v: %s", err, n.Cells[0].Source)
	}
}

// TestHistoryOfCells: a stage whose cells were interrupted in a live kernel was interrupted, though its attempt was not.
func TestHistoryOfCells(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	cell := func(run, step string, interrupts, resumes int) string {
		return fmt.Sprintf(`{"cell_type": "code", "source": "x", "metadata": {"pawl": {"run": %q, "step": %q, "attempt": 1, "interrupts": %d, "resumes": %d}}}`, run, step, interrupts, resumes)
	}
	s.files = format.Files{{Path: "notebooks/tide-levels.ipynb", Data: []byte(`{"cells": [` + strings.Join([]string{cell(tideRun, "S01_load_tides", 1, 1),
		cell(tideRun, "clean-2", 2, 0), cell("another", "clean_2", 1, 1), cell(tideRun, "clean_2", 0, 0)}, ", ") + `], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}`)}}
	for _, step := range []pawl.StepID{"S01_load_tides", "clean-2", "clean_2"} {
		s.start(step, 1)
		s.done(step, 1, nil)
	}
	s.write(format.Exported)
	report := string(s.files.Find("reports/tide-levels/README.md").Data)
	if !strings.Contains(report, "*Note: 2 stage(s) were interrupted, 1 were resumed.*") {
		t.Error(report)
	}
}

// TestStageNames: every step has an id that Gyoshu loads, and no two the same, also those behind the 99th.
func TestStageNames(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("name: long\nsteps:\n")
	for i := range 130 {
		id := []string{"fit-", "S07_fit_", "x", "S03_train_model", "é"}[0] + strings.Repeat("i", i%3)
		text.WriteString("  - {id: \"" + id + "." + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)) + "\", run: x}\n")
	}
	text.WriteString("  - {id: S03_train_model, run: x}\n  - {id: S04_classify2, run: x}\n")
	s := newTeller(t)
	s.Plan = formattest.Plan(t, text.String())
	for _, step := range s.Plan.Steps() {
		s.start(step.ID, 1)
		s.done(step.ID, 1, nil)
	}
	s.files = formattest.With(nil, gyoshu.Format().Write(nil, s.view(format.Exported)))
	seen := map[string]bool{}
	for _, r := range gyoshu.Records(s.files, "", "") {
		if !r.Loads() || seen[r.Manifest.Stage] {
			t.Errorf("%s: %v", r.ID, r.Problems)
		}
		seen[r.Manifest.Stage] = true
	}
	if len(seen) != 132 || !seen["S03_train_model"] {
		t.Errorf("%d stages", len(seen))
	}
}

// TestTitles: a run's name that can be no title, or not stand in a marker.
func TestTitles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"tides": "tides", "tide levels": "tide levels", "a: b": "a--b", "../x": "x", "CON": "run-CON", "": "run", "a]b": "a-b", "nul.txt": "run-nul.txt", "größe": "größe",
	} {
		s := newTeller(t)
		s.State.Name = name
		made := gyoshu.Format().Write(nil, s.view(format.Began))
		if got := strings.TrimSuffix(strings.TrimPrefix(made[0].Path, "notebooks/"), ".ipynb"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestWriteWithoutPlan: of a session without a plan, its steps are in the order in which they began.
func TestWriteWithoutPlan(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.start("b", 1)
	s.done("b", 1, nil)
	s.start("a", 1)
	s.done("a", 1, nil)
	s.Plan = nil
	s.write(format.Exported)
	if _, stage := s.wouldResume(); stage != "S02_run_a" {
		t.Errorf("%s", stage)
	}
}

// FuzzWrite writes into a project of which one file is anything: what is there of checkpoints stays, nothing is written
// outside, and a second time there is nothing to write.
func FuzzWrite(f *testing.F) {
	files, view := small(f), tideView(f)
	for i, file := range files {
		f.Add(i, file.Data)
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		odd := changedAt(files, i, data)
		made := gyoshu.Format().Write(odd, view)
		for _, file := range made {
			if gyoshu.CheckPath(file.Path) != "" || strings.HasSuffix(file.Path, "checkpoint.json") && odd.Find(file.Path) != nil {
				t.Errorf("it writes %q", file.Path)
			}
		}
		if again := gyoshu.Format().Write(formattest.With(odd, made), view); len(again) > 0 {
			t.Errorf("written again, %s differs\n%s", again[0].Path, again[0].Data)
		}
	})
}

// TestHistoryOfFailures: a stage that failed by itself was neither interrupted nor resumed, also if it was done later.
func TestHistoryOfFailures(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.start("S01_load_tides", 1)
	s.AddEach(pawl.AttemptEnded{AttemptRef: ref("S01_load_tides", 1), Outcome: pawl.Failed, Reason: pawl.ReasonExited, Stats: &pawl.AttemptStats{Seconds: 2}})
	s.start("S01_load_tides", 2)
	s.done("S01_load_tides", 2, nil)
	s.start("clean-2", 1)
	s.cut("clean-2", 1, "11111111")
	s.start("clean-2", 2)
	s.done("clean-2", 2, nil)
	s.start("clean_2", 1)
	s.cut("clean_2", 1, "22222222")
	s.write(format.Exported)
	report := string(s.files.Find("reports/tide-levels/README.md").Data)
	if !strings.Contains(report, "*Note: 2 stage(s) were interrupted, 1 were resumed.*") {
		t.Error(report)
	}
}

// TestWhatWasPrunedStaysAway: Gyoshu lets go of the oldest checkpoints; they are not made again, with a time of now.
func TestWhatWasPrunedStaysAway(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	for _, step := range []pawl.StepID{"S01_load_tides", "clean-2", "clean_2"} {
		s.start(step, 1)
		s.done(step, 1, nil)
		s.write(format.StepEnded)
	}
	oldest := gyoshu.Records(s.files, "tide-levels", "")[2].Path
	s.files = slices.DeleteFunc(s.files, func(f format.File) bool { return f.Path == oldest })
	s.start("3", 1)
	s.done("3", 1, nil)
	s.write(format.StepEnded)
	if got := gyoshu.Records(s.files, "tide-levels", ""); len(got) != 3 || s.files.Find(oldest) != nil {
		t.Errorf("%d checkpoints, the newest of %s", len(got), got[0].Manifest.Stage)
	}
}

// TestOwnCheckpointsAreLocal: a checkpoint is local by what the journal says, whatever it says of itself.
func TestOwnCheckpointsAreLocal(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, pawl.Outputs{"a.csv": {SHA256: strings.Repeat("a", 64), Size: 3}})
	s.start("clean-2", 1)
	s.done("clean-2", 1, nil)
	s.write(format.RunEnded)
	own := format.Env{Now: noon.Add(24 * time.Hour), Run: func(id string) (*pawl.State, *pawl.Plan) {
		if id != tideRun {
			return nil, nil
		}
		return s.State, s.Plan
	}}
	const imported = "; Checkpoint is imported - verify source before resuming"
	for name, c := range map[string]struct {
		env    format.Env
		change func(m *gyoshu.Manifest)
		want   string
	}{
		"its own":                   {own, nil, ""},
		"no journal":                {format.Env{Now: own.Now}, nil, imported},
		"unchanged":                 {own, func(m *gyoshu.Manifest) {}, ""},
		"at another time":           {own, func(m *gyoshu.Manifest) { m.Created = "2026-03-02T20:00:00.000Z" }, imported},
		"which says it is imported": {own, func(m *gyoshu.Manifest) { m.Trust = gyoshu.Imported }, imported},
		"another artifact": {own, func(m *gyoshu.Manifest) {
			m.Artifacts = []gyoshu.Artifact{{Path: "x", SHA256: strings.Repeat("b", 64)}}
		}, imported},
		"of a stage that was not on": {own, func(m *gyoshu.Manifest) { m.Stage = "S04_run_step" }, imported},
		"with code of its own":       {own, func(m *gyoshu.Manifest) { m.Rehydration.Source = []string{"import os"} }, imported},
	} {
		files := slices.Clone(s.files)
		if c.change != nil {
			newest := gyoshu.Records(files, "tide-levels", "")[0]
			c.change(newest.Manifest)
			files.Find(newest.Path).Data = newest.Manifest.Encode()
		}
		r, _ := gyoshu.Format().Read(files, c.env)
		if _, got, _ := strings.Cut(r.Resume, ")"); got != c.want {
			t.Errorf("%s: %q", name, r.Resume)
		}
	}
}

// TestStagesThatWereFound: of the stages that another run finished the last is said again, and no other.
func TestStagesThatWereFound(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.AddEach(pawl.RunImported{System: gyoshu.System, ID: "run-1"})
	for _, step := range []pawl.StepID{"S01_load_tides", "clean-2"} {
		s.AddEach(pawl.StepDone{Step: step, Adopted: "imported: gyoshu says so"})
	}
	s.start("clean_2", 1)
	s.done("clean_2", 1, nil)
	var stages []string
	for _, path := range s.write(format.StepEnded) {
		if m := s.files.Find(path); strings.HasSuffix(path, "checkpoint.json") {
			read, _ := gyoshu.ReadManifest(path, m.Data)
			stages = append(stages, read.Stage)
		}
	}
	if len(stages) != 2 || !gyoshu.IsStage(stages[0]) || !strings.HasPrefix(stages[0], "S02") || !strings.HasPrefix(stages[1], "S03") {
		t.Errorf("saved are %v", stages)
	}
}

// TestTrustIsNotLaundered: the checkpoints of stages that pawl did not run are trusted no more than their sources.
func TestTrustIsNotLaundered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, says string // where it was imported from, and what a checkpoint there says of itself
		want       gyoshu.Trust
	}{
		{".", "local", gyoshu.Imported}, {".", "imported", gyoshu.Imported}, {".", "untrusted", gyoshu.Untrusted}, {"/elsewhere", "local", gyoshu.Untrusted},
	} {
		s := newTeller(t)
		there := gyoshu.Manifest{CheckpointID: "c", Run: "run-1", Stage: "S01_load_tides", Status: gyoshu.Saved, Trust: gyoshu.Trust(c.says)}
		s.files = format.Files{{Path: "reports/tide-levels/checkpoints/run-1/c/checkpoint.json", Data: there.Encode()}}
		s.AddEach(pawl.RunImported{System: gyoshu.System, ID: "run-1", Path: c.path},
			pawl.StepDone{Step: "S01_load_tides", Adopted: "imported: gyoshu says so", Outputs: pawl.Outputs{"m.pkl": {SHA256: strings.Repeat("a", 64), Size: 3}}})
		s.write(format.StepEnded)
		newest := gyoshu.Records(s.files, "tide-levels", tideRun)[0].Manifest
		if code := strings.Join(newest.Rehydration.Source, "\n"); newest.Trust != c.want || c.want == gyoshu.Untrusted && strings.Contains(code, "pickle.load") {
			t.Errorf("%s, %s: %s\n%s", c.path, c.says, newest.Trust, code)
		}
		env := format.Env{Now: noon.Add(24 * time.Hour), Run: func(string) (*pawl.State, *pawl.Plan) { return s.State, s.Plan }}
		r, _ := gyoshu.ReadRun(s.files, "tide-levels", tideRun, env)
		if want := "Checkpoint is " + string(c.want) + " - verify source before resuming"; !strings.HasSuffix(r.Resume, want) {
			t.Errorf("%s, %s: %s", c.path, c.says, r.Resume)
		}
	}
	s := newTeller(t)
	s.AddEach(pawl.RunImported{System: gyoshu.System}, pawl.StepDone{Step: "S01_load_tides", Adopted: "imported: gyoshu says so"})
	s.start("clean-2", 1)
	s.done("clean-2", 1, nil)
	s.write(format.StepEnded)
	if m := gyoshu.Records(s.files, "tide-levels", tideRun)[0].Manifest; m.Trust != gyoshu.Local {
		t.Errorf("what pawl ran itself is %s", m.Trust)
	}
}

// TestArtifactsAreCumulative: a checkpoint names the artifacts of all stages that were finished by then, so that the next one
// finds the data of the first. What an earlier stage left and is not there any more does not make it invalid; what was
// imported lowers its trust.
func TestArtifactsAreCumulative(t *testing.T) {
	t.Parallel()
	out := func(name string) pawl.Outputs {
		return pawl.Outputs{name: {SHA256: strings.Repeat("ab", 32), Size: 7}, "shared.csv": {SHA256: strings.Repeat(name[:1], 64), Size: int64(len(name))}}
	}
	s := newTeller(t)
	paths := func(prefix string) string {
		var names []string
		for _, a := range s.manifest(prefix).Artifacts {
			names = append(names, a.Path+" "+a.SHA256[:1])
		}
		return strings.Join(names, ", ")
	}
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, out("a.csv"))
	s.start("clean-2", 1)
	s.done("clean-2", 1, out("b.csv"))
	s.write(format.StepEnded)
	if first, second := paths("ckpt-000005"), paths("ckpt-000007"); first != "a.csv a, shared.csv a" || second != "a.csv a, b.csv a, shared.csv b" {
		t.Errorf("%s; %s", first, second)
	}
	if code := strings.Join(s.manifest("ckpt-000007").Rehydration.Source, "\n"); !strings.Contains(code, `a = pd.read_csv("a.csv")`) {
		t.Error(code)
	}
	own := format.Env{Now: noon.Add(24 * time.Hour), Run: func(string) (*pawl.State, *pawl.Plan) { return s.State, s.Plan }}
	if r, _ := gyoshu.ReadRun(s.files, "tide-levels", tideRun, own); strings.Contains(r.Resume, "verify source") {
		t.Errorf("its own checkpoint: %s", r.Resume)
	}
	s.start("clean_2", 1)
	s.done("clean_2", 1, out("c.csv"))
	gone := s.view(format.StepEnded)
	gone.Hash = func(path string) (string, int64, error) {
		if path == "a.csv" {
			return "", 0, fs.ErrNotExist
		}
		return strings.Repeat("ab", 32), 7, nil
	}
	s.files = formattest.With(s.files, gyoshu.Format().Write(s.files, gone))
	if got := paths("ckpt-000009"); got != "b.csv a, c.csv a, shared.csv c" {
		t.Errorf("an artifact is gone: %s", got)
	}

	s = newTeller(t)
	s.AddEach(pawl.RunImported{System: gyoshu.System}, pawl.StepDone{Step: "S01_load_tides", Adopted: "imported: gyoshu says so", Outputs: out("a.pkl")})
	s.start("clean-2", 1)
	s.done("clean-2", 1, out("b.pkl"))
	s.write(format.StepEnded)
	if m := gyoshu.Records(s.files, "tide-levels", tideRun)[0].Manifest; m.Trust != gyoshu.Imported || len(m.Artifacts) != 3 {
		t.Errorf("%+v", m)
	}
	text := gyoshu.Format().Preconditions(s.State, s.Plan, format.Env{}, "clean_2")
	says(t, text, "Checkpoint is imported", `open("b.pkl", "rb")`, `"a.pkl": it was imported, and loading it runs code`)
	if strings.Contains(text, `open("a.pkl"`) {
		t.Error(text)
	}
}

// TestExecutionCount: it is that of the notebook, if that has one.
func TestExecutionCount(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.files = format.Files{{Path: "notebooks/tide-levels.ipynb", Data: []byte(`{"cells": [{"cell_type": "code", "execution_count": 12}, {"execution_count": null}, {"execution_count": 7}], "nbformat": 4}`)}}
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, csv)
	s.write(format.StepEnded)
	if m := s.manifest("ckpt-000005"); m.Executions != 12 || m.Python.Path != "unknown" || len(m.Python.Packages) > 0 {
		t.Errorf("%+v", m)
	}
}

// TestStageThatFails: an emergency checkpoint says that a stage exited with an error, once for each attempt, and the stage that
// was finished last stays where Gyoshu continues. If none was finished, only a cell says so.
func TestStageThatFails(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	fails := func(step pawl.StepID, attempt int) {
		s.start(step, attempt)
		s.AddEach(pawl.AttemptEnded{AttemptRef: ref(step, attempt), Outcome: pawl.Failed, Reason: pawl.ReasonExited})
		s.write(format.Interrupted)
	}
	fails("S01_load_tides", 1)
	if n := len(gyoshu.Records(s.files, "", "")); n != 0 {
		t.Errorf("%d checkpoints, and nothing is finished", n)
	}
	if nb := s.files.Find("notebooks/tide-levels.ipynb"); !bytes.Contains(nb.Data, []byte("ckpt-emergency-1-S01_load:stage=S01_load_tides:reason=error")) {
		t.Errorf("%s", nb.Data)
	}
	s.start("S01_load_tides", 2)
	s.done("S01_load_tides", 2, csv)
	fails("clean-2", 1)
	fails("clean-2", 2)
	if m := s.manifest("ckpt-emergency-2-clean-22"); m.Status != gyoshu.Interrupted || m.Reason != gyoshu.Failure || m.Stage != "S02_run_clean" {
		t.Errorf("%+v", m)
	}
	if _, stage := s.wouldResume(); stage != "S01_load_tides" {
		t.Errorf("Gyoshu would go on behind %s", stage)
	}
}

// TestCheckpointInTheFirstStage: somebody asks for a checkpoint, and no stage is finished: a manifest would let Gyoshu go on with
// the second stage, so only a cell has it.
func TestCheckpointInTheFirstStage(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]pawl.StepID{"by the stage": "S01_load_tides", "by a person": ""} {
		s := newTeller(t)
		s.start("S01_load_tides", 1)
		s.AddEach(pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "2badcafe", Kind: pawl.CheckpointManual, Step: step}})
		s.write(format.Beat)
		nb := s.files.Find("notebooks/tide-levels.ipynb").Data
		if !bytes.Contains(nb, []byte("ckpt-2badcafe:stage=S01_load_tides:reason=abort")) || len(gyoshu.Records(s.files, "", "")) > 0 {
			t.Errorf("%s: %s", name, nb)
		}
	}
}
