package gyoshu_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/foreign"
	"pawl/internal/foreign/foreigntest"
	"pawl/internal/foreign/gyoshu"
)

func TestList(t *testing.T) {
	t.Parallel()
	seen, unseen := gyoshu.List(wanted(t, tides), title, "")
	var ids []string
	for _, e := range seen {
		ids = append(ids, e.ID)
	}
	want := []string{"ckpt-emergency-mm8r0000-0badcafe", "ckpt-climbs", "ckpt-other", "ckpt-longer", "ckpt-missing", "ckpt-edited", "ckpt-003", "ckpt-002", "ckpt-001", "ckpt-001"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(gyoshu.Entry{ID: "ckpt-002", Run: lastRun, Stage: "S02_clean_tides", Status: gyoshu.Saved, Created: "2026-03-02T10:31:00Z", Artifacts: 3}, seen[7]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(unseen) != 2 || unseen[0].ID != "ckpt-short-stage" || unseen[1].ID != "ckpt-torn" {
		t.Errorf("Gyoshu does not see %v", unseen)
	}
	if seen, _ := gyoshu.List(wanted(t, tides), title, firstRun); len(seen) != 1 {
		t.Errorf("the first run has %d checkpoints", len(seen))
	}
	if seen, _ := gyoshu.List(wanted(t, tides), "none", ""); len(seen) != 0 || seen == nil {
		t.Errorf("no research has the checkpoints %v", seen)
	}
}

// TestValidate holds Gyoshu's own words.
func TestValidate(t *testing.T) {
	t.Parallel()
	const stage3 = "reports/tide-levels/run-20260302-101500/S03_fit_model/"
	files := wanted(t, tides)
	for id, want := range map[string][]string{
		"ckpt-001":                         {},
		"ckpt-002":                         {},
		"ckpt-003":                         {},
		"ckpt-none":                        {"Manifest not found: reports/tide-levels/checkpoints/" + lastRun + "/ckpt-none/checkpoint.json"},
		"ckpt-torn":                        {"Manifest failed to parse or validate"},
		"ckpt-short-stage":                 {"Manifest failed to parse or validate"},
		"ckpt-missing":                     {"Artifact not found: " + stage3 + "none.csv"},
		"ckpt-longer":                      {"Size mismatch for reports/tide-levels/run-20260302-101500/S01_load_tides/tides.csv: expected 1, got 32"},
		"ckpt-climbs":                      {"Path traversal detected: reports/../../../etc/passwd"},
		"ckpt-emergency-mm8r0000-0badcafe": {},
	} {
		got := gyoshu.Validate(files, title, lastRun, id, gyoshu.MadeHere, world(t, tides))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", id, diff)
		}
	}
	for id, want := range map[string]string{
		"ckpt-edited": "Manifest SHA256 mismatch: expected ",
		"ckpt-other":  "SHA256 mismatch for " + stage3 + "notes.txt: expected ",
	} {
		got := gyoshu.Validate(files, title, lastRun, id, gyoshu.MadeHere, world(t, tides))
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || len(got[0]) != len(want)+len(", got ")+128 {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// TestValidateLinks has artifacts, and folders above them, that are links.
func TestValidateLinks(t *testing.T) {
	t.Parallel()
	root, outside := copied(t, tides), t.TempDir()
	run := filepath.Join(root, "reports", title, lastRun)
	validate := func(id string, p gyoshu.Provenance) string {
		return strings.Join(gyoshu.Validate(wanted(t, root), title, lastRun, id, p, world(t, root)), "; ")
	}
	link := func(old, new string) {
		if err := os.Symlink(old, new); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	const csv = "reports/tide-levels/run-20260302-101500/S01_load_tides/tides.csv"
	move(filepath.Join(run, "S01_load_tides"), filepath.Join(run, "elsewhere"))
	link("elsewhere", filepath.Join(run, "S01_load_tides"))
	if got := validate("ckpt-001", gyoshu.MadeHere); got != "" {
		t.Errorf("a folder that is a link within the project: %s", got)
	}
	if got := validate("ckpt-001", gyoshu.FoundHere); got != "Parent directory is a symlink: reports/tide-levels/run-20260302-101500/S01_load_tides" {
		t.Errorf("of a manifest that others wrote: %s", got)
	}
	if err := os.Remove(filepath.Join(run, "S01_load_tides")); err != nil {
		t.Fatal(err)
	}
	move(filepath.Join(run, "elsewhere"), filepath.Join(outside, "away"))
	link(filepath.Join(outside, "away"), filepath.Join(run, "S01_load_tides"))
	if got := validate("ckpt-001", gyoshu.MadeHere); got != "Security: artifact escapes project root via symlinked parent: "+csv {
		t.Errorf("a folder that is a link out of the project: %s", got)
	}
	notes := filepath.Join(run, "S03_fit_model", "notes.txt")
	move(notes, filepath.Join(run, "real"))
	link("../real", notes)
	if got := validate("ckpt-003", gyoshu.MadeHere); got != "Artifact is a symlink (not allowed): reports/tide-levels/run-20260302-101500/S03_fit_model/notes.txt" {
		t.Errorf("an artifact that is a link: %s", got)
	}
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := validate("ckpt-003", gyoshu.MadeHere); !strings.HasPrefix(got, "Cannot validate artifact: ") {
		t.Errorf("an artifact that is a folder: %s", got)
	}
}

// TestResume: what was taken in the middle of a stage, or is not valid, is passed over, and the stage that was cut off is
// the next one.
func TestResume(t *testing.T) {
	t.Parallel()
	files := wanted(t, tides)
	res := gyoshu.Resume(files, title, "", gyoshu.FoundHere, world(t, tides))
	if !res.Found || res.Checkpoint.ID != "ckpt-003" || res.Run != lastRun || res.Next != "S04_check_model" || res.Searched != 10 {
		t.Errorf("%+v", res)
	}
	if len(res.Passed) != 6 || res.Passed[0].Why != "it was taken in the middle of its stage (timeout)" || !strings.HasPrefix(res.Passed[5].Why, "Manifest SHA256 mismatch") {
		t.Errorf("passed over: %+v", res.Passed)
	}
	if res.Warning != "Checkpoint is imported - verify source before resuming" {
		t.Errorf("warning: %s", res.Warning)
	}
	if res := gyoshu.Resume(files, title, firstRun, gyoshu.MadeHere, world(t, tides)); res.Next != "S02_" || res.Warning != "" || res.Checkpoint.ID != "ckpt-001" {
		t.Errorf("the first run: %+v", res)
	}
	none := gyoshu.Resume(files, "none", "", gyoshu.MadeHere, world(t, tides))
	if none.Found || !slices.Equal(none.Issues, []string{"No checkpoints exist for this research/run"}) {
		t.Errorf("no research: %+v", none)
	}
	bad := slices.DeleteFunc(slices.Clone(files), func(f foreign.File) bool {
		return !strings.Contains(f.Path, "ckpt-edited") && !strings.Contains(f.Path, "ckpt-torn")
	})
	if res := gyoshu.Resume(bad, title, "", gyoshu.MadeHere, world(t, tides)); res.Found || res.Issues[0] != "No valid checkpoints found - all failed integrity checks" || res.Searched != 1 {
		t.Errorf("invalid ones only: %+v", res)
	}
}

// request asks for a checkpoint of a run of a new research.
func request(id, stage string, minute int) gyoshu.Request {
	return gyoshu.Request{Title: "dunes", Run: "run-1", ID: id, Session: "ses", Stage: stage, Reason: gyoshu.Abort, Now: noon.Add(time.Duration(minute) * time.Minute)}
}

// saved saves checkpoints one after the other.
func saved(t testing.TB, files foreign.Files, requests ...gyoshu.Request) foreign.Files {
	t.Helper()
	for _, r := range requests {
		save := gyoshu.Save
		if r.Status == gyoshu.Interrupted {
			save = gyoshu.SaveEmergency
		}
		made, err := save(files, r)
		if err != nil {
			t.Fatal(err)
		}
		files = foreigntest.With(files, made)
	}
	return files
}

func emergency(r gyoshu.Request) gyoshu.Request {
	r.Status = gyoshu.Interrupted
	return r
}

// TestEmergencyShadowsNothing: the fault of the original that loses work.
func TestEmergencyShadowsNothing(t *testing.T) {
	t.Parallel()
	files := saved(t, nil, request("a", "S01_load_data", 0), emergency(request("", "S02_plot_data", 1)), emergency(request("x", "S02_plot_data", 2)))
	res := gyoshu.Resume(files, "dunes", "run-1", gyoshu.MadeHere, foreign.World{})
	if !res.Found || res.Checkpoint.ID != "a" || res.Next != "S02_plot_data" {
		t.Errorf("%+v", res)
	}
	alone := saved(t, nil, emergency(request("x", "S01_load_data", 2)))
	if res := gyoshu.Resume(alone, "dunes", "", gyoshu.MadeHere, foreign.World{}); res.Found || res.Next != "S01_load_data" {
		t.Errorf("without a good one: %+v", res)
	}
}

// TestLastStageHasNoNext: the original makes S100_ of it, which it does not load.
func TestLastStageHasNoNext(t *testing.T) {
	t.Parallel()
	files := saved(t, nil, request("a", "S98_load_data", 0), request("b", "S99_load_more", 1))
	if res := gyoshu.Resume(files, "dunes", "", gyoshu.MadeHere, foreign.World{}); res.Next != "" || res.Checkpoint.ID != "b" {
		t.Errorf("%+v", res)
	}
	if next := gyoshu.NextStage("S98_load_data"); next != "S99_" {
		t.Errorf("behind the 98th: %q", next)
	}
	if next := gyoshu.NextStage("load"); next != "" {
		t.Errorf("behind no stage: %q", next)
	}
}

// TestSameTimeHasAnOrder: the original takes what the folder lists last.
func TestSameTimeHasAnOrder(t *testing.T) {
	t.Parallel()
	files := saved(t, nil, request("b", "S02_plot_data", 0), request("a", "S01_load_data", 0))
	for range 2 {
		if seen, _ := gyoshu.List(files, "dunes", ""); seen[0].ID != "b" {
			t.Errorf("%+v", seen)
		}
		slices.Reverse(files)
	}
}

// TestTrustIsNotTakenFromTheFile: what a manifest says of itself can warn, never reassure.
func TestTrustIsNotTakenFromTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    gyoshu.Provenance
		says string // of itself
		want string
	}{
		{gyoshu.MadeHere, "local", ""}, {gyoshu.MadeHere, "imported", "imported"}, {gyoshu.MadeHere, "untrusted", "untrusted"},
		{gyoshu.FoundHere, "local", "imported"}, {gyoshu.FoundHere, "untrusted", "untrusted"},
		{gyoshu.BroughtIn, "local", "untrusted"}, {gyoshu.BroughtIn, "imported", "untrusted"}, {"", "local", "untrusted"},
	} {
		m := gyoshu.Manifest{CheckpointID: "c", Session: "s", Title: "t", Run: "r", Stage: "S01_load_data", Status: gyoshu.Saved, Trust: gyoshu.Trust(c.says),
			Created: "2026-01-02T10:30:00Z", Notebook: gyoshu.NotebookRef{Path: "n", Cell: "c"}, Python: gyoshu.Python{Path: "p", Platform: "linux"},
			Rehydration: gyoshu.Rehydration{Mode: gyoshu.WithVars}}
		files := foreign.Files{{Path: "reports/t/checkpoints/r/c/checkpoint.json", Data: m.Encode()}}
		want := ""
		if c.want != "" {
			want = "Checkpoint is " + c.want + " - verify source before resuming"
		}
		if res := gyoshu.Resume(files, "t", "", c.p, foreign.World{}); !res.Found || res.Warning != want {
			t.Errorf("%s, which says that it is %s: %q, want %q", c.p, c.says, res.Warning, want)
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	var files foreign.Files
	for i, id := range strings.Fields("a b c d e f g") {
		files = saved(t, files, request(id, "S0"+string(rune('1'+i))+"_run_step", i))
	}
	prune := func(files foreign.Files, keep int) []string {
		p, err := gyoshu.Prune(files, "dunes", "run-1", keep, gyoshu.MadeHere, foreign.World{})
		if err != nil {
			t.Fatal(err)
		}
		if left := foreigntest.With(files, p.Files); len(gyoshu.Records(left, "dunes", "run-1")) != p.Kept {
			t.Errorf("%d are kept of %d", len(gyoshu.Records(left, "dunes", "run-1")), p.Kept)
		}
		return p.IDs
	}
	if got := prune(files, gyoshu.DefaultKeep); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("beyond five go %v", got)
	}
	if got := prune(files, 7); len(got) != 0 {
		t.Errorf("of seven go %v", got)
	}
	for _, keep := range []int{0, -1} { // to the original 0 means 5, and -1 removes all
		if _, err := gyoshu.Prune(files, "dunes", "run-1", keep, gyoshu.MadeHere, foreign.World{}); err == nil {
			t.Errorf("keep %d is taken", keep)
		}
	}
	cut := saved(t, files, emergency(request("x", "S08_run_step", 8)), emergency(request("y", "S08_run_step", 9)))
	if got := prune(cut, 1); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Errorf("beside the last good one go %v", got)
	}
	broken := append(slices.Clone(files), foreign.File{Path: "reports/dunes/checkpoints/run-1/z/checkpoint.json", Data: []byte("{")},
		foreign.File{Path: "reports/dunes/checkpoints/run-1/z/more.txt"})
	if got := prune(broken, 7); !slices.Equal(got, []string{"z"}) {
		t.Errorf("what Gyoshu cannot load: %v", got)
	}
	if got := prune(broken[len(broken)-2:], 1); len(got) != 0 {
		t.Errorf("without a good one go %v", got)
	}
}

// TestSave: notebook and manifest as Gyoshu writes them, in the order in which they must become durable.
func TestSave(t *testing.T) {
	t.Parallel()
	r := request("ckpt-001", "S01_load_data", 0)
	r.Artifacts = []gyoshu.Artifact{{Path: "reports/dunes/run-1/S01_load_data/a.csv", SHA256: strings.Repeat("ab", 32), Size: 4}}
	r.Python = gyoshu.Python{Path: "/usr/bin/python3", Packages: []string{"pandas==2.2.0"}, Platform: "linux"}
	made, err := gyoshu.Save(nil, r)
	if err != nil || len(made) != 2 || made[0].Path != "notebooks/dunes.ipynb" || made[1].Path != "reports/dunes/checkpoints/run-1/ckpt-001/checkpoint.json" {
		t.Fatalf("%v, %v", made, err)
	}
	golden(t, "testdata/saved.ipynb", made[0].Data)
	golden(t, "testdata/saved.json", made[1].Data)
}

// TestSaveRefuses: what the original saves and then cannot load.
func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	there := saved(t, nil, request("there", "S01_load_data", 0))
	for want, change := range map[string]func(*gyoshu.Request){
		"is not S{NN}_{verb}_{noun}":                   func(r *gyoshu.Request) { r.Stage = "S02_eda" },
		"Invalid reportTitle: contains path traversal": func(r *gyoshu.Request) { r.Title = ".." },
		"runId contains Windows reserved name: CON":    func(r *gyoshu.Request) { r.Run = "CON" },
		"checkpointId is required":                     func(r *gyoshu.Request) { r.ID = "" },
		"researchSessionID: it is empty":               func(r *gyoshu.Request) { r.Session = "" },
		"cannot stand in a marker":                     func(r *gyoshu.Request) { r.ID = "a:b" },
		"is not the 64 hexadecimal digits":             func(r *gyoshu.Request) { r.Artifacts = []gyoshu.Artifact{{Path: "a", SHA256: "unknown"}} },
		"Path traversal detected: a/../b": func(r *gyoshu.Request) {
			r.Artifacts = []gyoshu.Artifact{{Path: "a/../b", SHA256: strings.Repeat("0", 64)}}
		},
		"its name is not UTF-8": func(r *gyoshu.Request) {
			r.Artifacts = []gyoshu.Artifact{{Path: "a\xff", SHA256: strings.Repeat("0", 64)}}
		},
		"seed numpy: it is not a finite number":                     func(r *gyoshu.Request) { r.Python.Seeds = gyoshu.Seeds{{Name: "numpy", Value: inf()}} },
		"reason is required for emergency checkpoints":              func(r *gyoshu.Request) { r.Status, r.Reason = gyoshu.Emergency, "" },
		"there is one already":                                      func(r *gyoshu.Request) { r.ID = "there" },
		"notebooks/broken.ipynb: line 1, column 2: a key in quotes": func(r *gyoshu.Request) { r.Title = "broken" },
	} {
		r := request("ckpt-001", "S01_load_data", 0)
		change(&r)
		files := append(slices.Clone(there), foreign.File{Path: "notebooks/broken.ipynb", Data: []byte("{")})
		if made, err := gyoshu.Save(files, r); err == nil || !strings.Contains(err.Error(), want) || made != nil {
			t.Errorf("%v, %v; want %s", made, err, want)
		}
	}
}

// TestEmergencyWithoutNotebook: it is saved all the same, and Gyoshu loads it.
func TestEmergencyWithoutNotebook(t *testing.T) {
	t.Parallel()
	r := emergency(request("", "S01_load_data", 0))
	r.Session = ""
	made, err := gyoshu.SaveEmergency(foreign.Files{{Path: "notebooks/dunes.ipynb", Data: []byte("{")}}, r)
	if err != nil || len(made) != 1 {
		t.Fatalf("%v, %v", made, err)
	}
	m, problems := gyoshu.ReadManifest(made[0].Path, made[0].Data)
	if len(problems) > 0 || m.Trust != "" || m.Session != "unknown-session" || !strings.HasPrefix(m.CheckpointID, "ckpt-emergency-") || !strings.HasPrefix(m.Notebook.Cell, "ckpt-emergency-") {
		t.Errorf("%v\n%s", problems, made[0].Data)
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	files := saved(t, nil, request("z", "S01_load_data", 0), request("a", "S02_plot_data", 1))
	snap := func(files foreign.Files) gyoshu.Snapshot {
		return gyoshu.SnapshotOf(files, "dunes", "run-1", gyoshu.MadeHere, foreign.World{})
	}
	if s := snap(files); s.Last.ID != "a" || s.Last.Validation != "valid" || !s.Resumable || s.From != "a" {
		t.Errorf("newest by time: %+v %+v", s, s.Last)
	}
	// the original never sees this: it asks for a status that its emergencies do not have
	if s := snap(saved(t, files, emergency(request("x", "S03_fit_model", 2)))); s.Last.Validation != "emergency_no_artifacts" || !s.Resumable || s.From != "a" {
		t.Errorf("an emergency: %+v %+v", s, s.Last)
	}
	edited := slices.Clone(files)
	for i, f := range edited {
		if strings.Contains(f.Path, "/a/") {
			edited[i].Data = []byte(strings.Replace(string(f.Data), `"executionCount": 0`, `"executionCount": 7`, 1))
		}
	}
	if s := snap(edited); s.Last.Validation != "invalid_sha256" || s.From != "z" {
		t.Errorf("an edited one: %+v %+v", s, s.Last)
	}
	torn := foreign.Files{{Path: "reports/dunes/checkpoints/run-1/t/checkpoint.json", Data: []byte("{")}}
	if s := snap(torn); s.Last.Validation != "parse_error" || s.Resumable {
		t.Errorf("a torn one: %+v %+v", s, s.Last)
	}
	if s := snap(nil); s.Last != nil || s.Resumable {
		t.Errorf("nothing: %+v", s)
	}
}
