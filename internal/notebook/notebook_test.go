package notebook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/internal/notebook"
)

// jupyter is Jupyter's own schema of nbformat 4.5.
var jupyter = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := os.ReadFile("testdata/nbformat.v4.5.schema.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("nbformat.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("nbformat.json")
})

// valid checks a notebook against Jupyter's schema, and that its ids are unique.
func valid(t testing.TB, text []byte) {
	t.Helper()
	schema, err := jupyter()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if err := schema.Validate(doc); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var n struct {
		Cells []struct{ ID string }
	}
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range n.Cells {
		if seen[c.ID] {
			t.Fatalf("two cells have the id %s:\n%s", c.ID, text)
		}
		seen[c.ID] = true
	}
}

func read(t testing.TB, text string) *notebook.Notebook {
	t.Helper()
	n, err := notebook.Read([]byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return n
}

// of returns a notebook with cells that are written as JSON.
func of(minor int, cells ...string) string {
	return fmt.Sprintf(`{"cells": [%s], "metadata": {}, "nbformat": 4, "nbformat_minor": %d}`, strings.Join(cells, ", "), minor)
}

// code returns the JSON of a code cell; more are members, each with a comma after it.
func code(source, more string) string {
	return fmt.Sprintf(`{"cell_type": "code", %s"metadata": {}, "execution_count": null, "outputs": [], "source": %q}`, more, source)
}

func TestRead(t *testing.T) {
	t.Parallel()
	n := read(t, `{
 "cells": [
  {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# T\n", "text"], "attachments": {}},
  {"cell_type": "code", "id": "load", "metadata": {"tags": ["parameters", "x"], "other": {"a": 1}}, "source": "a = 1\n",
   "execution_count": 3, "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]},
    {"output_type": "execute_result", "execution_count": 3, "data": {"text/plain": "1"}, "metadata": {"m": 2}},
    {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]}]},
  {"cell_type": "raw", "id": "r", "metadata": {}, "source": ""}
 ],
 "metadata": {"kernelspec": {"name": "ir", "display_name": "R"}, "language_info": {"name": "R"}},
 "nbformat": 4, "nbformat_minor": 5}`)
	if len(n.Warnings) > 0 || n.Minor != 5 || n.Kernel != (notebook.Kernelspec{Name: "ir", DisplayName: "R", Language: "r"}) {
		t.Errorf("minor %d, kernel %+v, warnings %v", n.Minor, n.Kernel, n.Warnings)
	}
	c := n.Cells[1]
	if c.ID != "load" || !c.Own || c.Type != notebook.Code || c.Source != "a = 1\n" || c.Count != 3 || !c.Has("x") || c.Has("y") ||
		string(c.Metadata("other", "a")) != "1" || c.Metadata("none") != nil || n.Cells[0].Source != "# T\ntext" {
		t.Errorf("cell %+v", c)
	}
	outputs := c.Outputs()
	if len(outputs) != 3 || outputs[0].Text != "a\nb" || string(outputs[1].Data["text/plain"]) != `"1"` || outputs[1].Count != 3 || outputs[2].Error.Traceback[0] != "t" {
		t.Errorf("outputs %+v", outputs)
	}
	if n.Find("r") != 2 || n.Find("s") != -1 {
		t.Error("Find")
	}
}

// TestExecutes: code runs unless it is tagged or blank, as in nbclient.
func TestExecutes(t *testing.T) {
	t.Parallel()
	n := read(t, of(5, code("a", `"id": "a", `), code(" \n", `"id": "b", `), `{"cell_type": "markdown", "id": "c", "metadata": {}, "source": "x"}`,
		`{"cell_type": "code", "id": "d", "metadata": {"tags": ["skip-execution"]}, "execution_count": null, "outputs": [], "source": "x"}`))
	for i, want := range []bool{true, false, false, false} {
		if n.Cells[i].Executes() != want {
			t.Errorf("cell %d", i)
		}
	}
}

// TestBadNotebooks: each error says where, what is wrong, and how to mend it.
func TestBadNotebooks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "line 1, column 1: the file is empty; a notebook needs at least",
		"{\"cells\": [\n1,\n]}":             "line 3, column 1: not JSON: expected a value",
		"\"\xff\"":                          "line 1, column 2: not UTF-8; save the notebook as UTF-8",
		"{\n<<<<<<< HEAD\n":                 "line 2, column 1: a conflict of a git merge; resolve it first",
		"[]":                                "line 1, column 1: a notebook must be a JSON object",
		"{}":                                "line 1, column 1: not a notebook: it has neither",
		`{"nbformat": 3, "worksheets": []}`: "line 1, column 14: nbformat 3 is too old; convert the notebook with: jupyter nbconvert --to notebook --nbformat 4 --inplace FILE",
		`{"nbformat": 5}`:                   "line 1, column 14: nbformat 5 is newer than 4, the newest that this pawl reads; update pawl, or save the notebook as version 4",
		`{"nbformat": 4, "cells": []}`:      `line 1, column 1: "nbformat_minor" must be an integer from 0 to 5`,
		of(6):                               "nbformat 4.6 is newer than 4.5",
		`{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}`:                                                   `"cells" must be a list of cells`,
		`{"nbformat": 4, "nbformat_minor": 5, "metadata": [], "cells": [1]}`:                                     "line 1, column 50: \"metadata\" of the notebook must be an object\nline 1, column 64: cell 1 must be an object",
		of(5, `{"cell_type": "heading"}`):                                                                        `line 1, column 26: "cell_type" of cell 1 must be "code", "markdown" or "raw"`,
		of(5, `{"cell_type": "raw", "metadata": {}, "id": "a"}`):                                                 `"source" of cell 1 must be a string or a list of strings`,
		of(5, `{"cell_type": "raw", "metadata": {}, "source": ["a", 1]}`):                                        `"source" of cell 1 must be a string or a list of strings`,
		of(5, `{"cell_type": "raw", "metadata": {"tags": "skip-execution"}, "source": ""}`):                      `"tags" of cell 1 must be a list of strings`,
		of(5, `{"cell_type": "raw", "source": "", "source": "x", "metadata": {}}`):                               `cell 1 has the key "source" twice; remove one`,
		of(5, `{"cell_type": "code", "source": "\ud83d", "metadata": {}}`):                                       `"source" of cell 1 contains half of a surrogate pair`,
		of(5, `{"cell_type": "code", "source": "", "metadata": {}, "outputs": {}, "execution_count": 1}`):        `"outputs" of cell 1 must be a list`,
		of(5, `{"cell_type": "code", "source": "", "metadata": {}, "outputs": [], "execution_count": "1"}`):      `"execution_count" of cell 1 must be null or a count`,
		`{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [` + strings.Repeat("1,", 50_000) + `1]}`: "the notebook has 50001 cells, more than 50000; split it",
	} {
		_, err := notebook.Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %s", text, err, want)
		}
	}
}

// TestWarnings: what pawl can repair, or what does not matter for the execution, is no error.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		of(5, code("a", "")): `cell 1 has no "id"; pawl adds one`,
		of(5, code("a", `"id": "a", `), code("b", `"id": "a", `)):                                             `"id" of cell 2 is the same as that of an earlier cell; pawl replaces it`,
		of(5, code("a", `"id": "S01:load.x", `)):                                                              `"id" of cell 1 must be 1 to 64 letters, digits, - and _; pawl replaces it`,
		of(4, code("a", `"id": "a", `)):                                                                       `cell 1 has an "id", which nbformat 4.4 does not know; pawl sets nbformat_minor to 5`,
		of(5, `{"cell_type": "code", "id": "a", "source": "", "metadata": {}, "outputs": []}`):                `cell 1 has no "execution_count"; pawl adds null`,
		of(5, `{"cell_type": "code", "id": "a", "source": "", "metadata": {}, "execution_count": 1}`):         `cell 1 has no "outputs"; pawl adds []`,
		of(5, `{"cell_type": "code", "id": "a", "source": "", "outputs": [], "execution_count": 1}`):          `cell 1 has no "metadata"; pawl adds it`,
		of(5, code("a", `"id": "a", "trusted": true, `)):                                                      `cell 1 has the key "trusted", which the format does not know; move it to "metadata"`,
		strings.Replace(of(5), `"metadata": {}`, `"metadata": {"kernelspec": {"name": "x"}}`, 1):              `"kernelspec" needs "name" and "display_name"`,
		strings.Replace(of(5, code("a", `"id": "a", `)), "[]", `[{"output_type": "pyout"}]`, 1):               `output 1 of cell 1 has an unknown type; clear the outputs`,
		strings.Replace(of(5, code("a", `"id": "a", `)), "[]", `[{"output_type": "stream", "name": "x"}]`, 1): `output 1 of cell 1 has no "text"; clear the outputs`,
		strings.Replace(of(5, code("a", `"id": "a", `)), "[]",
			`[{"output_type": "display_data", "data": {}, "metadata": {}, "transient": {}}]`, 1): `output 1 of cell 1 has the key "transient", which the format does not know; clear the outputs`,
	} {
		n := read(t, text)
		got := []string{}
		for _, w := range n.Warnings {
			got = append(got, strings.TrimSuffix(w.Text+"; "+w.Repair, "; "))
			if w.Line != 1 || w.Column == 0 {
				t.Errorf("%s: line %d, column %d", w.Text, w.Line, w.Column)
			}
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Error(diff)
		}
		if mended, err := n.Mend(); err != nil {
			t.Error(err)
		} else if strings.Contains(want, "pawl ") && len(mended.Warnings) > 0 {
			t.Errorf("after the repair: %v", mended.Warnings)
		}
	}
}

// TestDerivedIDs: cells without an id get the same ones each time, also after other cells were inserted; own ids stay.
func TestDerivedIDs(t *testing.T) {
	t.Parallel()
	a, b := code("a = 1", ""), code("print(a)", "")
	n := read(t, of(4, a, b, b))
	m := read(t, of(5, code("new", `"id": "own", `), b, a, b))
	if n.Cells[0].ID != m.Cells[2].ID || n.Cells[1].ID != m.Cells[1].ID || n.Cells[2].ID != m.Cells[3].ID || n.Cells[1].ID == n.Cells[2].ID || m.Cells[0].ID != "own" {
		t.Errorf("%v, %v", ids(n), ids(m))
	}
	const want = "c-c82debf3bb0e"
	if got := n.Cells[0].ID; got != want { // or a rerun after an update of pawl would not find its cells
		t.Errorf("the id of a cell is now %s, not %s", got, want)
	}
	mended, err := m.Mend()
	if err != nil || cmp.Diff(ids(m), ids(mended)) != "" || len(mended.Warnings) > 0 {
		t.Errorf("%v, then %v: %v", ids(m), ids(mended), err)
	}
}

func ids(n *notebook.Notebook) []string {
	list := []string{}
	for _, c := range n.Cells {
		list = append(list, c.ID)
	}
	return list
}

// TestKeys: a key changes with the sources before it, and with the seed, and not with cells that are not executed.
func TestKeys(t *testing.T) {
	t.Parallel()
	seed := "seed"
	keys := func(seed string, cells ...string) []string {
		return notebook.Keys(read(t, of(5, cells...)).Cells, seed)
	}
	a, b := code("a", ""), code("b", "")
	first := keys(seed, a, b)
	withText := keys(seed, a, `{"cell_type": "markdown", "id": "c", "metadata": {}, "source": "x"}`, code("", ""), b)
	if withText[0] != first[0] || withText[1] != "" || withText[2] != "" || withText[3] != first[1] {
		t.Errorf("%v, then %v", first, withText)
	}
	if len(first[0]) != 64 || first[0] == first[1] || keys(seed, b)[0] == first[1] || keys("another", a)[0] == first[0] {
		t.Error("keys do not depend on what is before the cell")
	}
}

func mustParams(t testing.TB, text string) notebook.Params {
	t.Helper()
	p, err := notebook.ParseParams("params.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FuzzRead: no notebook makes the reader panic, and a mended one needs no more repairs.
func FuzzRead(f *testing.F) {
	for _, text := range []string{of(5, code("a", `"id": "a", `)), of(4, code("a", ""), code("a", "")), of(5, code("a", `"id": "!", `)), "{", of(0),
		of(5, `{"cell_type": "code", "source": ["a\n", "b"], "outputs": [{"output_type": "execute_result", "data": {}}]}`)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := notebook.Read(text)
		if err != nil {
			return
		}
		mended, err := n.Mend()
		if err != nil {
			t.Fatalf("the mended notebook is invalid: %v", err)
		}
		if diff := cmp.Diff(ids(n), ids(mended)); diff != "" {
			t.Fatal(diff)
		}
		if again, err := mended.Mend(); err != nil || again != mended {
			t.Fatalf("a mended notebook is mended again: %v", err)
		}
		for _, c := range mended.Cells {
			for _, o := range c.Outputs() {
				if _, err := json.Marshal(o); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
