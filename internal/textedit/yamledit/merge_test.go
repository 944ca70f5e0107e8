package yamledit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

const state = `---
# where we are
cluster: blog   # a comment
session_id: "2026-01-23T14:30:00Z-blog"
status: interrupted # active | interrupted

position:
  phase: 2
  # the block
  block: 01
  wave: 2

seen: [a, "b"]
list:
  # first
  - one
  - "two"   # second

threads:
- id: "02.1"
  name: "x"
  # inside
  status: pending
- id: "02.2"
  files: ["a"]
notes: |
  text
  # no comment
'odd key': 'it''s'
last: null
empty:
---
# Body
`

// merge returns a file with want merged into its front matter.
func merge(t *testing.T, file string, want *yamledit.Value) string {
	t.Helper()
	front, _, _, ok := markdown.Front([]byte(file))
	if !ok {
		front = textedit.Whole([]byte(file))
	}
	y, err := yamledit.Read([]byte(file), front)
	if err != nil {
		t.Fatal(err)
	}
	out, err := y.Merge(want)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func one(key string, value *yamledit.Value) *yamledit.Value {
	return yamledit.MapOf(yamledit.Pair{Key: key, Value: value})
}

// TestMergeChangesOnlyWhatDiffers names, for each change, the only piece of the file that is another one then.
func TestMergeChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	threads := yamledit.ListOf(
		yamledit.MapOf(yamledit.Pair{Key: "id", Value: yamledit.Text("02.1")}, yamledit.Pair{Key: "status", Value: yamledit.Word("complete")}),
		yamledit.MapOf(yamledit.Pair{Key: "id", Value: yamledit.Text("02.2")}, yamledit.Pair{Key: "status", Value: yamledit.Word("pending")}),
		yamledit.MapOf(yamledit.Pair{Key: "id", Value: yamledit.Text("02.3")}, yamledit.Pair{Key: "files", Value: yamledit.ListOf()}),
	)
	tests := []struct {
		name      string
		want      *yamledit.Value
		old, made string
	}{
		{"the same", one("cluster", yamledit.Text("blog")), "", ""},
		{"the same number", one("position", one("block", yamledit.Number(1))), "", ""},
		{"a word", one("status", yamledit.Word("active")), "status: interrupted #", "status: active #"},
		{"quotes stay", one("session_id", yamledit.Text("x \"y\"")), `"2026-01-23T14:30:00Z-blog"`, `"x \"y\""`},
		{"single quotes stay", one("odd key", yamledit.Text("isn't")), `'it''s'`, `'isn''t'`},
		{"a number inside", one("position", one("block", yamledit.Number(2))), "block: 01", "block: 2"},
		{"a key inside", one("position", one("thread", yamledit.Number(3))), "  wave: 2\n", "  wave: 2\n  thread: 3\n"},
		{"a new key", one("error", yamledit.Text("a: b")), "empty:\n", "empty:\nerror: \"a: b\"\n"},
		{"what looks like a number", one("cluster", yamledit.Word("0e12")), "cluster: blog ", "cluster: \"0e12\" "},
		{"what looks like a comment", one("cluster", yamledit.Word("a #b")), "cluster: blog ", "cluster: \"a #b\" "},
		{"null to text", one("last", yamledit.Text("x")), "last: null", `last: "x"`},
		{"nothing to text", one("empty", yamledit.Word("x")), "empty:\n", "empty: x\n"},
		{"text to null", one("cluster", yamledit.Nothing()), "cluster: blog ", "cluster: null "},
		{"a list in brackets grows", one("seen", yamledit.ListOf(yamledit.Text("a"), yamledit.Word("b"), yamledit.Word("c, d"))), `"b"]`, `"b", "c, d"]`},
		{"a list grows", one("list", yamledit.ListOf(yamledit.Text("one"), yamledit.Text("two"), yamledit.Text("x: y"))),
			"  - \"two\"   # second\n", "  - \"two\"   # second\n  - \"x: y\"\n"},
		{"a list shrinks", one("list", yamledit.ListOf(yamledit.Text("two"))),
			"list:\n  # first\n  - one\n  - \"two\"   # second\n", "list:\n  - \"two\"\n"},
		{"a block of text", one("notes", yamledit.Text("a\n\n# b\n")), "notes: |\n  text\n  # no comment\n", "notes: |\n  a\n\n  # b\n"},
		{"a map for a text", one("cluster", one("x", yamledit.Truth(true))), "cluster: blog   # a comment\n", "cluster:\n  x: true\n"},
	}
	for _, tt := range tests {
		for _, crlf := range []bool{false, true} {
			file, expected := state, strings.Replace(state, tt.old, tt.made, 1)
			if crlf {
				file, expected = strings.ReplaceAll(file, "\n", "\r\n"), strings.ReplaceAll(expected, "\n", "\r\n")
			}
			if diff := cmp.Diff(expected, merge(t, file, tt.want)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tt.name, diff)
			}
		}
	}
	expected := strings.Replace(state, "  status: pending\n", "  status: complete\n", 1)
	expected = strings.Replace(expected, "  files: [\"a\"]\n", "  files: [\"a\"]\n  status: pending\n- id: \"02.3\"\n  files: []\n", 1)
	if diff := cmp.Diff(expected, merge(t, state, one("threads", threads))); diff != "" {
		t.Errorf("threads: -want +got:\n%s", diff)
	}
}

func TestMergeAtTheEdges(t *testing.T) {
	t.Parallel()
	want := one("b", yamledit.Number(2))
	tests := []struct{ name, file, expected string }{
		{"empty front matter", "---\n---\nx", "---\nb: 2\n---\nx"},
		{"empty file", "", "b: 2\n"},
		{"no final newline", "a: 1", "a: 1\nb: 2"},
		{"byte order mark", "\uFEFFa: 1\n", "\uFEFFa: 1\nb: 2\n"},
		{"comments alone", "# x\n", "# x\nb: 2\n"},
		{"braces", "{a: 1, b: 1}", "{a: 1, b: 2}"},
		{"keys twice", "b: 0\nb: 1\n", "b: 0\nb: 2\n"},
		{"comments behind", "a:\n  x: 1\n\n# the end\n", "a:\n  x: 1\nb: 2\n\n# the end\n"},
		{"wide characters", "ä: ö # ü\nb: 1 # ü\n", "ä: ö # ü\nb: 2 # ü\n"},
		{"a plain text over two lines", "b: one\n  two\nc: 3\n", "b: 2\nc: 3\n"},
		{"quotes over two lines", "b: \"one\n  two\"\nc: 3\n", "b: \"2\"\nc: 3\n"},
		{"an unclosed front matter", "---\na: 1\n", "---\na: 1\nb: 2\n"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.expected, merge(t, tt.file, want)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}

func TestKnottedYAMLIsLeftAlone(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]*yamledit.Value{
		"{a: 1}\n":              one("b", yamledit.Number(2)),
		"a: &x {q: 1}\nb: *x\n": one("a", yamledit.Text("y")),
	} {
		y, err := yamledit.Read([]byte(file), textedit.Whole([]byte(file)))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := y.Merge(want); err == nil {
			t.Errorf("Merge into %q gave %q", file, out)
		}
	}
}

func TestMergeTakesOut(t *testing.T) {
	t.Parallel()
	file := "a: 1\nb: # x\n  - 1\n\n# c\nc:\n  x: 1\n  y: 2\na: 5\nd: 4"
	for path, expected := range map[string]string{
		"a": "b: # x\n  - 1\n\n# c\nc:\n  x: 1\n  y: 2\nd: 4", "b": "a: 1\n\n# c\nc:\n  x: 1\n  y: 2\na: 5\nd: 4",
		"d": "a: 1\nb: # x\n  - 1\n\n# c\nc:\n  x: 1\n  y: 2\na: 5\n", "x": file, "c.x": "a: 1\nb: # x\n  - 1\n\n# c\nc:\n  y: 2\na: 5\nd: 4", "c.q": file,
		"new.x": file + "\nnew: {}",
	} {
		outer, inner, nested := strings.Cut(path, ".")
		want := one(outer, nil)
		if nested {
			want = one(outer, one(inner, nil))
		}
		if diff := cmp.Diff(expected, merge(t, file, want)); diff != "" {
			t.Errorf("without %s: -want +got:\n%s", path, diff)
		}
	}
	grown := one("b", yamledit.ListOf(yamledit.Number(1), yamledit.MapOf(yamledit.Pair{Key: "x", Value: yamledit.Number(2)}, yamledit.Pair{Key: "y"})))
	if diff := cmp.Diff("b:\n  - 1\n  - x: 2\n", merge(t, "b:\n  - 1\n", grown)); diff != "" {
		t.Error(diff)
	}
}

// FuzzMerge sets keys of whatever can be read. What is returned must say what is wanted, and a second time change nothing.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(state), "status", "done")
	f.Add([]byte("a: [1, {b: 2}]\nc: >\n  x\n"), "a", "x: y\n z")
	f.Add([]byte("? [a]\n: *x\n- y"), "a", "- x")
	f.Fuzz(func(t *testing.T, file []byte, key, text string) {
		part, _, _, ok := markdown.Front(file)
		if !ok {
			part = textedit.Whole(file)
		}
		y, err := yamledit.Read(file, part)
		if err != nil {
			if out, err := yamledit.MergeAround(file, part, one(key, yamledit.Text(text))); err == nil && string(file[:part.From]) != string(out[:part.From]) {
				t.Fatal("what stands before it is another one")
			}
			return
		}
		for _, value := range []*yamledit.Value{nil, yamledit.Text(text), yamledit.Word(text), one(text, yamledit.ListOf(yamledit.Text(text)))} {
			out, err := y.Merge(one(key, value))
			if err != nil {
				continue
			}
			part := textedit.Part{From: part.From, To: part.To + len(out) - len(file), Line: 1}
			again, err := yamledit.Read(out, part)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := again.Merge(one(key, value)); err != nil || string(twice) != string(out) {
				t.Fatalf("%q, then %q, %v", out, twice, err)
			}
			if string(file[:part.From]) != string(out[:part.From]) {
				t.Fatal("what stands before it is another one")
			}
		}
	})
}
