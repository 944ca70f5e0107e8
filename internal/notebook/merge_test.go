package notebook_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/kernel"
	"pawl/internal/notebook"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// result returns the result of a cell, with all metadata.
func result(id, source string) notebook.CellResult {
	at, failed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), false
	times := notebook.Times{Busy: at, Started: at, Reply: at.Add(time.Second), Idle: at.Add(time.Second)}
	return notebook.CellResult{ID: id, Source: source, Count: 2,
		Outputs: []notebook.Output{
			{Type: notebook.Stream, Stream: kernel.Stdout, Text: "one <&> é\ntwo"},
			{Type: notebook.Result, Count: 2, Data: map[string]json.RawMessage{"text/plain": json.RawMessage(`"1"`), "application/json": json.RawMessage(`{"b": 12345678901234567890, "a": [1.50]}`)}},
		},
		Metadata: notebook.CellMetadata{
			Execution: times.Execution(), Papermill: times.Papermill(&failed),
			Pawl: &notebook.Pawl{Run: "r1", Step: "fit", Attempt: 1, Token: "t", CellKey: notebook.Key("", source)},
		},
	}
}

// TestMerge compares merged notebooks of several layouts with golden files. Merging again changes nothing.
func TestMerge(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/merge/*.in.ipynb")
	if err != nil || len(inputs) < 4 {
		t.Fatal(inputs, err)
	}
	for _, path := range inputs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var results []notebook.CellResult
		for _, c := range read(t, string(text)).Cells {
			switch c.Source {
			case "data = 1", "fit(data)\n":
				results = append(results, result(c.ID, c.Source))
			}
		}
		results = append(results, result("edited", "edited = 1"), result("removed", "x"))
		merged, conflicts, err := notebook.Merge(text, results, json.RawMessage(`{"application/vnd.jupyter.widget-state+json": {}}`))
		if err != nil {
			t.Fatal(path, err)
		}
		valid(t, merged)
		if len(conflicts) != 2 || conflicts[1] != (notebook.Conflict{ID: "removed", Reason: notebook.Removed}) || conflicts[0].ID != "edited" {
			t.Errorf("%s: conflicts %v", path, conflicts)
		}
		golden := strings.Replace(path, ".in.", ".out.", 1)
		if *update {
			if err := os.WriteFile(golden, merged, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if diff := cmp.Diff(string(want), string(merged)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", path, err, diff)
		}
		again, _, err := notebook.Merge(merged, results, json.RawMessage(`{"application/vnd.jupyter.widget-state+json": {}}`))
		if diff := cmp.Diff(string(merged), string(again)); diff != "" || err != nil {
			t.Errorf("%s: a second merge changes it: %v %s", path, err, diff)
		}
	}
}

// TestMergeNothing: a notebook without a cell to change stays as it is, also an old or odd one.
func TestMergeNothing(t *testing.T) {
	t.Parallel()
	text := of(3, code("a", ""), code("b", `"id": "b", `))
	for _, results := range [][]notebook.CellResult{nil, {result("none", "x")}, {result("b", "another source")}} {
		merged, conflicts, err := notebook.Merge([]byte(text), results, nil)
		if err != nil || string(merged) != text || len(conflicts) != len(results) {
			t.Errorf("%v, %v: %s", err, conflicts, merged)
		}
	}
	if _, _, err := notebook.Merge([]byte("{"), nil, nil); err == nil {
		t.Error("no error for a damaged notebook")
	}
	bad := result("b", "b")
	bad.Outputs[1].Data["text/plain"] = json.RawMessage(`{`)
	if merged, _, err := notebook.Merge([]byte(text), []notebook.CellResult{bad}, nil); err != nil {
		t.Errorf("damaged data of a display: %v", err)
	} else {
		valid(t, merged)
	}
}

// aCell is a cell of a random notebook.
type aCell struct {
	Type    string         `json:"cell_type"`
	ID      string         `json:"id"`
	Meta    map[string]any `json:"metadata"`
	Source  any            `json:"source"`
	Count   *int           `json:"execution_count,omitempty"`
	Outputs []any          `json:"outputs,omitempty"`
}

func cells() *rapid.Generator[[]aCell] {
	return rapid.Custom(func(t *rapid.T) []aCell {
		var list []aCell
		for i := range rapid.IntRange(0, 6).Draw(t, "cells") {
			c := aCell{Type: rapid.SampledFrom([]string{"code", "code", "markdown"}).Draw(t, "type"), ID: fmt.Sprint("c", i), Meta: map[string]any{}}
			c.Source = rapid.SampledFrom([]any{"a = 1\n", []string{"a = 1\n"}, "x", ""}).Draw(t, "source")
			if rapid.Bool().Draw(t, "noted") {
				c.Meta["zz"] = rapid.String().Draw(t, "note")
			}
			if one := 1; c.Type == "code" {
				c.Count, c.Outputs = &one, []any{map[string]any{"output_type": "stream", "name": "stdout", "text": "old"}}
			}
			list = append(list, c)
		}
		return list
	})
}

// TestMergeKeeps: a merge changes no cell but those that it has a result for, keeps their order, and is idempotent.
func TestMergeKeeps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		indent := rapid.SampledFrom([]string{"", " ", "  ", "\t"}).Draw(t, "indent")
		text, err := json.MarshalIndent(map[string]any{"cells": append([]aCell{}, cells().Draw(t, "cells")...), "metadata": map[string]any{}, "nbformat": 4, "nbformat_minor": 5}, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		var results []notebook.CellResult
		has := map[string]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "results") {
			r := result(fmt.Sprint("c", rapid.IntRange(0, 7).Draw(t, "cell")), rapid.SampledFrom([]string{"a = 1\n", "x"}).Draw(t, "source"))
			results, has[r.ID+r.Source] = append(results, r), true
		}
		merged, conflicts, err := notebook.Merge(text, results, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := notebook.Merge(merged, results, nil)
		if err != nil || string(again) != string(merged) {
			t.Fatalf("a second merge: %v\n%s\n%s", err, merged, again)
		}
		before, after := parts(t, text), parts(t, merged)
		if len(before) != len(after) {
			t.Fatalf("%d cells became %d", len(before), len(after))
		}
		applied := 0
		for i := range before {
			if c := before[i]; c["cell_type"] == `"code"` && has[strings.Trim(c["id"], `"`)+c.source(t)] {
				applied++
				for _, key := range []string{"outputs", "execution_count", "metadata"} {
					delete(before[i], key)
					delete(after[i], key)
				}
			}
			if diff := cmp.Diff(before[i], after[i]); diff != "" {
				t.Fatalf("cell %d: %s", i, diff)
			}
		}
		if len(conflicts)+applied > len(results) || applied > 0 == (string(merged) == string(text)) {
			t.Fatalf("%d results, %d applied, %d conflicts:\n%s", len(results), applied, len(conflicts), merged)
		}
	})
}

// part is a cell, each member as it is written.
type part map[string]string

func (p part) source(t *rapid.T) string {
	var text string
	var lines []string
	if json.Unmarshal([]byte(p["source"]), &text) != nil {
		if err := json.Unmarshal([]byte(p["source"]), &lines); err != nil {
			t.Fatal(err)
		}
	}
	return text + strings.Join(lines, "")
}

func parts(t *rapid.T, text []byte) []part {
	var n struct{ Cells []map[string]json.RawMessage }
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	var list []part
	for _, c := range n.Cells {
		p := part{}
		for key, value := range c {
			p[key] = string(value)
		}
		list = append(list, p)
	}
	return list
}

// TestAppend: cells are appended to a new notebook.
func TestAppend(t *testing.T) {
	t.Parallel()
	text := []byte("{\n \"cells\": [],\n \"metadata\": {\"language_info\": {\"name\": \"python\"}},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n")
	valid(t, text)
	r := result("a", "x\n")
	text, err := notebook.Append(text, notebook.NewCell{ID: "a", Type: notebook.Code, Source: "x\n", Outputs: r.Outputs, Count: 1, Metadata: r.Metadata, Tags: []string{"t"}},
		notebook.NewCell{ID: "b", Type: notebook.Markdown, Source: "# T"})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, text)
	n := read(t, string(text))
	if len(n.Cells) != 2 || n.Kernel.Language != "python" || !n.Cells[0].Has("t") || n.Cells[1].Source != "# T" || string(n.Cells[0].Metadata("pawl", "run")) != `"r1"` ||
		!strings.HasPrefix(string(text), "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n") || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("%s", text)
	}
}

// TestDescribe: a notebook gets the language of its kernel, and keeps the kernelspec that it names.
func TestDescribe(t *testing.T) {
	t.Parallel()
	spec := notebook.Kernelspec{Name: "python3", DisplayName: "Python 3", Language: "python"}
	info := []byte(`{"name": "python", "version": "3.11.2", "codemirror_mode": {"name": "ipython", "version": 3}}`)
	for text, kernel := range map[string]string{of(4, code("a", "")): "python3", strings.Replace(of(5), `"metadata": {}`, `"metadata": {"kernelspec": {"name": "mine", "display_name": "Mine"}}`, 1): "mine"} {
		described, err := notebook.Describe([]byte(text), spec, info)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, described)
		if n := read(t, string(described)); n.Kernel.Name != kernel || n.Kernel.Language != "python" || !strings.Contains(string(n.LanguageInfo), `"version": 3`) {
			t.Errorf("%s", described)
		}
		if again, err := notebook.Describe(described, spec, info); err != nil || string(again) != string(described) {
			t.Errorf("%v: %s", err, again)
		}
	}
	if same, err := notebook.Describe([]byte(of(5)), notebook.Kernelspec{}, []byte(`{"name": 1}`)); err != nil || string(same) != of(5) {
		t.Errorf("%v: %s", err, same)
	}
}
