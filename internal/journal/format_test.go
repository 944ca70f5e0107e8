package journal_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/journal/journaltest"
)

// TestReaderInTheDocument runs the Python reader of docs/format.md against a real journal.
func TestReaderInTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(doc), "```python\n")
	code, _, found := strings.Cut(code, "```")
	if lines := strings.Count(code, "\n"); !found || lines > 30 {
		t.Fatalf("the reader has %d lines, want at most 30", lines)
	}
	script := filepath.Join(t.TempDir(), "reader.py")
	if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRun(t, "one", "zwei \u00fc <\u2028>")
	r.add(t, journaltest.Text(t, "a"), journaltest.Text(t, "b"))
	var want strings.Builder
	for e, err := range r.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%d %s %s\n", e.Seq, e.Time.Format("2006-01-02T15:04:05.000000000Z"), e.Type)
	}
	read := func(what string, data []byte, wantLines int, wantErr string) {
		t.Helper()
		r.write(t, data)
		var stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "python3", script, r.path())
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var got strings.Builder
		for line := range strings.Lines(string(out)) {
			words := strings.Fields(line)
			fmt.Fprintln(&got, strings.Join(words[:3], " "))
		}
		wanted := strings.Join(strings.SplitAfter(want.String(), "\n")[:wantLines], "")
		if got.String() != wanted {
			t.Errorf("%s: python reads\n%s\nwant\n%s", what, got.String(), wanted)
		}
		if (err != nil) != (wantErr != "") || !strings.Contains(stderr.String(), wantErr) {
			t.Errorf("%s: python says %v %q, want %q", what, err, stderr.String(), wantErr)
		}
	}
	good := r.bytes(t)
	defer readSegments(t, script)
	read("good", good, 5, "")
	read("torn", good[:len(good)-7], 4, "")
	at := bytes.Index(good, []byte(`"seq":4`))
	read("NUL in the last batch", nul(good, at+20, 30), 3, "")
	read("NUL in an older batch", nul(good, bytes.Index(good, []byte("zwei")), 4), 2, "line 3, byte ")
	flipped := bytes.Clone(good)
	flipped[bytes.Index(flipped, []byte("zwei"))] ^= 1
	read("flipped", flipped, 2, "line 3, byte ")
}

// readSegments runs the reader against a journal of several segments, and then against a missing line at the end of one.
func readSegments(t *testing.T, script string) {
	t.Helper()
	r, _ := segmented(t, 40)
	r.damaged = true
	count := func() (int, error) {
		out, err := exec.CommandContext(t.Context(), "python3", script, r.path()).Output()
		for i, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
			if !strings.HasPrefix(line, fmt.Sprint(i+1, " ")) {
				t.Errorf("line %d is %q", i+1, line)
			}
		}
		return strings.Count(string(out), "\n"), err
	}
	if n, err := count(); n != 81 || err != nil || len(r.segments(t)) < 3 {
		t.Errorf("segments: python reads %d events, %v", n, err)
	}
	second := r.segments(t)[1]
	data, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	if err := os.WriteFile(second, data[:last], 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := count(); n >= 81 || err == nil {
		t.Errorf("a segment without its last line: python reads %d events, %v", n, err)
	}
}
