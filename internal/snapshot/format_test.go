package snapshot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReaderInTheDocument runs the Python reader of docs/format.md on a pack: it finds all records and objects.
func TestReaderInTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## Snapshots")
	_, code, _ := strings.Cut(section, "```python\n")
	code, _, found := strings.Cut(code, "```")
	if lines := strings.Count(code, "\n"); !found || lines > 20 {
		t.Fatalf("the reader has %d lines, want at most 20", lines)
	}
	script := filepath.Join(t.TempDir(), "reader.py")
	if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t)
	w.write("folder/file", strings.Repeat("compressible ", 100))
	first := w.take()
	w.write("other", "x")
	second := w.take()
	out, err := exec.Command("python3", script, w.path(".pawl/snapshots/pack-00000001")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"'tree': '" + first.Tree.String(), "'tree': '" + second.Tree.String(), "object " + first.Tree.String() + " raw", " zst 1300",
	} {
		if strings.Count(string(out), want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "record "); n != 2 {
		t.Errorf("%d records:\n%s", n, out)
	}
}
