// Package notebooks checks what package notebook writes with Jupyter's own nbformat, and its literals of R with R.
package notebooks_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/kernel"
	"pawl/internal/notebook"
)

// empty returns a notebook without cells, in the language of a kernelspec.
func empty(spec, language string) []byte {
	return fmt.Appendf(nil, `{"cells": [], "metadata": {"kernelspec": {"display_name": %[1]q, "language": %[2]q, "name": %[1]q}, "language_info": {"name": %[2]q}}, "nbformat": 4, "nbformat_minor": 5}`, spec, language)
}

// python runs a program in the Python that has nbformat, with warnings as errors.
func python(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(interpreter(), append([]string{"-W", "error", "-c", program}, args...)...)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failed.String())
	}
	return string(out)
}

// check reads notebooks as nbclient does, and prints the ids of their cells: nbformat repairs invalid ones with a warning.
const check = `
import sys, nbformat
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert nbformat.v4.nbformat_minor == notebook.nbformat_minor == 5, path
    again = nbformat.reads(nbformat.writes(notebook), as_version=4)
    assert again == notebook, path
    print(path, *(cell.id for cell in notebook.cells))
`

// TestNbformat: nbformat reads all that pawl writes, without a warning and with the same ids.
func TestNbformat(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../internal/notebook/testdata/merge/*.out.ipynb")
	if err != nil || len(paths) < 4 {
		t.Fatal(paths, err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"appended": appended(t), "mended": mended(t), "outputs": withOutputs(t)} {
		path := filepath.Join(dir, name+".ipynb")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	var want strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := notebook.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString(path)
		for _, c := range n.Cells {
			want.WriteString(" " + c.ID)
		}
		want.WriteString("\n")
	}
	if got := python(t, check, paths...); got != want.String() {
		t.Errorf("got %s, want %s", got, want.String())
	}
}

// appended is a notebook of pawl's own.
func appended(t *testing.T) []byte {
	t.Helper()
	text, err := notebook.Append(empty("python3", "python"),
		notebook.NewCell{ID: "a", Type: notebook.Code, Source: "x\n", Count: 1, Tags: []string{"t"}}, notebook.NewCell{ID: "b", Type: notebook.Markdown, Source: "# T"},
		notebook.NewCell{ID: "c", Type: notebook.Raw})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mended is a notebook with all that pawl repairs, and with parameters.
func mended(t *testing.T) []byte {
	t.Helper()
	n, err := notebook.Read([]byte(`{"nbformat": 4, "nbformat_minor": 2, "cells": [
		{"cell_type": "code", "id": "a", "source": "x = 1"}, {"cell_type": "code", "id": "a", "source": "", "outputs": [{"output_type": "display_data", "data": {}}]},
		{"cell_type": "markdown", "id": "S01:load", "source": "x = 1"}, {"cell_type": "raw", "source": ["x = 1"], "attachments": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := n.Inject("python", notebook.Params{{Name: "x", Value: big.NewInt(2)}, {Name: "nan", Value: math.NaN()}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withOutputs is a notebook with outputs of each kind, as a recorder makes them.
func withOutputs(t *testing.T) []byte {
	t.Helper()
	r := notebook.NewRecorder(notebook.Limits{Text: notebook.MinText, Display: 1000}, func(_ kernel.CellID, name string, _ int64, _ []byte) (string, error) { return name, nil })
	data := map[string]json.RawMessage{"text/plain": json.RawMessage(`"t\n"`), "text/html": json.RawMessage(`{"not": "text"}`), "application/x+json": json.RawMessage(`[1]`), "image/png": json.RawMessage(`"` + strings.Repeat("QUJD", 999) + `"`)}
	for _, m := range []kernel.Message{
		{Kind: kernel.KindStream, Stream: kernel.Stdout, Text: strings.Repeat("\x1b[31mé\x00\n", 5000)}, {Kind: kernel.KindDisplay, Data: data, Metadata: json.RawMessage(`[]`)},
		{Kind: kernel.KindResult, Data: data}, {Kind: kernel.KindError, Error: &kernel.Error{Name: "E", Value: strings.Repeat("v", 1<<20)}}, {Kind: kernel.KindStream, Stream: kernel.Stderr},
	} {
		m.Cell = "c"
		if err := r.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	text, _, err := notebook.Merge(appended(t), []notebook.CellResult{{ID: "a", Source: "x\n", Outputs: r.Outputs("c"),
		Metadata: notebook.CellMetadata{Papermill: r.Times("c").Papermill(nil), Pawl: &notebook.Pawl{Run: "r"}}}}, json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestLiteralsOfR: R evaluates literals to the values that they stand for.
func TestLiteralsOfR(t *testing.T) {
	t.Parallel()
	text := "a\"\\\n\x01é\u2028😀'%s"
	params := notebook.Params{
		{Name: "text", Value: text}, {Name: "yes", Value: true}, {Name: "none"}, {Name: "int", Value: big.NewInt(-5)}, {Name: "least", Value: big.NewInt(math.MinInt32)},
		{Name: "large", Value: big.NewInt(1 << 53)}, {Name: "float", Value: 5e-324}, {Name: "inf", Value: math.Inf(-1)}, {Name: "nan", Value: math.NaN()},
		{Name: "list", Value: []any{big.NewInt(1), "x", []any{}}}, {Name: "map", Value: notebook.Map{{Name: "k \"y", Value: 1.5}}}, {Name: "a.b", Value: false},
	}
	code, err := notebook.Assignments("R", params)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, c := range text {
		codes = append(codes, fmt.Sprint(int(c)))
	}
	code += `stopifnot(identical(utf8ToInt(text), as.integer(c(` + strings.Join(codes, ", ") + `))), identical(yes, TRUE), is.null(none), identical(int, -5L), least == -2^31, large == 2^53,
  float == 2^-1074, inf == -Inf, is.nan(nan), identical(list, list(1L, "x", list())), identical(map, list("k \"y" = 1.5)), identical(a.b, FALSE))
`
	cmd := exec.Command("Rscript", "--vanilla", "-")
	cmd.Stdin, cmd.Env = strings.NewReader(code), append(os.Environ(), "LC_ALL=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, code)
	}
}
