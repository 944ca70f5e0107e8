package gyoshu_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/gyoshu"
)

func TestRead(t *testing.T) {
	t.Parallel()
	r, _ := gyoshu.Format().Read(wanted(t, tides), testEnv(t, tides))
	if r.System != "gyoshu" || r.Name != title || r.ID != lastRun || r.Goal != "Predict tides within 5 cm" || r.Mode != pawl.Autopilot {
		t.Errorf("%s %s %s %q %s", r.System, r.Name, r.ID, r.Goal, r.Mode)
	}
	if r.Status != pawl.StatusInterrupted || r.Native != "in_progress" || !r.Updated.Equal(time.Date(2026, 3, 2, 10, 58, 0, 0, time.UTC)) {
		t.Errorf("%s (%s), %s", r.Status, r.Native, r.Updated)
	}
	var ids []string
	for _, s := range r.Phases[0].Steps {
		ids = append(ids, string(s.ID)+" "+string(s.Status))
	}
	want := []string{"S00_ask_permission done", "S01_load_tides done", "S02_clean_tides done", "S02_eda done", "S03_fit_model done", "S04_check_model pending", "S05_write_report pending"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("steps: -want +got\n%s", diff)
	}
	if r.Position != (pawl.Position{Phase: 1, PhaseTotal: 1, PhaseName: title, Step: 6, StepTotal: 7, StepID: "S04_check_model", StepName: "S04_check_model"}) || r.Percent != 71 {
		t.Errorf("%+v %d", r.Position, r.Percent)
	}
	s := formattest.Step(t, r, "S01_load_tides")
	if s.Attempts != 1 || s.Native != "saved" || len(s.Claims) != 1 || s.Claims[0].Size != 32 || s.Started.IsZero() {
		t.Errorf("%+v", s)
	}
	if s := formattest.Step(t, r, "S02_eda"); s.Summary != "checkpoint ckpt-short-stage, which Gyoshu cannot load" {
		t.Errorf("%+v", s)
	}
	cut := formattest.Step(t, r, "S04_check_model")
	if cut.Native != "interrupted" || cut.Partial.Last != "fold 2 (40%)" || !strings.Contains(cut.Why, "timeout") || cut.Items[0].Status != pawl.ItemPending {
		t.Errorf("%+v", cut)
	}
	if r.Next != "S04_check_model, which was started and interrupted" || !strings.HasPrefix(r.Resume, "resumable from checkpoint ckpt-003 (S03_fit_model)") || !strings.Contains(r.Prompt, "_2grid = joblib.load") {
		t.Errorf("%s\n%s\n%s", r.Next, r.Resume, r.Prompt)
	}
	if diff := cmp.Diff([]pawl.Memory{{Kind: pawl.Pattern, Text: "Emden lacks two weeks"}, {Kind: pawl.Gotcha, Text: "one winter only"}}, r.Memories); diff != "" {
		t.Errorf("memories: -want +got\n%s", diff)
	}
	if len(r.Decisions) != 1 || r.Decisions[0].Choice != "keep the linear model" || r.Facts["used up"] != "maxToolCalls" || r.Facts["criterion AC1"] != "metric_threshold rmse <= 5" || r.Facts["trust score"] != "72.5" {
		t.Errorf("%v %v", r.Decisions, r.Facts)
	}
}

// TestReadCheckpoints: which are valid, and of which kind.
func TestReadCheckpoints(t *testing.T) {
	t.Parallel()
	r, found := gyoshu.Format().Read(wanted(t, tides), format.Env{Now: noon})
	var valid, not []string
	for _, c := range r.Checkpoints {
		if c.Valid {
			valid = append(valid, c.ID+" "+string(c.Kind))
		} else {
			not = append(not, c.ID)
		}
	}
	// of the artifacts nothing is known here: Env.Hash knows them
	want := []string{"ckpt-001 step", "ckpt-002 step", "ckpt-short-stage step", "ckpt-003 step", "ckpt-missing step", "ckpt-longer step", "ckpt-other step", "ckpt-emergency-mm8r0000-0badcafe emergency"}
	if diff := cmp.Diff(want, valid); diff != "" {
		t.Errorf("valid: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ckpt-torn", "ckpt-edited", "ckpt-climbs"}, not); diff != "" {
		t.Errorf("not valid: -want +got\n%s", diff)
	}
	for _, c := range r.Checkpoints {
		for _, claim := range c.Claims {
			if strings.Contains(claim.Path, "..") {
				t.Errorf("%s claims %s", c.ID, claim.Path)
			}
		}
	}
	if len(found) == 0 || slices.ContainsFunc(found, func(f pawl.Finding) bool { return f.Level == pawl.OK }) {
		t.Errorf("%+v", found)
	}
}

// TestReadLooksAtArtifactsThatItIsGiven: where they are among the files, they are compared.
func TestReadLooksAtArtifactsThatItIsGiven(t *testing.T) {
	t.Parallel()
	r, _ := gyoshu.Format().Read(below(t, tides), format.Env{Now: noon})
	for _, c := range r.Checkpoints {
		if (c.ID == "ckpt-longer" || c.ID == "ckpt-other") && c.Valid {
			t.Errorf("%s is valid", c.ID)
		}
	}
}

// TestReadFirstRun: markers of a completed run are believed, since its record stands behind them.
func TestReadFirstRun(t *testing.T) {
	t.Parallel()
	r, _ := gyoshu.ReadRun(wanted(t, tides), title, firstRun, testEnv(t, tides))
	if r.Status != pawl.StatusCompleted || !r.Position.Complete || r.Percent != 100 || len(r.Phases[0].Steps) != 2 || r.Mode != pawl.Guided {
		t.Errorf("%+v", r)
	}
	if s := formattest.Step(t, r, "S02_plot_tides"); s.Status != pawl.Done || s.Native != "success" {
		t.Errorf("%+v", s)
	}
}

// TestMarkersAreHints: of a run that is not completed, a marker alone makes nothing done.
func TestMarkersAreHints(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"[STAGE:end:id=S01_a_b:status=failed]":              "failed failed a marker says that it failed",
		"[STAGE:end:id=S01_a_b:status=interrupted]":         "pending interrupted a marker says that it was interrupted",
		"[STAGE:begin:id=S01_a_b]":                          "pending begun it was started, and its end is not recorded",
		"[STAGE:end:id=S01_a_b]\\n[STAGE:begin:id=S01_a_b]": "pending begun it was started, and its end is not recorded",
	} {
		nb := `{"cells":[{"cell_type":"code","source":"","outputs":[{"output_type":"stream","name":"stdout","text":"` + output + `"}]}]}`
		r, _ := gyoshu.Format().Read(format.Files{{Path: "notebooks/t.ipynb", Data: []byte(nb)}}, format.Env{Now: noon})
		s := formattest.Step(t, r, "S01_a_b")
		if got := string(s.Status) + " " + s.Native + " " + s.Why; got != want {
			t.Errorf("%s: %s, want %s", output, got, want)
		}
	}
}

// TestClaimsAreAsked: of a research without checkpoints, what the saved outputs call finished is not redone before a person was
// asked. With a checkpoint of the run, or the cell of one, there is nothing to ask: Gyoshu continues after that.
func TestClaimsAreAsked(t *testing.T) {
	t.Parallel()
	cell := func(source, output string) string {
		return `{"cell_type":"code","id":"c-9","source":"` + source + `","outputs":[{"output_type":"stream","name":"stdout","text":"` + output + `"}]}`
	}
	const ends = "[STAGE:end:id=S01_a_b:status=success]\\n[STAGE:begin:id=S02_a_b]\\n[STAGE:end:id=S03_a_b:status=success]\\n[STAGE:end:id=S04_a_b:status=failed]\\n[STAGE:begin:id=S05_a_b]"
	pointer := "# [CHECKPOINT:saved:id=x:stage=S01_a_b:manifest=reports/t/checkpoints/run-1/x/checkpoint.json]"
	for name, c := range map[string]struct {
		cells, want string
		asks        int
	}{
		"no checkpoint": {cell("", ends), "done done done failed pending", 1},
		"one was there": {cell("", ends) + "," + cell(pointer, ""), "pending pending pending failed pending", 0},
		"nothing ended": {cell("", "[STAGE:begin:id=S01_a_b]"), "pending", 0},
	} {
		front := `{"cell_type":"raw","source":"---\ngyoshu:\n  runs:\n    - id: run-1\n      started: 2026-03-01T00:00:00Z\n---\n"}`
		nb := `{"cells":[` + front + "," + c.cells + `]}`
		r, _ := gyoshu.Format().Read(format.Files{{Path: "notebooks/t.ipynb", Data: []byte(nb)}}, format.Env{Now: noon})
		var got []string
		for _, s := range r.Phases[0].Steps {
			got = append(got, string(s.Status))
		}
		if strings.Join(got, " ") != c.want || len(r.Gates) != c.asks {
			t.Errorf("%s: %s, gates %+v", name, strings.Join(got, " "), r.Gates)
		}
		if c.asks == 0 {
			continue
		}
		if g := r.Gates[0]; g.Purpose != pawl.ForRebuilt || r.Next != "S04_a_b" {
			t.Errorf("%s: %+v, next %s", name, g, r.Next)
		}
		says(t, r.Gates[0].Ask, "S01_a_b: the notebook says that it ended with success", "S02_a_b: the notebook does not say", `"c-9"`)
		says(t, formattest.Step(t, r, "S04_a_b").Resume, `"c-9"`)
	}
}

// TestReadOddFiles: nothing of a broken project is a crash or is passed over without a word.
func TestReadOddFiles(t *testing.T) {
	t.Parallel()
	system := gyoshu.Format()
	if r, found := system.Read(nil, format.Env{Now: noon}); r.Name != "" || r.System != "gyoshu" || len(found) > 0 {
		t.Errorf("nothing: %+v %v", r, found)
	}
	files := format.Files{
		{Path: "notebooks/t.ipynb", Data: []byte("{\n \"cells\": [")},
		{Path: "reports/t/auto/loop-state.json", Data: []byte("[]")},
		{Path: "reports/t/queue/run-1.json", Data: []byte("{}")},
		{Path: "reports/t/checkpoints/run-1/a/checkpoint.json", Data: nil},
		{Path: "reports/CON/checkpoints/run-1/a/checkpoint.json", Data: []byte("\xef\xbb\xbf{}")},
		{Path: "reports/t/checkpoints/run-1/b/checkpoint.json", Data: []byte(`{"stageId":"S01_a_b","status":"saved","createdAt":7}`)},
	}
	r, found := system.Read(files, format.Env{Now: noon})
	var text []string
	for _, f := range append(found, system.Verify(files, format.Env{Now: noon})...) {
		text = append(text, f.Where+": "+f.What)
	}
	all := strings.Join(text, "\n")
	for _, want := range []string{
		"notebooks/t.ipynb:2: invalid JSON: line 2, column 12: unexpected end, the [ of line 2 is not closed",
		"reports/t/auto/loop-state.json:1: the state of a loop is an object",
		"reports/t/queue/run-1.json:1: it has no list of jobs",
		"reports/t/checkpoints/run-1/a/checkpoint.json:1: invalid JSON: line 1, column 1: unexpected end, expected a value",
		"reports/t/checkpoints/run-1/b/checkpoint.json: Manifest failed to parse or validate",
		"reportTitle contains Windows reserved name: CON",
		"reports/CON/checkpoints/run-1/a/checkpoint.json:1: it starts with a byte order mark, which Gyoshu rejects",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not told, but\n%s", want, all)
		}
	}
	if r.Phases == nil {
		t.Error("no phases")
	}
}

// TestVerify finds what the original does not tell.
func TestVerify(t *testing.T) {
	t.Parallel()
	files := wanted(t, tides)
	early := gyoshu.Manifest{CheckpointID: "../x", Session: "s", Title: title, Run: lastRun, Stage: "S01_load_tides", Status: gyoshu.Saved, Trust: gyoshu.Untrusted, Created: "2027-01-01T00:00:00Z",
		Notebook: gyoshu.NotebookRef{Path: "/etc/x", Cell: "c"}, Python: gyoshu.Python{Path: "p", Platform: "linux"}, Rehydration: gyoshu.Rehydration{Mode: gyoshu.WithVars}}
	files = append(files, format.File{Path: "reports/tide-levels/checkpoints/" + lastRun + "/ckpt-future/checkpoint.json", Data: early.Encode()},
		format.File{Path: "notebooks/copy.ipynb", Data: []byte(`{"cells":[{"id":"a","source":"# [CHECKPOINT:saved:id=x:stage=S01_a_b:manifest=../../etc]"},{"id":"a"}]}`)})
	var got []string
	for _, f := range gyoshu.Format().Verify(files, testEnv(t, tides)) {
		where := f.Where[strings.LastIndexByte(strings.TrimSuffix(f.Where, "/checkpoint.json"), '/')+1:]
		got = append(got, string(f.Level)+" "+strings.TrimSuffix(where, "/checkpoint.json")+": "+f.What)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		"bad harbour-dust.ipynb:1: invalid JSON",
		"ok ckpt-003: checkpoint ckpt-003 after stage S03_fit_model is valid, with 3 artifacts",
		"ok ckpt-emergency-mm8r0000-0badcafe: checkpoint ckpt-emergency-mm8r0000-0badcafe was taken in the middle of stage S04_check_model (timeout): it cannot be resumed from",
		"bad ckpt-missing: Artifact not found: ",
		"bad ckpt-longer: Size mismatch for ",
		"bad ckpt-other: SHA256 mismatch for ",
		"bad ckpt-edited: Manifest SHA256 mismatch: ",
		"bad ckpt-climbs: Path traversal detected: reports/../../../etc/passwd",
		"bad ckpt-torn: Manifest failed to parse or validate",
		`bad checkpoint.json:6: stageId: "S02_eda" is not`,
		"warn ckpt-future: its creation time 2027-01-01T00:00:00Z is in the future",
		"warn ckpt-future: its own trust level is untrusted: verify its source before resuming",
		"bad ckpt-future: Invalid checkpointId: contains path traversal characters",
		`warn ckpt-future: checkpointId is "../x", but its path says "ckpt-future"`,
		"bad ckpt-future: notebook: Absolute paths not allowed: /etc/x",
		"warn tide-levels.ipynb:176: a cell refers to checkpoint ckpt-000 of run run-20260302-101500, but there is no manifest: it was not completed, or it was pruned",
		"warn run-20260302-101500.json:22: job job-2 of stage S04_check_model is claimed by w2, which has sent no heartbeat for 5m0s; that alone does not prove that it has ended",
		"warn copy.ipynb:1: two cells have the id a",
		`warn copy.ipynb:1: a cell refers to a manifest at "../../etc", which is not the path of a manifest`,
		"warn copy.ipynb: no Gyoshu front matter: its runs are only known from their checkpoints",
		"warn copy: No checkpoints exist for this research/run",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not told, but\n%s", want, all)
		}
	}
}

// TestOddIsNoReasonToDoubt: a mark in front, or a reason as Gyoshu's plan calls it, keeps Gyoshu from loading a manifest, and
// says nothing against it; a second fault does.
func TestOddIsNoReasonToDoubt(t *testing.T) {
	t.Parallel()
	read := func(status gyoshu.Status, reason gyoshu.Reason, front, change string) format.Step {
		m := gyoshu.Manifest{CheckpointID: "c", Session: "s", Title: "t", Run: "r", Stage: "S01_load_data", Status: status, Reason: reason, Created: "2026-01-02T10:30:00Z",
			Notebook: gyoshu.NotebookRef{Path: "n", Cell: "c"}, Python: gyoshu.Python{Path: "p", Platform: "linux"}, Rehydration: gyoshu.Rehydration{Mode: gyoshu.WithVars}}
		data := strings.Replace(front+string(m.Encode()), change, "", 1)
		r, _ := gyoshu.Format().Read(format.Files{{Path: "reports/t/checkpoints/r/c/checkpoint.json", Data: []byte(data)}}, format.Env{Now: noon})
		return r.Phases[0].Steps[0]
	}
	if s := read(gyoshu.Saved, "", "\ufeff", ""); s.Status != pawl.Done {
		t.Errorf("with a mark: %+v", s)
	}
	if s := read(gyoshu.Saved, "", "\ufeff", "with_vars"); s.Status != pawl.Pending {
		t.Errorf("with a mark and another fault: %+v", s)
	}
	if s := read(gyoshu.Interrupted, "watchdog_timeout", "", ""); s.Status != pawl.Pending || !strings.Contains(s.Why, "it was interrupted (watchdog_timeout)") {
		t.Errorf("by a reason of the plan: %+v", s)
	}
}

// TestFutureIsNoActivity: a time that has not come does not make a run live, nor the newest.
func TestFutureIsNoActivity(t *testing.T) {
	t.Parallel()
	r, _ := gyoshu.Format().Read(wanted(t, tides), format.Env{Now: time.Date(2026, 3, 1, 9, 10, 0, 0, time.UTC)})
	if r.Updated.After(time.Date(2026, 3, 1, 9, 10, 0, 0, time.UTC)) {
		t.Errorf("last activity %s", r.Updated)
	}
	live, _ := gyoshu.Format().Read(wanted(t, tides), format.Env{Now: time.Date(2026, 3, 2, 11, 3, 0, 0, time.UTC)})
	if live.Status != pawl.StatusActive {
		t.Errorf("five minutes after its last activity it is %s", live.Status)
	}
}

// FuzzRead reads and verifies a project of which one file is anything.
func FuzzRead(f *testing.F) {
	files := small(f)
	for i, file := range files {
		f.Add(i, file.Data)
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		odd := changedAt(files, i, data)
		r, _ := gyoshu.Format().Read(odd, format.Env{Now: noon})
		for _, s := range r.Phases[0].Steps {
			for _, c := range s.Claims {
				if gyoshu.CheckPath(c.Path) != "" {
					t.Errorf("it leads elsewhere: %q", c.Path)
				}
			}
		}
		gyoshu.Format().Verify(odd, format.Env{Now: noon})
	})
}

// small returns the few files of the fixture that say all that one can say.
func small(t testing.TB) format.Files {
	return slices.DeleteFunc(wanted(t, tides), func(f format.File) bool {
		return strings.Contains(f.Path, "/checkpoints/") && !strings.Contains(f.Path, "ckpt-002") && !strings.Contains(f.Path, "emergency")
	})
}

// changedAt returns files of which one has other data.
func changedAt(files format.Files, i int, data []byte) format.Files {
	odd := slices.Clone(files)
	odd[max(i, -i, 0)%len(odd)].Data = data
	return odd
}

// BenchmarkRead reads a research of 10,000 checkpoints.
func BenchmarkRead(b *testing.B) {
	m := gyoshu.Manifest{Session: "s", Title: "t", Run: "r", Status: gyoshu.Saved, Notebook: gyoshu.NotebookRef{Path: "n", Cell: "c"},
		Python: gyoshu.Python{Path: "p", Platform: "linux", Packages: []string{"pandas==2.2.0"}}, Rehydration: gyoshu.Rehydration{Mode: gyoshu.WithVars, Source: []string{"a", "b"}},
		Artifacts: artifacts("reports/t/r/S01_a_b/x.csv")}
	var files format.Files
	for i := range 10_000 {
		m.CheckpointID = "ckpt-" + strconv.Itoa(i)
		m.Stage = "S" + strconv.Itoa(10+i%90) + "_run_step"
		m.Created = noon.Add(time.Duration(i) * time.Second).Format("2006-01-02T15:04:05.000Z")
		m.Artifacts[0].SHA256 = strings.Repeat("ab", 32)
		files = append(files, format.File{Path: "reports/t/checkpoints/r/" + m.CheckpointID + "/checkpoint.json", Data: m.Encode()})
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, _ := gyoshu.Format().Read(files, format.Env{Now: noon.Add(24 * time.Hour)}); len(r.Checkpoints) != 10_000 {
			b.Fatal(len(r.Checkpoints))
		}
	}
}

// TestSeveralResearches: all that are there are places, the one that something happened to last first; each is read by its
// own.
func TestSeveralResearches(t *testing.T) {
	t.Parallel()
	files := append(wanted(t, tides), format.File{Path: "reports/old/auto/loop-state.json", Data: []byte(`{"runId":"run-1"}`)},
		format.File{Path: "notebooks/newer.ipynb", Data: []byte(`{"cells":[{"cell_type":"raw","id":"f","metadata":{},"source":["---\ngyoshu:\n  updated: \"2026-03-03T00:00:00Z\"\n---"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`)})
	several := gyoshu.Format()
	places := several.Places(files, noon.AddDate(1, 0, 0))
	if diff := cmp.Diff([]string{"reports/newer", "reports/tide-levels", "reports/harbour-dust", "reports/old"}, places); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, place := range places {
		r, found := several.At(place).Read(files, format.Env{Now: noon.AddDate(1, 0, 0)})
		if "reports/"+r.Name != place {
			t.Errorf("%s: %s", place, r.Name)
		}
		for _, f := range found {
			if strings.Contains(f.What, "is not read") {
				t.Errorf("%s: %+v", place, f)
			}
		}
	}
}

// TestUnreadCheckpointsStayInThePlan: a manifest that is there and cannot be read leaves its stage to be done, whatever says which
// it is; where nothing does, a person is asked first.
func TestUnreadCheckpointsStayInThePlan(t *testing.T) {
	t.Parallel()
	const manifest = "reports/tide-levels/checkpoints/" + lastRun + "/ckpt-001/checkpoint.json"
	for _, c := range []struct {
		name, data string // of the manifest; empty: it could not be read at all
		cells      bool   // the notebook's cell is there
		known      bool
	}{
		{"torn behind the stage", `{"checkpointId": "ckpt-001", "stageId": "S01_load_tides", "st`, false, true},
		{"torn before the stage", `{"checkpointId": "ckpt-0`, true, true},
		{"not read", "", true, true},
		{"torn before the stage, and no cell", `{"checkpointId": "ckpt-0`, false, false},
		{"not read, and no cell", "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, env := wanted(t, tides), testEnv(t, tides)
			if files.Find(manifest).Data = []byte(c.data); c.data == "" {
				env.Unread = []string{manifest}
				files = slices.DeleteFunc(files, func(f format.File) bool { return f.Path == manifest })
			}
			if !c.cells {
				files = slices.DeleteFunc(files, func(f format.File) bool { return f.Path == "notebooks/tide-levels.ipynb" })
			}
			r, found := gyoshu.Format().Read(files, env)
			if !slices.ContainsFunc(found, func(f pawl.Finding) bool { return f.Level == pawl.Bad && strings.HasPrefix(f.Where, manifest) }) {
				t.Errorf("it is no finding: %+v", found)
			}
			if c.known {
				if s := formattest.Step(t, r, "S01_load_tides"); s.Status == pawl.Done || !strings.Contains(s.Why, "cannot be read") {
					t.Errorf("%+v", s)
				}
			}
			asked := slices.ContainsFunc(r.Gates, func(g format.Gate) bool { return strings.Contains(g.Ask, manifest) && g.Step != "" })
			if asked == c.known {
				t.Errorf("asked: %v, of %+v", asked, r.Gates)
			}
		})
	}
}

// TestKeysThatComeTwiceAreTold: the last one counts, and a stranger may have meant the other.
func TestKeysThatComeTwiceAreTold(t *testing.T) {
	t.Parallel()
	const manifest = "reports/tide-levels/checkpoints/" + lastRun + "/ckpt-001/checkpoint.json"
	files := wanted(t, tides)
	file := files.Find(manifest)
	file.Data = []byte(strings.Replace(string(file.Data), "{\n", "{\n  \"stageId\": \"S09_other_stage\",\n", 1))
	r, found := gyoshu.Format().Read(files, format.Env{Now: noon})
	formattest.Step(t, r, "S01_load_tides")
	if !slices.ContainsFunc(found, func(f pawl.Finding) bool {
		return f.Level == pawl.Warn && f.What == `duplicate key "stageId"; this one is used` && strings.HasPrefix(f.Where, manifest+":")
	}) {
		t.Errorf("%+v", found)
	}
}

// TestQueueWithoutJobs: the finding names the line in which the list should be.
func TestQueueWithoutJobs(t *testing.T) {
	t.Parallel()
	const queue = "reports/tide-levels/queue/" + lastRun + ".json"
	files := append(wanted(t, tides), format.File{Path: queue})
	files.Find(queue).Data = []byte("{\n\"status\": \"ACTIVE\",\n\"jobs\": 5}")
	_, found := gyoshu.Format().Read(files, format.Env{Now: noon})
	if !slices.ContainsFunc(found, func(f pawl.Finding) bool { return f.Where == queue+":3" && f.What == "it has no list of jobs" }) {
		t.Errorf("%+v", found)
	}
}

// TestNextIsWhatIsNotDone: the newest checkpoint may be of a stage before others that are done.
func TestNextIsWhatIsNotDone(t *testing.T) {
	t.Parallel()
	done := saved(t, nil, request("ckpt-1", "S01_load_data", 0), request("ckpt-3", "S03_fit_model", 1))
	cut := saved(t, done, emergency(request("ckpt-4", "S04_check_model", 2)))
	for want, files := range map[string]format.Files{
		"S04_…, which comes after S03_fit_model": done, "S04_check_model": cut,
	} {
		r, _ := gyoshu.Format().Read(saved(t, files, request("ckpt-again", "S01_load_again", 3)), format.Env{Now: noon.Add(time.Hour)})
		if r.Next != want {
			t.Errorf("%s, want %s", r.Next, want)
		}
	}
}

// TestPromise: the last status of a run's loop is reported; blocked becomes one blocker.
func TestPromise(t *testing.T) {
	t.Parallel()
	const front = `{"cell_type":"raw","source":"---\ngyoshu:\n  runs:\n    - id: run-1\n      started: 2026-03-01T00:00:00Z\n      status: in_progress\n    - id: run-2\n      started: 2026-03-02T00:00:00Z\n      status: in_progress\n---"}`
	cell := func(day, text string) string {
		return `,{"cell_type":"code","source":"","metadata":{"gyoshu":{"lastUpdated":"2026-03-0` + day + `T01:00:00Z"}},"outputs":[{"output_type":"stream","name":"stdout","text":"` + text + `"}]}`
	}
	for _, c := range []struct {
		cells, promise string
		blockers       int
	}{
		{cell("2", `<promise>GYOSHU_AUTO_COMPLETE</promise>`), "COMPLETE", 0},
		{cell("2", `it ends: <Promise>\n gyoshu_auto_budget_exhausted\n</promise> so`), "BUDGET_EXHAUSTED", 0},
		{cell("2", `<promise>GYOSHU_AUTO_COMPLETE</promise>`) + cell("2", `<promise>BLOCKED</promise>`), "BLOCKED", 1},
		{cell("2", `<promise>BLOCKED</promise> then <promise>COMPLETE</promise>`), "COMPLETE", 0},
		{cell("2", `<promise>COMPLETE</promise> then <promise>COMP`), "COMPLETE", 0},
		{cell("2", `<promise>BLOCKED</promise>`) + cell("2", `nothing`), "BLOCKED", 1},
		{cell("1", `<promise>BLOCKED</promise>`), "", 0}, // another run's
		{cell("2", `<promise>SOMETHING</promise>`), "", 0},
	} {
		r, _ := gyoshu.Format().Read(format.Files{{Path: "notebooks/t.ipynb", Data: []byte(`{"cells":[` + front + c.cells + `]}`)}}, format.Env{Now: noon})
		if r.ID != "run-2" || r.Facts["promise"] != c.promise || len(r.Blockers) != c.blockers {
			t.Errorf("%s: run %s, %q, %+v", c.cells, r.ID, r.Facts["promise"], r.Blockers)
		}
	}
}

// TestRunIsChosen: by its id or a unique prefix of it, also if it is not the newest.
func TestRunIsChosen(t *testing.T) {
	t.Parallel()
	files, env := wanted(t, tides), testEnv(t, tides)
	if got := gyoshu.Format().Projects(files); !slices.Contains(got, firstRun) || !slices.Contains(got, lastRun) {
		t.Errorf("runs %v", got)
	}
	for choice, want := range map[string]string{firstRun: firstRun, "run-20260301": firstRun, lastRun: lastRun, "run-": "", "none": ""} {
		if r, _ := gyoshu.Format().Select(choice).Read(files, env); r.ID != want {
			t.Errorf("%s: %s, want %s", choice, r.ID, want)
		}
	}
	if r, _ := gyoshu.Format().Select(firstRun).At("reports/"+title).Read(files, env); r.ID != firstRun {
		t.Errorf("with its research: %s", r.ID)
	}
}

// TestCompletedIsNotWhole: a run whose record says completed is not at 100 % while a stage of it is not done.
func TestCompletedIsNotWhole(t *testing.T) {
	t.Parallel()
	front := `{"cell_type":"raw","source":"---\ngyoshu:\n  runs:\n    - id: run-1\n      started: 2026-03-01T00:00:00Z\n      status: completed\n---\n"}`
	nb := `{"cells":[` + front + `,{"cell_type":"code","source":"","outputs":[{"output_type":"stream","name":"stdout","text":"[STAGE:end:id=S01_a_b]\n[STAGE:begin:id=S02_a_b]"}]}]}`
	r, _ := gyoshu.Format().Read(format.Files{{Path: "notebooks/t.ipynb", Data: []byte(nb)}}, format.Env{Now: noon})
	if r.Status != pawl.StatusCompleted || r.Percent != 50 || r.Position.Complete || len(r.Gates) > 0 {
		t.Errorf("%+v", r)
	}
}
