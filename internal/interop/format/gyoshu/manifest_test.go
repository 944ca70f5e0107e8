package gyoshu_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/textedit/jsonedit"
)

// checkers are programs that know Gyoshu's rule for a manifest's hash, in other languages.
var checkers = [][]string{{"node", "testdata/check.mjs"}, {"python3", "testdata/check.py"}}

// checked returns which of the manifests a checker finds good.
func checked(t *testing.T, checker []string, files ...string) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), checker[0], append(checker[1:], files...)...).Output()
	if err != nil {
		t.Fatalf("%s (`make tools` installs what the tests need): %v", checker[0], err)
	}
	good := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		verdict, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		good[file] = verdict == "good"
	}
	if len(good) != len(files) {
		t.Fatalf("%s spoke of %d of %d manifests", checker[0], len(good), len(files))
	}
	return good
}

// TestManifestsOfOthers compares what this package says of a manifest's hash with what the checkers say.
func TestManifestsOfOthers(t *testing.T) {
	t.Parallel()
	var paths []string
	intact := map[string]bool{}
	for _, r := range gyoshu.Records(wanted(t, tides), "", "") {
		if r.Manifest != nil {
			name := filepath.Join(tides, r.Path)
			paths, intact[name] = append(paths, name), r.Manifest.Intact()
		}
	}
	for _, c := range checkers {
		if diff := cmp.Diff(checked(t, c, paths...), intact); diff != "" {
			t.Errorf("-%s +this package\n%s", c[0], diff)
		}
	}
	if n := len(paths); n != 11 {
		t.Errorf("%d manifests were read", n)
	}
}

// TestManifestsThatWeWrite has manifests with all that can stand in them checked by the checkers.
func TestManifestsThatWeWrite(t *testing.T) {
	t.Parallel()
	var files []format.File
	rapid.Check(t, func(t *rapid.T) {
		m := anyManifest(t)
		if len(files) < 300 {
			files = append(files, format.File{Path: fmt.Sprintf("%d.json", len(files)), Data: m.Encode()})
		}
		again, problems := gyoshu.ReadManifest("m", m.Encode())
		if len(problems) > 0 || !again.Intact() {
			t.Fatalf("%v\n%s", problems, m.Encode())
		}
		if !bytes.Equal(again.Encode(), m.Encode()) {
			t.Fatalf("read and written again it is\n%s\nnot\n%s", again.Encode(), m.Encode())
		}
	})
	root := t.TempDir()
	store(t, root, files)
	var paths []string
	for _, f := range files {
		paths = append(paths, filepath.Join(root, f.Path))
	}
	for _, c := range checkers {
		for file, good := range checked(t, c, paths...) {
			if !good {
				t.Errorf("%s refuses %s", c[0], file)
			}
		}
	}
}

func anyManifest(t *rapid.T) gyoshu.Manifest {
	word := rapid.StringOfN(rapid.Rune(), 1, 12, -1)
	hash := rapid.StringMatching(`[0-9a-fA-F]{64}`)
	m := gyoshu.Manifest{
		CheckpointID: word.Draw(t, "id"),
		Session:      word.Draw(t, "session"),
		Title:        word.Draw(t, "title"),
		Run:          word.Draw(t, "run"),
		Stage:        rapid.StringMatching(`S[0-9]{2}_[a-z]{1,8}_[a-z_]{1,8}`).Draw(t, "stage"),
		Status:       rapid.SampledFrom([]gyoshu.Status{gyoshu.Saved, gyoshu.Interrupted, gyoshu.Emergency}).Draw(t, "status"),
		Trust:        rapid.SampledFrom([]gyoshu.Trust{"", gyoshu.Local, gyoshu.Imported}).Draw(t, "trust"),
		Created:      time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "created")).UTC().Format("2006-01-02T15:04:05.000Z"),
		Executions:   rapid.Int64Range(0, 1<<53).Draw(t, "executions"),
		Notebook:     gyoshu.NotebookRef{Path: word.Draw(t, "notebook"), Cell: word.Draw(t, "cell")},
		Python:       gyoshu.Python{Path: word.Draw(t, "python"), Platform: "linux", Packages: rapid.SliceOfN(word, 0, 3).Draw(t, "packages")},
		Rehydration:  gyoshu.Rehydration{Mode: gyoshu.ArtifactsOnly, Source: rapid.SliceOfN(word, 0, 3).Draw(t, "source")},
	}
	if m.Status != gyoshu.Saved {
		m.Reason = gyoshu.Abort
	}
	names := rapid.SliceOfNDistinct(rapid.OneOf(word, rapid.StringMatching(`[0-9]{1,3}`)), 0, 5, rapid.ID[string]).Draw(t, "seeds")
	for _, name := range names {
		seed := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(n int64) float64 { return float64(n) }),
			rapid.SampledFrom([]float64{1.5e-8, 123456.789, 0.5}))
		m.Python.Seeds = append(m.Python.Seeds, gyoshu.Seed{Name: name, Value: seed.Draw(t, "seed")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "artifacts") {
		m.Artifacts = append(m.Artifacts, gyoshu.Artifact{Path: word.Draw(t, "path"), SHA256: hash.Draw(t, "sha256"), Size: rapid.Int64Range(0, 1<<50).Draw(t, "size")})
	}
	return m
}

// TestStringifyAgainstNode compares how values are written with how JavaScript writes them.
func TestStringifyAgainstNode(t *testing.T) {
	t.Parallel()
	texts := []string{
		`{"b":1,"10":2,"9":3,"a":4,"01":5,"4294967295":6,"4294967294":7,"-1":8,"1.0":9,"":0,"a":10,"9":11}`,
		`[0.000001,1e-7,123e-20,1.5e300,1e400,-1e400,-0,0.1,1e21,123456789012345680000,5e-324,1.7976931348623157e308,4.35,0.3e1]`,
		`["\ud800","\udc00\ud800","\ud83d\ude00","\ud83dx","\u2028\u2029\u007f\u0080","\u0000\u001f\b\f\n\r\t\"\\\/<>&"]`,
		`{"__proto__":{"a":1},"constructor":[],"toString":{}}`,
		`[[],{},[[]],{"a":{}}]`, `""`, `true`, `null`, ` [ 1 ,2 ] `,
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "number")
		data, err := json.Marshal(map[string]any{rapid.String().Draw(t, "key"): []any{f, rapid.String().Draw(t, "text")}, fmt.Sprint(rapid.Uint32().Draw(t, "index")): 1})
		if err == nil && len(texts) < 300 {
			texts = append(texts, string(data))
		}
	})
	cmd := exec.CommandContext(t.Context(), "node", "testdata/check.mjs", "--stringify")
	cmd.Stdin = strings.NewReader(strings.Join(texts, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node (`make tools` installs what the tests need): %v", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(texts) {
		t.Fatalf("node spoke of %d of %d texts", len(lines), len(texts))
	}
	for i, line := range lines {
		want, err := jsonedit.Read([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		got, err := jsonedit.Read([]byte(texts[i]))
		if err != nil {
			t.Fatalf("%s: %v", texts[i], err)
		}
		if diff := cmp.Diff(want.Text(), string(got.Stringify("  "))); diff != "" {
			t.Errorf("%s: -node +ours\n%s", texts[i], diff)
		}
	}
}

// TestWhatGyoshuDoesNotLoad has one change after the other made to a manifest that it loads.
func TestWhatGyoshuDoesNotLoad(t *testing.T) {
	t.Parallel()
	good := gyoshu.Manifest{CheckpointID: "c", Session: "s", Title: "t", Run: "r", Stage: "S01_load_data", Status: gyoshu.Saved,
		Created: "2026-01-02T10:30:00Z", Notebook: gyoshu.NotebookRef{Path: "n", Cell: "c"}, Python: gyoshu.Python{Path: "p", Platform: "linux"},
		Artifacts:   []gyoshu.Artifact{{Path: "a", SHA256: strings.Repeat("aF", 32)}},
		Rehydration: gyoshu.Rehydration{Mode: gyoshu.WithVars}}
	text := string(good.Encode())
	if _, problems := gyoshu.ReadManifest("m", []byte(text)); len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"checkpointId": "c"`, `"checkpointId": ""`, "m:2: checkpointId: it is empty"},
		{`"checkpointId": "c"`, `"checkpointId": 7`, "m:2: checkpointId: it is not a string"},
		{`"checkpointId": "c",`, ``, "m:1: checkpointId: it is missing"},
		{`"S01_load_data"`, `"S02_eda"`, `m:6: stageId: "S02_eda" is not S{NN}_{verb}_{noun}: two digits, then small letters only`},
		{`"S01_load_data"`, `"S1_load_data"`, `m:6: stageId: "S1_load_data" is not`},
		{`"S01_load_data"`, `"S01_load_Data"`, `m:6: stageId`},
		{`"S01_load_data"`, `"S01_load_data2"`, `m:6: stageId`},
		{`"saved"`, `"done"`, `m:7: status: "done" is not one of saved, interrupted, emergency`},
		{`"saved"`, `"emergency"`, `m:7: reason: an emergency checkpoint must say why`},
		{`"saved",`, `"saved", "reason": "because",`, `m:7: reason: "because" is not one of timeout, abort, error`},
		{`"saved",`, `"saved", "reason": null,`, `m:7: reason: null is not one of`},
		{`"saved",`, `"saved", "trustLevel": "full",`, `m:7: trustLevel`},
		{"10:30:00Z", "10:30:00+00:00", `m:8: createdAt: "2026-01-02T10:30:00+00:00" is not a time`},
		{"10:30:00Z", "10:30:00", `m:8: createdAt`},
		{"10:30:00Z", "10:30:00,5Z", `m:8: createdAt`},
		{"10:30:00Z", "10:30:00.Z", `m:8: createdAt`},
		{"10:30:00Z", "10:30Z", `m:8: createdAt`},
		{"2026-01-02T", "2026-02-29T", `m:8: createdAt`},
		{"2026-01-02T", "2026-01-02t", `m:8: createdAt`},
		{`"executionCount": 0`, `"executionCount": 0.5`, "m:9: executionCount: it is not a non-negative integer"},
		{`"executionCount": 0`, `"executionCount": -1`, "m:9: executionCount"},
		{`"executionCount": 0`, `"executionCount": 1e999`, "m:9: executionCount"},
		{`"executionCount": 0`, `"executionCount": "0"`, "m:9: executionCount: it is not a number"},
		{`"checkpointCellId": "c"`, `"checkpointCellId": ""`, "m:12: notebook.checkpointCellId: it is empty"},
		{`"packages": []`, `"packages": [1]`, "m:16: pythonEnv.packages.0: it is not a string"},
		{`"packages": []`, `"packages": {}`, "m:16: pythonEnv.packages: it is not a list"},
		{`"packages": [],`, `"packages": [], "randomSeeds": {"numpy": "7"},`, "m:16: pythonEnv.randomSeeds: numpy: it is not a number"},
		{`"packages": [],`, `"packages": [], "randomSeeds": null,`, "m:16: pythonEnv.randomSeeds: it is not an object"},
		{`"sizeBytes": 0`, `"sizeBytes": -4`, "m:23: artifacts.0.sizeBytes: it is not a non-negative integer"},
		{strings.Repeat("aF", 32), "unknown", "m:22: artifacts.0.sha256: it is not the 64 hexadecimal digits of a SHA-256"},
		{`"with_vars"`, `"all"`, `m:27: rehydration.mode: "all" is not one of artifacts_only, with_vars`},
		{text[len(text)-20:], "x\"\n}", "m:30: manifestSha256"},
		{"{\n  \"check", "\xef\xbb\xbf{\n  \"check", "m:1: it starts with a byte order mark, which Gyoshu rejects"},
		{"{\n  \"check", "[{\n  \"check", "invalid JSON"},
	} {
		broken := strings.Replace(text, c.from, c.to, 1)
		if broken == text {
			t.Fatalf("%s is not there", c.from)
		}
		_, problems := gyoshu.ReadManifest("m", []byte(broken))
		if len(problems) == 0 || !strings.HasPrefix(problems[0].Where+": "+problems[0].What, c.want) && !strings.Contains(problems[0].What, c.want) {
			t.Errorf("%s → %s: %+v, want %s", c.from, c.to, problems, c.want)
		}
	}
	for _, same := range []struct{ from, to string }{
		{"10:30:00Z", "10:30:00.123456789012Z"}, {"2026-01-02T", "2028-02-29T"}, {`"executionCount": 0`, `"executionCount": 1e1`}, {`"saved",`, `"saved", "more": {"x": null},`},
	} {
		if _, problems := gyoshu.ReadManifest("m", []byte(strings.Replace(text, same.from, same.to, 1))); len(problems) > 0 {
			t.Errorf("%s is refused: %v", same.to, problems)
		}
	}
}

// TestHashIsNotOfWhiteSpace shows that a manifest may be set out anew, but not changed.
func TestHashIsNotOfWhiteSpace(t *testing.T) {
	t.Parallel()
	file := wanted(t, tides).Find("reports/" + title + "/checkpoints/" + lastRun + "/ckpt-002/checkpoint.json")
	var dense bytes.Buffer
	if err := json.Compact(&dense, file.Data); err != nil {
		t.Fatal(err)
	}
	crlf := bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n"))
	for _, data := range [][]byte{dense.Bytes(), crlf, append(bytes.Clone(file.Data), '\n')} {
		if m, problems := gyoshu.ReadManifest("m", data); len(problems) > 0 || !m.Intact() {
			t.Errorf("%v, intact: %v", problems, m.Intact())
		}
	}
	for _, change := range [][2]string{{`"x-note"`, `"y-note"`}, {`"zero": 0`, `"zero": 1`}, {"S02_clean_tides", "S02_clean_tidez"}} {
		m, _ := gyoshu.ReadManifest("m", bytes.Replace(file.Data, []byte(change[0]), []byte(change[1]), 1))
		if m.Intact() {
			t.Errorf("%s for %s is not seen", change[1], change[0])
		}
	}
}

// TestBytesThatAreNoText reads them as Node does: one replacement character for what could have become one character.
func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{"\xff\xfe", "\ufffd\ufffd"}, {"\xe2\x82", "\ufffd"}, {"\xe2\x28\xa1", "\ufffd(\ufffd"}, {"\xf0\x9f\x98", "\ufffd"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"}, {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"}, {"\xc0\xaf", "\ufffd\ufffd"},
		{"\xe0\x80\xaf", "\ufffd\ufffd\ufffd"}, {"ok\xf1\x80", "ok\ufffd"},
	} {
		m, _ := gyoshu.ReadManifest("m", []byte(`{"checkpointId":"`+c.raw+`"}`))
		if m.CheckpointID != c.want {
			t.Errorf("%q is read as %q, want %q", c.raw, m.CheckpointID, c.want)
		}
	}
}

func FuzzReadManifest(f *testing.F) {
	for _, file := range wanted(f, tides) {
		if strings.HasSuffix(file.Path, "checkpoint.json") {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := gyoshu.ReadManifest("m", data)
		if m == nil && len(problems) == 0 {
			t.Fatal("nothing was read, and nothing is wrong")
		}
		if m == nil || len(problems) > 0 {
			return
		}
		m.Issues(gyoshu.Untrusted, format.Env{})
		for _, line := range gyoshu.Rehydrate(m, gyoshu.Local) {
			if strings.ContainsAny(line, "\n\r") {
				t.Errorf("a line of Python is two: %q", line)
			}
		}
	})
}
