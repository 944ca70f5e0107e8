// Package realnotebooks executes notebooks that nobody here wrote, from Debian's packages, by pawl and by nbclient, and compares
// their outputs. `make test-kernels` fetches them.
package realnotebooks

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pawl/internal/notebook"
	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// excluded are the notebooks that cannot be compared, with the reason.
var excluded = map[string]string{
	"Autokill.ipynb":                       "kills its kernel; nbclient raises an error and keeps no outputs",
	"Interrupt.ipynb":                      "never ends; nbclient's own test interrupts it",
	"Parallel Execute A.ipynb":             "waits for B",
	"Parallel Execute B.ipynb":             "waits for A",
	"Connecting with the Qt Console.ipynb": "prints the connection file of its kernel",
	"pre-executed.ipynb":                   "sleeps for an hour",
}

// differences are parts of outputs that differ between any two executions, or that pawl saves in another way. Another one is in
// joinStreams.
var differences = []struct {
	what    string
	pattern *regexp.Regexp
	put     string
}{
	{"addresses of objects", regexp.MustCompile(`\b0x[0-9a-f]{6,}\b`), "0xADDRESS"},
	{"the number of the kernel's process, in the names of cells", regexp.MustCompile(`ipykernel_[0-9]+`), "ipykernel_PID"},
	{"times of %time and %timeit", regexp.MustCompile(`(?m)^(?:CPU times: |Wall time: )?.*\b(?:[0-9.]+ [nµm]?s\b).*$`), "TIME"},
	{"clock times", regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`), "CLOCK"},
	{"ends of lines of a terminal, which pawl executes", regexp.MustCompile(`\r\n`), "\n"},
	{"ids of comms and models", regexp.MustCompile(`\b[0-9a-f]{32}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "ID"},
	{"temporary folders", regexp.MustCompile(`/tmp/[A-Za-z0-9_./-]+`), "/tmp/FOLDER"},
}

func python() string { return cmp.Or(os.Getenv("PAWL_TEST_PYTHON"), "/usr/bin/python3") }

// folder is where the packages are unpacked.
func folder(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("PAWL_REAL_NOTEBOOKS"), filepath.Join("..", "..", "..", "bin", "_notebooks")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "unpacked.txt")); err != nil {
		t.Fatal(err, "; make test-kernels fetches the notebooks")
	}
	return path
}

// found is a notebook with code.
type found struct {
	name string
	path string // of a copy
	*notebook.Notebook
}

// find returns the notebooks in the packages, each code once.
func find(t *testing.T, root string) (all []found) {
	t.Helper()
	copies, seen := t.TempDir(), map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimSuffix(entry.Name(), ".gz")
		if err != nil || filepath.Ext(name) != ".ipynb" || !entry.Type().IsRegular() || excluded[name] != "" {
			return err
		}
		text := content(t, path)
		n, err := notebook.Read(text)
		if err == nil && seen[code(n)] {
			return nil
		}
		if err != nil || n.Kernel.Language != "" && n.Kernel.Language != "python" || !slices.ContainsFunc(n.Cells, func(c notebook.Cell) bool { return c.Executes() }) {
			return nil // old formats are not pawl's; some are for other kernels, and some have no code
		}
		seen[code(n)] = true
		copied := filepath.Join(copies, fmt.Sprintf("%03d.ipynb", len(all)))
		all = append(all, found{name, copied, n})
		return os.WriteFile(copied, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// code returns the code of all cells.
func code(n *notebook.Notebook) string {
	var b strings.Builder
	for _, c := range n.Cells {
		if c.Type == notebook.Code {
			b.WriteString(c.Source + "\n\x00")
		}
	}
	return b.String()
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(path) != ".gz" {
		return text
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRealNotebooks executes each notebook twice, and compares.
func TestRealNotebooks(t *testing.T) {
	t.Parallel()
	all := find(t, folder(t))
	if len(all) < 20 {
		t.Errorf("only %d notebooks", len(all))
	}
	var want, got [][]json.RawMessage
	fonts := findFonts(t)
	var both sync.WaitGroup
	both.Go(func() { want = reference(t, all, fonts) })
	for _, n := range all {
		got = append(got, execute(t, n, fonts))
	}
	both.Wait()
	if len(want) != len(all) {
		t.Fatalf("nbclient executed %d of %d notebooks", len(want), len(all))
	}
	cells := 0
	for i, n := range all {
		cells += len(got[i])
		if diff := gocmp.Diff(plain(t, want[i]), plain(t, got[i])); diff != "" {
			t.Errorf("%s: nbclient -, pawl +\n%s", n.name, diff)
		}
	}
	t.Logf("%d notebooks with %d cells", len(all), cells)
}

// reference returns what nbclient makes of the notebooks: the outputs of each code cell.
func reference(t *testing.T, all []found, fonts string) (outputs [][]json.RawMessage) {
	t.Helper()
	args := []string{"reference.py", t.TempDir()}
	for _, n := range all {
		args = append(args, n.path)
	}
	cmd := exec.CommandContext(t.Context(), python(), args...)
	cmd.Env = environ(t, fonts)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
	for line := range bytes.Lines(out) {
		var cells []json.RawMessage
		if err := json.Unmarshal(line, &cells); err != nil {
			t.Error(err)
		}
		outputs = append(outputs, cells)
	}
	return outputs
}

// environ is an environment whose home is empty. fonts is the folder of findFonts.
func environ(t *testing.T, fonts string) []string {
	t.Helper()
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "LANG=C.UTF-8", "MPLCONFIGDIR=" + fonts}
}

// findFonts has Matplotlib write its cache of fonts into a folder, and returns that. Without a cache, Matplotlib prints a warning if the
// search takes more than five seconds.
func findFonts(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), python(), "-c", "import importlib.util as u\nif u.find_spec('matplotlib'): import matplotlib.font_manager")
	cmd.Env = environ(t, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("find fonts: %v\n%s", err, out)
	}
	return folder
}

// execute executes a notebook with pawl, also after an error, checks the file with nbformat, and returns the outputs of the code cells.
func execute(t *testing.T, n found, fonts string) (outputs []json.RawMessage) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, hidden, n.name) // cells may list their folder
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, mayRaise(t, n.path), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), storytest.Pawl(t), "notebook", "run", filepath.Join(hidden, n.name), "--driver", "jupyter", "--kernel", "python3", "--python", python())
	cmd.Dir, cmd.Env = dir, environ(t, fonts)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", n.name, err, out)
	}
	checked := exec.CommandContext(t.Context(), python(), "-W", "error", "-c", check, path)
	if out, err := checked.CombinedOutput(); err != nil {
		t.Errorf("%s: nbformat: %v\n%s", n.name, err, out)
	}
	after, err := notebook.Read(content(t, path))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range after.Cells {
		if c.Type != notebook.Code {
			continue
		}
		text, err := json.Marshal(append([]notebook.Output{}, c.Outputs()...))
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, text)
	}
	return outputs
}

// hidden is the folder of the notebook in its project.
const hidden = ".notebook"

// check reads a notebook as nbclient does: nbformat repairs an invalid one with a warning.
const check = `
import sys, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
assert notebook.nbformat_minor == nbformat.v4.nbformat_minor, notebook.nbformat_minor
`

// mayRaise returns the text of a notebook whose cells may raise errors.
func mayRaise(t *testing.T, path string) []byte {
	t.Helper()
	var n map[string]any
	d := json.NewDecoder(bytes.NewReader(content(t, path)))
	d.UseNumber()
	if err := d.Decode(&n); err != nil {
		t.Fatal(err)
	}
	for _, c := range n["cells"].([]any) {
		metadata := c.(map[string]any)["metadata"].(map[string]any)
		tags, _ := metadata["tags"].([]any)
		if !slices.Contains(tags, any(notebook.TagRaises)) {
			metadata["tags"] = append(tags, notebook.TagRaises)
		}
	}
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plain returns outputs without what differs between any two executions, and with texts as one string.
func plain(t *testing.T, cells []json.RawMessage) (all []any) {
	t.Helper()
	for _, cell := range cells {
		var outputs []any
		if err := json.Unmarshal(cell, &outputs); err != nil {
			t.Fatal(err)
		}
		all = append(all, joinStreams(simplify(outputs).([]any)))
	}
	return all
}

func simplify(value any) any {
	switch v := value.(type) {
	case string:
		for _, d := range differences {
			v = d.pattern.ReplaceAllString(v, d.put)
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = simplify(v[name])
		}
		return v
	case []any:
		if text, is := joined(v); is {
			return simplify(text)
		}
		for i := range v {
			v[i] = simplify(v[i])
		}
		return v
	}
	return value
}

// joinStreams joins neighbouring outputs of one stream, as pawl and Jupyter's page save them. nbclient keeps each message apart.
func joinStreams(outputs []any) []any {
	joined := []any{}
	for _, o := range outputs {
		next := o.(map[string]any)
		if len(joined) > 0 {
			last := joined[len(joined)-1].(map[string]any)
			if next["output_type"] == "stream" && last["output_type"] == "stream" && next["name"] == last["name"] {
				last["text"] = fmt.Sprint(last["text"], next["text"])
				continue
			}
		}
		joined = append(joined, next)
	}
	return joined
}

// joined returns the text of a list of lines.
func joined(list []any) (string, bool) {
	var b strings.Builder
	for _, line := range list {
		s, is := line.(string)
		if !is {
			return "", false
		}
		b.WriteString(s)
	}
	return b.String(), len(list) > 0
}
