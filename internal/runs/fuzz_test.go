package runs

import (
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/journal"
)

// FuzzReports reads anything as what a step leaves behind: result.json, events.jsonl and a list of values. What is accepted fits into the
// journal, and the ids of items can name folders.
func FuzzReports(f *testing.F) {
	f.Add([]byte(`{"status":"done","summary":"x","items":[{"id":"a","title":"t"}],"memory":[{"kind":"gotcha","text":"t"}],"gate":{"type":"decision","ask":"?"}}`))
	f.Add([]byte("{\"item\":{\"id\":\"../x\"}}\n{\"item\":{\"id\":\"a\"}}\n"))
	f.Add([]byte("a\n\r\n../..\n\x1b[2J\n\xff\n \na"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := parseResult(data); err == nil && (len(r.Summary) > maxText+100 || CheckSize(r.Gate) != nil || len(r.Memory) > maxTexts) {
			t.Errorf("too large: %+v", r)
		}
		linesIn(data)
		values := valuesIn(data)
		if checkValues(values) != nil {
			return
		}
		seen := map[pawl.ItemID]bool{}
		for _, value := range values {
			id := pawl.ItemIDOf(value)
			if _, err := pawl.ParseStepID(string(id)); err != nil || seen[id] { // the same characters
				t.Errorf("%q has the id %q", value, id)
			}
			seen[id] = true
		}
	})
}

// FuzzOrigin reads anything as the mark of a run, as a line of a journal and as the content of an answer.
func FuzzOrigin(f *testing.F) {
	const run = "r-20260101-000000-0000"
	f.Add([]byte(`{"run":"r-20260101-000000-0000","segment":-1,"bytes":1}`))
	for _, by := range []string{`{"kind":"person"}`, `{"kind":"engine"}`, `{"kind":"per\u0073on"}`, `{}`} {
		f.Add([]byte(`{"seq":1,"batch":1,"time":"2026-01-01T00:00:00.000000000Z","epoch":0,"by":` + by + `,"type":"gate.answered","data":{},"crc":"00000000"}` + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, ok := parseMark(data, run); ok && (m.Run != run || m.Segment < 0 || m.Bytes < 0) {
			t.Errorf("%+v", m)
		}
		if kind, content, ok := journal.Content(data); ok && isWord(kind) && wordSum(kind, content) == "" {
			t.Errorf("%q", data)
		}
		fromOutside(pawl.GateAnswered{}.Event(), data) // accepts any content
	})
}

// FuzzRestoreMarker reads anything as the marker of a restore. The run that it names is a folder's name.
func FuzzRestoreMarker(f *testing.F) {
	f.Add([]byte("r-20260101-000000-0000\n"))
	f.Add([]byte("../x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if run, ok := parseMarker(data); ok && (filepath.Base(string(run)) != string(run) || run == ".." || string(run)+"\n" != string(data)) {
			t.Errorf("%q", run)
		}
	})
}
