package notebook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tagged = `{"cell_type": "code", "id": "p", "metadata": {"tags": ["parameters"]}, "execution_count": null, "outputs": [], "source": "a: int = 1; d <- 3\nb = 2"}`

const python = `"metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}`

// TestInject: the cell goes behind the cell tagged parameters, and takes the place of an earlier one.
func TestInject(t *testing.T) {
	t.Parallel()
	text := strings.Replace(of(4, code("first", ""), tagged, code("last", "")), `"metadata": {}, "nbformat"`, python+`, "nbformat"`, 1)
	injected, warnings, err := read(t, text).Inject("", mustParams(t, "a: 5\nc: x"))
	if err != nil || cmp.Diff([]string{`the cell tagged "parameters" does not assign c; check the spelling`}, warnings) != "" {
		t.Fatalf("%v, %v", err, warnings)
	}
	valid(t, injected)
	n := read(t, string(injected))
	if len(n.Cells) != 4 || n.Cells[2].ID != "injected-parameters" || n.Cells[2].Source != "# Parameters\na = 5\nc = \"x\"\n" || !n.Cells[2].Has("injected-parameters") {
		t.Errorf("cells %+v", n.Cells)
	}
	if want := `"papermill": {"parameters": {"a": 5, "c": "x"}}`; !strings.Contains(string(injected), want) {
		t.Errorf("no %s in %s", want, injected)
	}
	again, _, err := n.Inject("", mustParams(t, "a: 5\nc: x"))
	if err != nil || string(again) != string(injected) {
		t.Errorf("the same parameters change the notebook: %v\n%s", err, again)
	}
	other, warnings, err := n.Inject("python", mustParams(t, "b: 6\nd: 7"))
	if m := read(t, string(other)); err != nil || len(warnings) > 0 || len(m.Cells) != 4 || m.Cells[2].ID != "injected-parameters" || m.Cells[2].Source != "# Parameters\nb = 6\nd = 7\n" {
		t.Errorf("%v, %v\n%s", err, warnings, other)
	}
}

// TestInjectAtTop: without a cell tagged parameters the cell is the first one. An id that is taken is not taken again.
func TestInjectAtTop(t *testing.T) {
	t.Parallel()
	for _, cells := range [][]string{nil, {code("x", `"id": "injected-parameters", `)}} {
		injected, warnings, err := read(t, of(5, cells...)).Inject("R", mustParams(t, "a: 5"))
		if err != nil || len(warnings) != 1 {
			t.Fatalf("%v, %v", err, warnings)
		}
		valid(t, injected)
		n := read(t, string(injected))
		if want := []string{"injected-parameters", "injected-parameters-2"}[len(cells)]; n.Cells[0].ID != want || n.Cells[0].Source != "# Parameters\na = 5L\n" {
			t.Errorf("cells %+v", n.Cells)
		}
	}
}

// TestInjectNothing: a notebook without parameters stays as it is.
func TestInjectNothing(t *testing.T) {
	t.Parallel()
	text := of(4, code("x", ""))
	if got, _, err := read(t, text).Inject("julia", nil); err != nil || string(got) != text {
		t.Errorf("%v: %s", err, got)
	}
	if _, _, err := read(t, text).Inject("", mustParams(t, "a: 1")); err == nil || !strings.Contains(err.Error(), "does not name its language") {
		t.Errorf("got %v", err)
	}
}
