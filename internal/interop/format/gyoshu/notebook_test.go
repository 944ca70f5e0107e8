package gyoshu_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/gyoshu"
)

func TestReadNotebook(t *testing.T) {
	t.Parallel()
	n, err := gyoshu.ReadNotebook(wanted(t, tides).Find("notebooks/" + title + ".ipynb").Data)
	if err != nil || len(n.Cells) != 8 {
		t.Fatalf("%d cells, %v", len(n.Cells), err)
	}
	at := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := &gyoshu.FrontMatter{Title: title, Status: "active", Created: at("2026-03-01T08:59:00Z"), Updated: at("2026-03-02T10:58:00Z"),
		Tags: []string{"tides", "coast"}, Goal: "Predict tides within 5 cm", Accept: []gyoshu.Criterion{{ID: "AC1", Kind: "metric_threshold", Text: "rmse <= 5"}},
		Runs: []gyoshu.RunEntry{
			{ID: firstRun, Started: at("2026-03-01T09:00:00Z"), Ended: at("2026-03-01T09:30:00Z"), Status: "completed"},
			{ID: lastRun, Started: at("2026-03-02T10:15:00Z"), Status: "in_progress", Notes: "second try: more ports"},
		}}
	if diff := cmp.Diff(want, n.Front, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	c := n.Cells[3]
	if c.Pointer.ID != "ckpt-001" || c.Pointer.Stage != "S01_load_tides" || !strings.HasSuffix(c.Pointer.Manifest, firstRun+"/ckpt-001/checkpoint.json") || c.Line() != 80 {
		t.Errorf("line %d: %+v", c.Line(), c)
	}
	if n.Cells[1].Source != "# Research Report\n" {
		t.Errorf("a source that is one text: %q", n.Cells[1].Source)
	}
}

// TestFrontMatterOfAllKinds reads what YAML has and Gyoshu's own reader misses, and what is none.
func TestFrontMatterOfAllKinds(t *testing.T) {
	t.Parallel()
	front := func(source string) *gyoshu.FrontMatter {
		data, err := json.Marshal(map[string]any{"cells": []any{map[string]any{"cell_type": "raw", "source": source}}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := gyoshu.ReadNotebook(data)
		if err != nil {
			t.Fatal(err)
		}
		return n.Front
	}
	f := front("---\r\ngyoshu:\r\n  reportTitle: 'it''s' # really\r\n  tags: [a, \"b c\", ]\r\n  status: \"say \\\"hi\\\"\"\r\n  runs:\r\n  - id: run-1\r\n    status: failed\r\n  - id: run-2\r\nother: x\r\n...\r\n")
	if f == nil || f.Title != "it's" || strings.Join(f.Tags, "|") != "a|b c" || f.Status != `say "hi"` || len(f.Runs) != 2 || f.Runs[0].Status != "failed" || f.Runs[1].ID != "run-2" {
		t.Errorf("%+v", f)
	}
	if f := front("---\ngyoshu:\n  slug: s\n  runs:\n  tags:\n---"); f == nil || f.Title != "s" || f.Runs != nil || f.Tags != nil {
		t.Errorf("empty lists: %+v", f)
	}
	for _, none := range []string{"", "---\ngyoshu:\n  a: b\n", " ---\ngyoshu:\n  a: b\n---", "---\ntitle: x\n---", "gyoshu:\n---"} {
		if f := front(none); f != nil {
			t.Errorf("%q: %+v", none, f)
		}
	}
}

// TestNotebookIsSpliced: a checkpoint's cell is added, and not one other byte is touched.
func TestNotebookIsSpliced(t *testing.T) {
	t.Parallel()
	old := string(wanted(t, tides).Find("notebooks/" + title + ".ipynb").Data)
	odd := regexp.MustCompile("(?m)^ +").ReplaceAllStringFunc(old, func(pad string) string { return strings.Repeat("\t", len(pad)/2) })
	odd = strings.ReplaceAll(odd, "\n", "\r\n") + "\r\n"
	for name, text := range map[string]string{"as Gyoshu sets it out": old, "set out otherwise": odd, "dense": `{"cells":[],"x":1.0, "nbformat":4}`} {
		r := request("ckpt-009", "S01_load_data", 0)
		made, err := gyoshu.Save(format.Files{{Path: "notebooks/dunes.ipynb", Data: []byte(text)}}, r)
		if err != nil {
			t.Fatal(err)
		}
		got := string(made[0].Data)
		from := 0
		for from < len(text) && got[from] == text[from] {
			from++
		}
		if rest := text[from:]; !strings.HasSuffix(got, rest) || len(got) <= len(text) {
			t.Errorf("%s: behind byte %d more changed than one cell", name, from)
		}
		n, err := gyoshu.ReadNotebook(made[0].Data)
		if err != nil || n.Cells[len(n.Cells)-1].Pointer.ID != "ckpt-009" {
			t.Errorf("%s: %v, the last cell is not there:\n%s", name, err, got)
		}
		if name == "set out otherwise" && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
			t.Errorf("%s: its lines end otherwise", name)
		}
	}
}

func TestNotebooksThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", `{"cells": {}}`, `{"cells": [`} {
		if n, err := gyoshu.ReadNotebook([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, n)
		}
	}
	n, err := gyoshu.ReadNotebook([]byte(`{"cells": [7, null, {"source": 7, "outputs": {"a": 1}, "metadata": []}, {"cell_type":"code","outputs":[null,{"output_type":"stream"}]}]}`))
	if err != nil || len(n.Cells) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
}

func FuzzReadNotebook(f *testing.F) {
	f.Add(wanted(f, tides).Find("notebooks/" + title + ".ipynb").Data)
	f.Add([]byte(`{"cells":[{"cell_type":"raw","source":"---\ngyoshu:\n - - - a: b\n   - c:\n---"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := gyoshu.ReadNotebook(data)
		if err != nil {
			return
		}
		for i := range n.Cells {
			n.Cells[i].Line()
		}
	})
}
