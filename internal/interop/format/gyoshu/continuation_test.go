package gyoshu_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/gyoshu"
)

// says has all parts stand in a text, in their order.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, behind, there := strings.Cut(rest, part)
		if !there {
			t.Fatalf("%q is missing, or comes too early, in\n%s", part, text)
		}
		rest = behind
	}
}

// TestWhoGoesOnIsTold: the agent of the stage that comes next has in its prompt what Gyoshu prescribes before it: from which
// checkpoint, whom it is to trust, what for, the cell to execute, and how its artifacts were found. Lines that the file brings
// along are not among it.
func TestWhoGoesOnIsTold(t *testing.T) {
	t.Parallel()
	r, _ := gyoshu.Format().Read(wanted(t, tides), testEnv(t, tides))
	plan := format.PlanOf(r, "claude")
	says(t, plan.Step("S04_check_model").Agent.Prompt,
		"the same stage starts over", `checkpoint "ckpt-003"`, "S03_fit_model",
		"Checkpoint is imported - verify source before resuming", "check the model",
		"# Rehydration cell", "_2grid = joblib.load", "[REHYDRATED:from=ckpt-003]",
		"S03_fit_model/", "unchanged since it was saved")
	if strings.Contains(r.Prompt, "os.system") {
		t.Errorf("it is taken from the file:\n%s", r.Prompt)
	}
	if later := plan.Step("S05_write_report").Agent.Prompt; strings.Contains(later, "Rehydration") {
		t.Errorf("what builds on a stage that is not done is told of the one before:\n%s", later)
	}
}

// TestWithoutACheckpointTheNotebookIsTheBase: work continues after its last cell.
func TestWithoutACheckpointTheNotebookIsTheBase(t *testing.T) {
	t.Parallel()
	nb := `{"cells":[{"cell_type":"code","id":"c-1","source":"","outputs":[]},{"cell_type":"code","id":"c-2","source":"","outputs":[{"output_type":"stream","name":"stdout","text":"[STAGE:begin:id=S01_a_b]"}]}]}`
	r, _ := gyoshu.Format().Read(format.Files{{Path: "notebooks/t.ipynb", Data: []byte(nb)}}, format.Env{Now: noon})
	says(t, formattest.Step(t, r, "S01_a_b").Resume, "No checkpoints exist for this research/run", `"notebooks/t.ipynb"`, `"c-2"`)
}

// TestMirrorPrescribes: of a run that is mirrored, each stage is told of the checkpoint before it, as the journal and the disk
// have it; of what does not hold any more nothing is loaded.
func TestMirrorPrescribes(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	prescribed := func(env format.Env) string {
		return gyoshu.Format().Preconditions(s.State, s.Plan, env, "clean-2")
	}
	if text := prescribed(format.Env{}); text != "" {
		t.Errorf("nothing is finished, and it says\n%s", text)
	}
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, csv)
	there := format.Env{Hash: func(string) (string, int64, error) { return csv["out/tides.csv"].SHA256, 7, nil }}
	text := prescribed(there)
	says(t, text, `checkpoint "ckpt-000005"`, "S01_load_tides", "S02_run_clean: clean-2", `tides = pd.read_csv("out/tides.csv")`, "[REHYDRATED:from=ckpt-000005]", "unchanged since it was saved")
	if strings.Contains(text, "verify source") {
		t.Errorf("it is its own:\n%s", text)
	}
	other := format.Env{Hash: func(string) (string, int64, error) { return strings.Repeat("0", 64), 7, nil }}
	if text := prescribed(other); !strings.Contains(text, "SHA256 mismatch for out/tides.csv") || strings.Contains(text, "read_csv") {
		t.Errorf("it was changed since, and is to be loaded:\n%s", text)
	}
}

// TestMuchIsNotHashedBeforeEachStage: files that are too large to hash before each stage are reported and loaded.
func TestMuchIsNotHashedBeforeEachStage(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	many, looked := pawl.Outputs{}, map[string]bool{}
	for _, name := range []string{"out/a.csv", "out/b.csv", "out/c.csv"} {
		many[name] = pawl.Content{SHA256: csv["out/tides.csv"].SHA256, Size: 200 << 20}
	}
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, many)
	text := gyoshu.Format().Preconditions(s.State, s.Plan, format.Env{Hash: func(name string) (string, int64, error) {
		looked[name] = true
		return csv["out/tides.csv"].SHA256, 200 << 20, nil
	}}, "clean-2")
	says(t, text, `c = pd.read_csv("out/c.csv")`, `"out/a.csv": unchanged since it was saved`, `"out/b.csv": not checked`, `"out/c.csv": not checked`)
	if len(looked) != 1 {
		t.Errorf("%v", looked)
	}
}

// TestTheCellFits: a cell that is too long for a prompt stays out of it.
func TestTheCellFits(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	many := pawl.Outputs{}
	for i := range 3000 {
		many["out/"+strings.Repeat("x", i%90)+string(rune('a'+i%26))+strings.Repeat("y", i/26)+".csv"] = csv["out/tides.csv"]
	}
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, many)
	text := gyoshu.Format().Preconditions(s.State, s.Plan, format.Env{}, "clean-2")
	if says(t, text, "pawl import gyoshu --dry-run --json"); len(text) > 32<<10 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestFirstStageThatWasCutOffIsWork: there is no manifest, for Gyoshu would go on behind its stage; the cell says which it is,
// and its own validation has nothing against it.
func TestFirstStageThatWasCutOffIsWork(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.start("S01_load_tides", 1)
	s.cut("S01_load_tides", 1, "0badcafe")
	s.write(format.Interrupted)
	if slices.ContainsFunc(s.files, func(f format.File) bool { return strings.HasSuffix(f.Path, "/checkpoint.json") }) {
		t.Error("there is a manifest")
	}
	for _, loop := range []bool{true, false} {
		files := s.files
		if !loop {
			files = slices.DeleteFunc(slices.Clone(files), func(f format.File) bool { return strings.HasSuffix(f.Path, "loop-state.json") })
		}
		r, _ := gyoshu.Format().Read(files, format.Env{Now: noon.Add(24 * time.Hour)})
		cut := formattest.Step(t, r, "S01_load_tides")
		if cut.Status != pawl.Pending || cut.Native != "interrupted" || !strings.Contains(cut.Why, "(timeout)") || !strings.Contains(cut.Resume, "starts over") || (cut.Goal != "") != loop {
			t.Errorf("%+v", cut)
		}
		for _, f := range gyoshu.Format().Verify(files, format.Env{Now: noon.Add(24 * time.Hour)}) {
			if strings.Contains(f.What, "a cell refers to checkpoint") {
				t.Errorf("%+v", f)
			}
		}
	}
}

// TestObjectiveIsWork: where all stages that are known are done, what the loop wants next is still to be done.
func TestObjectiveIsWork(t *testing.T) {
	t.Parallel()
	loop := func(text string) format.File {
		return format.File{Path: "reports/dunes/auto/loop-state.json", Data: []byte(`{"active":true,"runId":"run-1",` + text + `}`)}
	}
	for _, c := range []struct {
		files format.Files
		want  string // steps that are not done
	}{
		{format.Files{loop(`"nextObjective":"Fit the model"`)}, "S01_next_objective: Fit the model"},
		{append(saved(t, nil, request("a", "S01_load_data", 0)), loop(`"nextObjective":"Fit\nthe model"`)), "S02_next_objective: Fit\nthe model"},
		{append(saved(t, nil, request("a", "S01_load_data", 0)), loop(`"nextObjective":"S02_fit_model: Fit it"`)), "S02_fit_model: Fit it"},
		{append(saved(t, nil, request("a", "S99_load_data", 0)), loop(`"nextObjective":"Fit it"`)), "next_objective: Fit it"},
		{append(saved(t, nil, request("a", "S01_load_data", 0)), loop(`"nextObjective":"S01_load_data"`)), ""},
		{append(saved(t, nil, request("a", "S01_load_data", 0)), loop(`"nextObjective":"Fit it","lastDecision":"COMPLETE"`)), ""},
		{append(saved(t, nil, emergency(request("a", "S01_load_data", 0))), loop(`"nextObjective":"Fit it"`)), "S01_load_data: "},
	} {
		r, _ := gyoshu.Format().Read(c.files, format.Env{Now: noon.Add(time.Hour)})
		var open []string
		for _, s := range r.Phases[0].Steps {
			if s.Status != pawl.Done {
				open = append(open, string(s.ID)+": "+s.Goal)
			}
		}
		if got := strings.Join(open, ", "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestStagesHaveTheirLimits: the prompts of unfinished stages name Gyoshu's default time limit.
func TestStagesHaveTheirLimits(t *testing.T) {
	t.Parallel()
	r, _ := gyoshu.Format().Read(wanted(t, tides), testEnv(t, tides))
	plan := format.PlanOf(r, "claude")
	for _, id := range []pawl.StepID{"S04_check_model", "S05_write_report"} {
		says(t, plan.Step(id).Agent.Prompt, "240 s", "split")
	}
	if s := plan.Step("S01_load_tides"); strings.Contains(s.Agent.Prompt, "240 s") {
		t.Errorf("it is done: %+v", s)
	}
}

// TestEnvironmentDriftIsTold: pawl reports another platform; the resumed session reports other packages.
func TestEnvironmentDriftIsTold(t *testing.T) {
	t.Parallel()
	r := request("a", "S01_load_data", 0)
	r.Python = gyoshu.Python{Path: "/opt/py/bin/python3", Platform: "sunos", Packages: []string{"no-such-thing==1.2", `od"d`, "pip=={x}"}}
	files := append(saved(t, nil, r), format.File{Path: "reports/dunes/auto/loop-state.json", Data: []byte(`{"runId":"run-1","nextObjective":"Fit it"}`)})
	read, found := gyoshu.Format().Read(files, format.Env{Now: noon.Add(time.Hour)})
	if !slices.ContainsFunc(found, func(f pawl.Finding) bool {
		return f.Level == pawl.Warn && strings.HasPrefix(f.What, `environment drift: checkpoint a was made on "sunos", and this is `)
	}) {
		t.Errorf("%+v", found)
	}
	text := formattest.Step(t, read, "S02_next_objective").Resume
	_, cell, _ := strings.Cut(text, "differs from the checkpoint's:\n\n```python\n")
	cell, _, _ = strings.Cut(cell, "```")
	out, err := exec.CommandContext(t.Context(), "python3", "-c", cell).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
	says(t, string(out), "[WARNING] environment drift: no-such-thing was 1.2, and is not installed\n",
		"[WARNING] environment drift: python was /opt/py/bin/python3, and is /", "[WARNING] environment drift: platform was sunos, and is ")
	if strings.Contains(string(out), `od"d`) {
		t.Errorf("of what names no version nothing is known:\n%s", out)
	}
	r.Python = gyoshu.Python{Path: "python3", Platform: "unknown"}
	unknown, found := gyoshu.Format().Read(append(saved(t, nil, r), files[len(files)-1]), format.Env{Now: noon.Add(time.Hour)})
	if text := formattest.Step(t, unknown, "S02_next_objective").Resume; strings.Contains(text, "drift") || slices.ContainsFunc(found, func(f pawl.Finding) bool { return strings.Contains(f.What, "drift") }) {
		t.Errorf("nobody knows what it ran in: %s\n%+v", text, found)
	}
}
