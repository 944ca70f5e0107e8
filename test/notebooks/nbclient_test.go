package notebooks_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pawl/internal/kernel"
	"pawl/internal/notebook"
	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// nbclient executes a notebook as people do without pawl.
const nbclient = `
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
`

// compared are cells whose outputs pawl and nbclient have to agree on.
var compared = []string{
	"import sys, os\nprint('one')\nprint('two', file=sys.stderr)\nprint('three', flush=True)\n1 + 1",
	"from IPython.display import *\ndisplay(HTML('<b>x</b>'), Markdown('# T'), JSON({'a': [1, None]}), Latex('$x$'))",
	// A thread of ipykernel reads the descriptor: without a wait, the text can come after the cell's end.
	"import threading\nread, write = threading.Event(), sys.stdout.write\ndef watched(text):\n    write(text)\n    if 'child' in text: read.set()\n" +
		"sys.stdout.write = watched\nos.write(1, b'from the descriptor\\n'); os.system('echo from a child')\nread.wait(); del sys.stdout.write",
	"d = display('first', display_id='d')",
	"d.update('second')\ndisplay('first', display_id='e')\nupdate_display('third', display_id='e')",
	"print('gone')\nclear_output()\nprint('cleared')\nclear_output(wait=True)\nprint('stays')",
	"display({'text/plain': 'raw', 'application/vnd.x+json': {'b': 1, 'a': [2.50]}}, metadata={'m': 1}, raw=True)",
	"print('x' * 5000, end='')\nprint('\\x1b[31mred\\x1b[0m', 'é😀\\u2028')",
	"import pandas\npandas.DataFrame({'a<b': [1, 2]})",
	"import base64\nImage(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))",
	"x = 5;",
	"None",
	"for i in range(20): display(i)",
}

// TestSameAsNbclient: pawl and nbclient leave the same outputs. pawl merges pieces of one stream; nbclient leaves them apart.
func TestSameAsNbclient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := empty("python3", "python")
	var err error
	for i, source := range compared {
		if text, err = notebook.Append(text, notebook.NewCell{ID: "c" + string(rune('a'+i)), Type: notebook.Code, Source: source}); err != nil {
			t.Fatal(err)
		}
	}
	if text, err = notebook.Append(text, notebook.NewCell{ID: "raises", Type: notebook.Code, Source: "def f(): 1/0\nf()", Tags: []string{notebook.TagRaises}},
		notebook.NewCell{ID: "skipped", Type: notebook.Code, Source: "1/0", Tags: []string{notebook.TagSkip}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "in.ipynb")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	python(t, nbclient, path, filepath.Join(dir, "nbclient.ipynb"))
	run(t, dir, "in.ipynb", "pawl.ipynb")
	want, got := executed(t, filepath.Join(dir, "nbclient.ipynb")), executed(t, filepath.Join(dir, "pawl.ipynb"))
	var languages [2]any
	for i, n := range []*notebook.Notebook{want, got} {
		if err := json.Unmarshal(n.LanguageInfo, &languages[i]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(languages[0], languages[1]); diff != "" {
		t.Error(diff)
	}
	all := 0
	for i := range want.Cells {
		all += len(want.Cells[i].Outputs())
		if diff := gocmp.Diff(outputsOf(t, &want.Cells[i]), outputsOf(t, &got.Cells[i])); diff != "" || want.Cells[i].Count != got.Cells[i].Count {
			t.Errorf("%s\ncounts %d and %d, -nbclient +pawl:\n%s", want.Cells[i].Source, want.Cells[i].Count, got.Cells[i].Count, diff)
		}
	}
	if all < 35 {
		t.Errorf("nbclient left %d outputs", all)
	}
}

// interpreter is the one that has ipykernel.
func interpreter() string { return cmp.Or(os.Getenv("PAWL_TEST_PYTHON"), "/usr/bin/python3") }

// run executes a notebook with pawl, in a Jupyter kernel.
func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	runIn(t, dir, os.Environ(), append([]string{"--python", interpreter()}, args...)...)
}

func runIn(t *testing.T, dir string, environ []string, args ...string) {
	t.Helper()
	cmd := exec.Command(storytest.Pawl(t), append([]string{"notebook", "run", "--driver", "jupyter"}, args...)...)
	cmd.Dir, cmd.Env = dir, environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestParametersInR: a notebook in R gets its parameters, and says which language it is in.
func TestParametersInR(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := notebook.Append(empty("ir", "R"),
		notebook.NewCell{ID: "p", Type: notebook.Code, Source: "n <- 1; name <- 'x'", Tags: []string{notebook.TagParameters}}, notebook.NewCell{ID: "show", Type: notebook.Code, Source: "cat(n, name, is.integer(n), '\\n')"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.ipynb"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "-p", "n=7", "-p", `name=tide "A"`, "in.ipynb", "out.ipynb")
	n := executed(t, filepath.Join(dir, "out.ipynb"))
	if o := n.Cells[2].Outputs(); len(n.Cells) != 3 || len(o) != 1 || strings.TrimSpace(o[0].Text) != `7 tide "A" TRUE` || n.Kernel.Language != "r" || !strings.Contains(string(n.LanguageInfo), `"version"`) {
		t.Errorf("%d cells, %+v, %+v", len(n.Cells), n.Kernel, o)
	}
}

// TestUnknownKernelspec: a Python notebook whose kernelspec is not installed runs in python3, and keeps the name.
func TestUnknownKernelspec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := notebook.Append(empty("conda-env-tides-py", "python"), notebook.NewCell{ID: "a", Type: notebook.Code, Source: "1 + 1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.ipynb"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "in.ipynb")
	n := executed(t, filepath.Join(dir, "in.ipynb"))
	if o := n.Cells[0].Outputs(); len(o) != 1 || !strings.Contains(string(o[0].Data["text/plain"]), `"2"`) || n.Kernel.Name != "conda-env-tides-py" {
		t.Errorf("%+v, %+v", n.Kernel, o)
	}
}

// TestInterpreterOfKernelspec: without a virtual environment, the interpreter that the kernelspec names comes before python3 on PATH.
func TestInterpreterOfKernelspec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := notebook.Append(empty("python3", "python"), notebook.NewCell{ID: "a", Type: notebook.Code, Source: "import sys; print(sys.executable)"})
	if err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(dir, "jupyter", "kernels", "python3")
	for path, content := range map[string]string{
		filepath.Join(dir, "project", "in.ipynb"): string(text), filepath.Join(dir, "bin", "python3"): "#!/bin/sh\nexit 1\n",
		filepath.Join(spec, "kernel.json"): `{"argv": ["` + interpreter() + `", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python"}`,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	environ := append(os.Environ(), "JUPYTER_PATH="+filepath.Join(dir, "jupyter"), "VIRTUAL_ENV=", "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	runIn(t, filepath.Join(dir, "project"), environ, "in.ipynb")
	if o := executed(t, filepath.Join(dir, "project", "in.ipynb")).Cells[0].Outputs(); len(o) != 1 || strings.TrimSpace(o[0].Text) != interpreter() {
		t.Errorf("%+v", o)
	}
}

func executed(t *testing.T, path string) *notebook.Notebook {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := notebook.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// outputsOf returns outputs as JSON values, with the pieces of a stream merged.
func outputsOf(t *testing.T, c *notebook.Cell) []any {
	t.Helper()
	var merged []notebook.Output
	for _, o := range c.Outputs() {
		if last := len(merged) - 1; o.Type == notebook.Stream && last >= 0 && merged[last].Type == notebook.Stream && merged[last].Stream == o.Stream {
			merged[last].Text += o.Text
			continue
		}
		merged = append(merged, o)
	}
	values := []any{}
	var out, err []string // the order of two streams is by chance
	for _, o := range merged {
		switch {
		case o.Type == notebook.Stream && o.Stream == kernel.Stdout:
			out = append(out, o.Text)
			continue
		case o.Type == notebook.Stream:
			err = append(err, o.Text)
			continue
		}
		text, encodeErr := json.Marshal(o)
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return append(values, strings.Join(out, ""), strings.Join(err, ""))
}
