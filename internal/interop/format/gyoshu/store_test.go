package gyoshu_test

import (
	"os"
	"path"
	"path/filepath"
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

// TestValidate holds Gyoshu's own words.
func TestValidate(t *testing.T) {
	t.Parallel()
	const stage3 = "reports/tide-levels/run-20260302-101500/S03_fit_model/"
	all := gyoshu.Format().Verify(wanted(t, tides), testEnv(t, tides))
	found := func(id string) []string {
		bad := []string{}
		for _, f := range all {
			if f.Level == pawl.Bad && f.Where == "reports/tide-levels/checkpoints/"+lastRun+"/"+id+"/checkpoint.json" {
				bad = append(bad, f.What)
			}
		}
		return bad
	}
	for _, id := range []string{"ckpt-torn", "ckpt-short-stage"} {
		if got := found(id); len(got) == 0 || got[0] != "Manifest failed to parse or validate" {
			t.Errorf("%s: %q", id, got)
		}
	}
	for id, want := range map[string][]string{
		"ckpt-001":                         {},
		"ckpt-002":                         {},
		"ckpt-003":                         {},
		"ckpt-missing":                     {"Artifact not found: " + stage3 + "none.csv"},
		"ckpt-longer":                      {"Size mismatch for reports/tide-levels/run-20260302-101500/S01_load_tides/tides.csv: expected 1, got 32"},
		"ckpt-climbs":                      {"Path traversal detected: reports/../../../etc/passwd"},
		"ckpt-emergency-mm8r0000-0badcafe": {},
	} {
		got := found(id)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", id, diff)
		}
	}
	for id, want := range map[string]string{
		"ckpt-edited": "Manifest SHA256 mismatch: expected ",
		"ckpt-other":  "SHA256 mismatch for " + stage3 + "notes.txt: expected ",
	} {
		got := found(id)
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
		for _, r := range gyoshu.Records(wanted(t, root), title, lastRun) {
			if r.ID == id {
				return strings.Join(r.Manifest.Issues(p.Trust(), testEnv(t, root)), "; ")
			}
		}
		return "there is none"
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

// resumed returns where a run would resume.
func resumed(t testing.TB, files format.Files, title, run string, env format.Env) (r format.Project, s gyoshu.Snapshot) {
	t.Helper()
	if env.Now.IsZero() {
		env.Now = noon.Add(time.Hour)
	}
	r, _ = gyoshu.ReadRun(files, title, run, env)
	return r, r.Snapshot.(gyoshu.Snapshot)
}

// TestResume: what was taken in the middle of a stage, or is not valid, is passed over, and the stage that was cut off is
// the next one.
func TestResume(t *testing.T) {
	t.Parallel()
	files := wanted(t, tides)
	r, s := resumed(t, files, title, "", testEnv(t, tides))
	if s.From != "ckpt-003" || r.ID != lastRun || r.Next != "S04_check_model, which was started and interrupted" {
		t.Errorf("%+v %q", s, r.Next)
	}
	says(t, formattest.Step(t, r, "S04_check_model").Resume, `"ckpt-emergency-mm8r0000-0badcafe" was skipped: it was taken in the middle of its stage (timeout).`,
		`"ckpt-climbs" was skipped: Path traversal`, `"ckpt-missing" was skipped: Artifact not found`, "Checkpoint is imported - verify source before resuming")
	if r, _ := resumed(t, files, "none", "", testEnv(t, tides)); r.Resume != "No checkpoints exist for this research/run" {
		t.Errorf("no research: %+v", r)
	}
	bad := slices.DeleteFunc(slices.Clone(files), func(f format.File) bool {
		return !strings.Contains(f.Path, "ckpt-edited") && !strings.Contains(f.Path, "ckpt-torn")
	})
	if r, _ := resumed(t, bad, title, "", testEnv(t, tides)); r.Resume != "No valid checkpoints found - all failed integrity checks" {
		t.Errorf("invalid ones only: %+v", r)
	}
	if r, s := resumed(t, files, title, firstRun, testEnv(t, tides)); r.Resume != "it is completed" || s.Resumable || s.Last.ID != "ckpt-001" || r.Next != "" {
		t.Errorf("the first run is completed: %q, %+v", r.Resume, s)
	}
}

// request asks for a checkpoint of a run of a new research.
func request(id, stage string, minute int) gyoshu.Request {
	return gyoshu.Request{Title: "dunes", Run: "run-1", ID: id, Session: "ses", Stage: stage, Reason: gyoshu.Abort, Now: noon.Add(time.Duration(minute) * time.Minute)}
}

// saved saves checkpoints one after the other.
func saved(t testing.TB, files format.Files, requests ...gyoshu.Request) format.Files {
	t.Helper()
	for _, r := range requests {
		made, err := gyoshu.Save(files, r)
		if err != nil {
			t.Fatal(err)
		}
		files = formattest.With(files, made)
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
	files := saved(t, nil, request("a", "S01_load_data", 0), emergency(request("w", "S02_plot_data", 1)), emergency(request("x", "S02_plot_data", 2)))
	if r, s := resumed(t, files, "dunes", "run-1", format.Env{}); s.From != "a" || r.Next != "S02_plot_data, which was started and interrupted" {
		t.Errorf("%+v %+v", r, s)
	}
	alone := saved(t, nil, emergency(request("x", "S01_load_data", 2)))
	if r, s := resumed(t, alone, "dunes", "", format.Env{}); s.Resumable || r.Next != "S01_load_data" || !strings.HasPrefix(r.Resume, "Only emergency checkpoints") {
		t.Errorf("without a good one: %+v %+v", r, s)
	}
}

// TestLastStageHasNoNext: the original makes S100_ of it, which it does not load.
func TestLastStageHasNoNext(t *testing.T) {
	t.Parallel()
	files := saved(t, nil, request("a", "S98_load_data", 0), request("b", "S99_load_more", 1))
	if r, s := resumed(t, files, "dunes", "", format.Env{}); r.Next != "the stage after S99_load_more" || s.From != "b" {
		t.Errorf("%+v %+v", r, s)
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
		if _, s := resumed(t, files, "dunes", "", format.Env{}); s.Last.ID != "b" || s.From != "b" {
			t.Errorf("%+v", s)
		}
		slices.Reverse(files)
	}
}

// TestTrustIsNotTakenFromTheFile: what a manifest says of itself can warn, never reassure.
func TestTrustIsNotTakenFromTheFile(t *testing.T) {
	t.Parallel()
	for says, want := range map[gyoshu.Trust]string{"local": "imported", "imported": "imported", "untrusted": "untrusted"} {
		m := gyoshu.Manifest{CheckpointID: "c", Session: "s", Title: "t", Run: "r", Stage: "S01_load_data", Status: gyoshu.Saved, Trust: says,
			Created: "2026-01-02T10:30:00Z", Notebook: gyoshu.NotebookRef{Path: "n", Cell: "c"}, Python: gyoshu.Python{Path: "p", Platform: "linux"},
			Artifacts: []gyoshu.Artifact{{Path: "a.pkl", SHA256: strings.Repeat("ab", 32), Size: 4}}, Rehydration: gyoshu.Rehydration{Mode: gyoshu.WithVars}}
		files := format.Files{{Path: "reports/t/checkpoints/r/c/checkpoint.json", Data: m.Encode()}}
		r, _ := resumed(t, files, "t", "", format.Env{})
		if !strings.HasSuffix(r.Resume, "; Checkpoint is "+want+" - verify source before resuming") {
			t.Errorf("it says that it is %s: %q", says, r.Resume)
		}
		if runs := strings.Contains(r.Prompt, "pickle.load"); runs == (want == "untrusted") {
			t.Errorf("it says that it is %s, and this is to be executed:\n%s", says, r.Prompt)
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	var files format.Files
	for i, id := range strings.Fields("a b c d e f g") {
		files = saved(t, files, request(id, "S0"+string(rune('1'+i))+"_run_step", i))
	}
	system := gyoshu.Format()
	prune := func(files format.Files, keep int) []string {
		gone, err := system.Prune(files, keep, format.Env{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, f := range gone {
			if strings.HasSuffix(f.Path, "/") {
				ids = append(ids, path.Base(f.Path))
			} else if files.Find(f.Path) == nil || f.Data != nil {
				t.Errorf("%s is not removed", f.Path)
			}
		}
		if left := gyoshu.Records(formattest.With(files, gone), "dunes", "run-1"); len(left) != len(gyoshu.Records(files, "dunes", "run-1"))-len(ids) {
			t.Errorf("%d are kept", len(left))
		}
		slices.Sort(ids)
		return ids
	}
	if got := prune(files, 5); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("beyond five go %v", got)
	}
	if got := prune(files, 7); len(got) != 0 {
		t.Errorf("of seven go %v", got)
	}
	for _, keep := range []int{0, -1} { // to the original 0 means 5, and -1 removes all
		if _, err := system.Prune(files, keep, format.Env{}); err == nil {
			t.Errorf("keep %d is taken", keep)
		}
	}
	cut := saved(t, files, emergency(request("x", "S08_run_step", 8)), emergency(request("y", "S08_run_step", 9)))
	if got := prune(cut, 1); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Errorf("beside the last good one go %v", got)
	}
	broken := append(slices.Clone(files), format.File{Path: "reports/dunes/checkpoints/run-1/z/checkpoint.json", Data: []byte("{")},
		format.File{Path: "reports/dunes/checkpoints/run-1/z/more.txt"})
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
		"is not allowed in a marker":                   func(r *gyoshu.Request) { r.ID = "a:b" },
		"is not the 64 hexadecimal digits":             func(r *gyoshu.Request) { r.Artifacts = []gyoshu.Artifact{{Path: "a", SHA256: "unknown"}} },
		"Path traversal detected: a/../b": func(r *gyoshu.Request) {
			r.Artifacts = []gyoshu.Artifact{{Path: "a/../b", SHA256: strings.Repeat("0", 64)}}
		},
		"its name is not UTF-8": func(r *gyoshu.Request) {
			r.Artifacts = []gyoshu.Artifact{{Path: "a\xff", SHA256: strings.Repeat("0", 64)}}
		},
		"seed numpy: it is not a finite number":                    func(r *gyoshu.Request) { r.Python.Seeds = gyoshu.Seeds{{Name: "numpy", Value: inf()}} },
		"reason is required for emergency checkpoints":             func(r *gyoshu.Request) { r.Status, r.Reason = gyoshu.Emergency, "" },
		"it exists already":                                        func(r *gyoshu.Request) { r.ID = "there" },
		"notebooks/broken.ipynb: line 1, column 2: unexpected end": func(r *gyoshu.Request) { r.Title = "broken" },
	} {
		r := request("ckpt-001", "S01_load_data", 0)
		change(&r)
		files := append(slices.Clone(there), format.File{Path: "notebooks/broken.ipynb", Data: []byte("{")})
		if made, err := gyoshu.Save(files, r); err == nil || !strings.Contains(err.Error(), want) || made != nil {
			t.Errorf("%v, %v; want %s", made, err, want)
		}
	}
}

// TestSnapshot: the report in Gyoshu's terms, as `pawl import gyoshu --dry-run --json` prints it.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	files := saved(t, nil, request("z", "S01_load_data", 0), request("a", "S02_plot_data", 1))
	snap := func(files format.Files) gyoshu.Snapshot {
		_, s := resumed(t, files, "dunes", "run-1", format.Env{})
		return s
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
	torn := format.Files{{Path: "reports/dunes/checkpoints/run-1/t/checkpoint.json", Data: []byte("{")}}
	if s := snap(torn); s.Last.Validation != "parse_error" || s.Resumable {
		t.Errorf("a torn one: %+v %+v", s, s.Last)
	}
	ended := slices.Clone(files)
	for i, f := range ended {
		if strings.HasSuffix(f.Path, ".ipynb") {
			ended[i].Data = []byte(`{"cells":[{"cell_type":"raw","source":"---\ngyoshu:\n  runs:\n    - id: run-1\n      started: 2026-03-01T00:00:00Z\n      status: completed\n---\n"}]}`)
		}
	}
	if s := snap(ended); s.Last.ID != "a" || s.Resumable {
		t.Errorf("a run that has ended: %+v %+v", s, s.Last)
	}
	if s := snap(nil); s.Last != nil || s.Resumable {
		t.Errorf("nothing: %+v", s)
	}
}

// TestFoldersHaveSafeNames: a checkpoint that lies in a folder whose name leads elsewhere, or is a device's, is no base, whatever
// its manifest says of itself.
func TestFoldersHaveSafeNames(t *testing.T) {
	t.Parallel()
	good := saved(t, nil, request("a", "S01_load_data", 0))
	data := good.Find("reports/dunes/checkpoints/run-1/a/checkpoint.json").Data
	for place, want := range map[string]string{
		"run-1/CON": "checkpointId contains Windows reserved name: CON", "run-1/..x": "Invalid checkpointId: contains path traversal characters",
		"NUL/a": "runId contains Windows reserved name: NUL", "a./a": "Invalid runId: ends with a dot or a space",
	} {
		files := format.Files{{Path: "reports/dunes/checkpoints/" + place + "/checkpoint.json", Data: data}}
		found := gyoshu.Format().Verify(files, format.Env{Now: noon.Add(time.Hour)})
		if !slices.ContainsFunc(found, func(f pawl.Finding) bool { return f.Level == pawl.Bad && f.What == want && f.Where == files[0].Path }) {
			t.Errorf("%s: %+v", place, found)
		}
		r, s := resumed(t, files, "dunes", "", format.Env{})
		if s.Resumable || s.Last.Validation == "valid" || r.Checkpoints[0].Valid || r.Phases[0].Steps[0].Status == pawl.Done {
			t.Errorf("%s: %+v %+v", place, s, r)
		}
	}
}
