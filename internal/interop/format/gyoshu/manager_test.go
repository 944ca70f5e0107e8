package gyoshu_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/gyoshu"
)

// manager is a project whose checkpoints calls manage, a second apart.
type manager struct {
	t     *testing.T
	root  string
	files format.Files
	now   time.Time
}

func newManager(t *testing.T) *manager { return &manager{t: t, root: t.TempDir(), now: noon} }

// write writes a file of a stage.
func (m *manager) write(name, content string) {
	m.t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// call calls the tool with arguments in JSON.
func (m *manager) call(args string) (gyoshu.Result, error) {
	m.t.Helper()
	var c gyoshu.Call
	if err := json.Unmarshal([]byte(args), &c); err != nil {
		m.t.Fatal(err)
	}
	env := testEnv(m.t, m.root)
	m.now = m.now.Add(time.Second)
	env.Now = m.now
	result, changed, err := gyoshu.Manage(m.files, env, gyoshu.Python{Path: "/p/.venv/bin/python", Packages: []string{"pandas==2.0.0"}}, c)
	m.files = formattest.With(m.files, changed)
	return result, err
}

// must calls the tool and compares its result, without what depends on the time, with a wanted one.
func (m *manager) must(args, want string) {
	m.t.Helper()
	result, err := m.call(args)
	if err != nil {
		m.t.Errorf("%s: %v", args, err)
		return
	}
	result.SHA256, result.Cell, result.Created = "", "", ""
	if result.Base != nil {
		result.Base.Created = ""
	}
	for i := range result.Checkpoints {
		result.Checkpoints[i].Created = ""
	}
	got, err := json.Marshal(result)
	if err != nil || strings.ReplaceAll(string(got), `,"createdAt":""`, "") != want {
		m.t.Errorf("%s:\n%s\n%v; want\n%s", args, got, err, want)
	}
}

// The calls of a session with three stages, an interruption, a damaged artifact and a clean-up.
func TestManage(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	m.write("out/a.csv", "a\n1\n")
	m.write("out/b.json", "{}")
	m.must(`{"action":"resume","reportTitle":"tides"}`,
		`{"success":true,"action":"resume","found":false,"reportTitle":"tides","searchedCount":0,"validationIssues":["No checkpoints exist for this research/run"]}`)
	m.must(`{"action":"save","reportTitle":"tides","runId":"r1","checkpointId":"c1","researchSessionID":"s","stageId":"load-data","artifacts":[{"relativePath":"out/a.csv"}]}`,
		`{"success":true,"action":"save","checkpointId":"c1","reportTitle":"tides","runId":"r1","stageId":"S01_load_data","status":"saved","manifestPath":"reports/tides/checkpoints/r1/c1/checkpoint.json","notebookPath":"notebooks/tides.ipynb","artifactCount":1}`)
	m.must(`{"action":"save","reportTitle":"tides","runId":"r1","checkpointId":"c2","researchSessionID":"s","stageId":"S02_plot_data","artifacts":[{"relativePath":"out/a.csv"},{"relativePath":"out/b.json"}]}`,
		`{"success":true,"action":"save","checkpointId":"c2","reportTitle":"tides","runId":"r1","stageId":"S02_plot_data","status":"saved","manifestPath":"reports/tides/checkpoints/r1/c2/checkpoint.json","notebookPath":"notebooks/tides.ipynb","artifactCount":2}`)
	m.must(`{"action":"emergency","reportTitle":"tides","runId":"r1","checkpointId":"e1","stageId":"S03_fit_model","reason":"watchdog_timeout","artifacts":[{"relativePath":"x/none.csv","sha256":"unknown"}]}`,
		`{"success":true,"action":"emergency","checkpointId":"e1","reportTitle":"tides","runId":"r1","stageId":"S03_fit_model","status":"interrupted","reason":"timeout","manifestPath":"reports/tides/checkpoints/r1/e1/checkpoint.json","notebookPath":"notebooks/tides.ipynb","cellAppendSucceeded":true,"artifactCount":0,"artifactsValidated":false,"issues":["Cannot read artifact x/none.csv; it is not in the checkpoint"]}`)
	m.must(`{"action":"list","reportTitle":"tides","runId":"r1"}`,
		`{"success":true,"action":"list","reportTitle":"tides","runId":"r1","checkpoints":[{"checkpointId":"e1","runId":"r1","stageId":"S03_fit_model","status":"interrupted","artifactCount":0},{"checkpointId":"c2","runId":"r1","stageId":"S02_plot_data","status":"saved","artifactCount":2},{"checkpointId":"c1","runId":"r1","stageId":"S01_load_data","status":"saved","artifactCount":1}],"count":3}`)
	resumed, err := m.call(`{"action":"resume","reportTitle":"tides"}`)
	if err != nil || resumed.Base.Checkpoint != "c2" || resumed.Next != "S03_fit_model" || *resumed.Searched != 3 ||
		!strings.Contains(strings.Join(resumed.Rehydration, "\n"), `a = pd.read_csv("out/a.csv")`) {
		t.Errorf("resume: %+v, %v", resumed, err)
	}
	m.write("out/b.json", "[]")
	m.must(`{"action":"validate","reportTitle":"tides","runId":"r1","checkpointId":"c1"}`,
		`{"success":true,"action":"validate","valid":true,"checkpointId":"c1","reportTitle":"tides","runId":"r1","stageId":"S01_load_data","status":"saved","artifactCount":1,"issues":[]}`)
	damaged, err := m.call(`{"action":"validate","reportTitle":"tides","runId":"r1","checkpointId":"c2"}`)
	if err != nil || *damaged.Valid || len(damaged.Issues) != 1 || !strings.HasPrefix(damaged.Issues[0], "SHA256 mismatch for out/b.json") {
		t.Errorf("validate: %+v, %v", damaged, err)
	}
	if resumed, err = m.call(`{"action":"resume","reportTitle":"tides","runId":"r1"}`); err != nil || resumed.Base.Checkpoint != "c1" {
		t.Errorf("resume behind a damaged checkpoint: %+v, %v", resumed, err)
	}
	m.must(`{"action":"validate","reportTitle":"tides","runId":"r1","checkpointId":"none"}`,
		`{"success":true,"action":"validate","valid":false,"checkpointId":"none","reportTitle":"tides","runId":"r1","issues":["Manifest not found: reports/tides/checkpoints/r1/none/checkpoint.json"]}`)
	m.must(`{"action":"prune","reportTitle":"tides","runId":"r1","keepCount":1}`, // c1 is the last valid one
		`{"success":true,"action":"prune","reportTitle":"tides","runId":"r1","keepCount":1,"pruned":0,"prunedIds":[],"kept":3,"totalBefore":3}`)
	m.write("out/b.json", "{}")
	m.must(`{"action":"prune","reportTitle":"tides","runId":"r1","keepCount":1}`,
		`{"success":true,"action":"prune","reportTitle":"tides","runId":"r1","keepCount":1,"pruned":1,"prunedIds":["c1"],"kept":2,"totalBefore":3}`)
}

// What a repeated call, a broken notebook and wrong parameters do.
func TestManageFailures(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	const first = `{"action":"save","reportTitle":"tides","runId":"r1","checkpointId":"c1","researchSessionID":"s","stageId":"S01_load_data"}`
	one, err := m.call(first)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.call(first); err != nil || again.SHA256 != one.SHA256 || again.Cell != one.Cell {
		t.Errorf("a repeated save: %+v, %v; want %+v", again, err, one)
	}
	for args, want := range map[string]string{
		`{"action":"save","reportTitle":"tides","runId":"r1","checkpointId":"c1","researchSessionID":"s","stageId":"S02_load_more"}`: "it exists already, with other content",
		`{"action":"save"}`:                                 "reportTitle is required for all checkpoint operations",
		`{"action":"save","reportTitle":".."}`:              "runId is required for save action",
		`{"action":"list","reportTitle":".."}`:              "Invalid reportTitle: contains path traversal characters",
		`{"action":"prune","reportTitle":"t"}`:              "runId is required for prune action",
		`{"action":"fly","reportTitle":"t"}`:                "Unknown action: fly",
		`{"action":"list","reportTitle":"t","runId":"CON"}`: "runId contains Windows reserved name: CON",
		`{"action":"save","reportTitle":"t","runId":"r","checkpointId":"c","researchSessionID":"s","stageId":"S01_a_b","notebookPathOverride":"/etc/x.ipynb"}`: "notebookPathOverride must be notebooks/t.ipynb",
		`{"action":"save","reportTitle":"t","runId":"r","checkpointId":"c","researchSessionID":"s","stageId":"S01_a_b","status":"emergency"}`:                  "reason is required for emergency checkpoints",
	} {
		if _, err := m.call(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", args, err, want)
		}
	}
	m.files = formattest.With(m.files, []format.File{{Path: "notebooks/tides.ipynb", Data: []byte("{")}})
	if _, err := m.call(`{"action":"save","reportTitle":"tides","runId":"r1","checkpointId":"c2","researchSessionID":"s","stageId":"S02_a_b"}`); err == nil {
		t.Error("saved without a cell")
	}
	saved, err := m.call(`{"action":"emergency","reportTitle":"tides","runId":"r1","stageId":"S02_a_b","reason":"abort"}`)
	if err != nil || *saved.CellAppended || m.files.Find(saved.ManifestPath) == nil {
		t.Errorf("emergency without a notebook: %+v, %v", saved, err)
	}
}
