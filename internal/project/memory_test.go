package project

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/disk"
)

func TestInsertBullet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ doc, text, want string }{
		"no file":           {"", "x", "# Memory\n\n## Gotchas\n\n- x\n"},
		"only space":        {" \n", "x", " \n# Memory\n\n## Gotchas\n\n- x\n"},
		"no section":        {"# Memory\n\nhi\n", "x", "# Memory\n\nhi\n\n## Gotchas\n\n- x\n"},
		"no final newline":  {"# Memory\n\nhi", "x", "# Memory\n\nhi\n\n## Gotchas\n\n- x\n"},
		"end of section":    {"## Gotchas\n\n- a\n\n## Patterns\n", "x", "## Gotchas\n\n- a\n- x\n\n## Patterns\n"},
		"section at end":    {"## Gotchas\n\n- a", "x", "## Gotchas\n\n- a\n- x\n"},
		"empty section":     {"## Gotchas\n\n## Patterns\n", "x", "## Gotchas\n\n- x\n\n## Patterns\n"},
		"no room":           {"## Gotchas\n## Patterns\n", "x", "## Gotchas\n\n- x\n\n## Patterns\n"},
		"after a paragraph": {"## Gotchas\nhi\n", "x", "## Gotchas\nhi\n\n- x\n"},
		"before a subtitle": {"## Gotchas\n- a\n\n### More\n- b\n", "x", "## Gotchas\n- a\n- x\n\n### More\n- b\n"},
		"CRLF":              {"## Gotchas\r\n\r\n- a\r\n", "x\ny", "## Gotchas\r\n\r\n- a\r\n- x\r\n  y\r\n"},
		"odd heading":       {"#  GOTCHAS ##  \n* a\n", "x", "#  GOTCHAS ##  \n* a\n- x\n"},
		"lines":             {"## Gotchas\n", " x\r\n\r\n  y \n", "## Gotchas\n\n- x\n\n    y\n"},
		"heading in a fence": {
			"```\n## Gotchas\n```\n", "x", "```\n## Gotchas\n```\n\n## Gotchas\n\n- x\n",
		},
		"fence left open":       {"## Gotchas\n\n```\ncode\n", "x", "## Gotchas\n\n```\ncode\n\n- x\n"},
		"duplicate":             {"## Gotchas\n- a\n* x\n- b\n", "x", "## Gotchas\n- a\n* x\n- b\n"},
		"duplicate of lines":    {"## Gotchas\n- x\n\ty\n", "x\ny", "## Gotchas\n- x\n\ty\n"},
		"same under another":    {"## Patterns\n- x\n", "x", "## Patterns\n- x\n\n## Gotchas\n\n- x\n"},
		"same but for the case": {"## Gotchas\n- X\n", "x", "## Gotchas\n- X\n- x\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, added := insertBullet([]byte(test.doc), pawl.Memory{Kind: pawl.Gotcha, Text: test.text})
			if string(got) != test.want || added != (test.doc != test.want) {
				t.Errorf("added %v:\n%q, want\n%q", added, got, test.want)
			}
		})
	}
}

// Whatever people wrote: a bullet is put in one place, all else stays byte for byte, and all is read as before.
func TestInsertBulletLeavesTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(documents.Draw(t, "doc"))
		m := pawl.Memory{Kind: rapid.SampledFrom(headings).Draw(t, "heading").kind, Text: normalize(texts.Draw(t, "text"))}
		if first, _, _ := strings.Cut(m.Text, "\n"); isRule(first) {
			t.Skip("refused by Learn")
		}
		before := memories(doc)
		got, added := insertBullet(doc, m)
		if added == slices.Contains(before, m) {
			t.Fatalf("added %v, before %q", added, before)
		}
		if !added && !bytes.Equal(got, doc) {
			t.Fatalf("not added, but changed: %q", got)
		}
		if !onePlace(doc, got) {
			t.Fatalf("the rest has changed: %q", got)
		}
		after := memories(got)
		if i := slices.Index(after, m); i < 0 {
			t.Fatalf("not read back: %q from %q", after, got)
		} else if added && !slices.Equal(before, slices.Delete(after, i, i+1)) {
			t.Fatalf("read before: %q, now %q", before, after)
		}
		if again, added := insertBullet(got, m); added || !bytes.Equal(again, got) {
			t.Fatalf("added twice: %q", again)
		}
	})
}

// Many at once are put where they would be put one by one, kind by kind.
func TestInsertAllIsInsertOfEach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(documents.Draw(t, "doc"))
		all := rapid.SliceOf(rapid.Custom(func(t *rapid.T) pawl.Memory {
			return pawl.Memory{Kind: rapid.SampledFrom(headings).Draw(t, "heading").kind, Text: normalize(texts.Draw(t, "text"))}
		})).Draw(t, "all")
		all = slices.DeleteFunc(all, func(m pawl.Memory) bool { first, _, _ := strings.Cut(m.Text, "\n"); return isRule(first) })
		want := doc
		for _, h := range headings {
			for _, m := range all {
				if m.Kind == h.kind {
					want, _ = insertBullet(want, m)
				}
			}
		}
		if got := insertAll(doc, all); !bytes.Equal(got, want) {
			t.Fatalf("got %q\nwant %q", got, want)
		}
	})
}

// documents are made of the lines that matter, with every ending.
var documents = rapid.Custom(func(t *rapid.T) string {
	part := rapid.SampledFrom([]string{
		"# Memory", "## Gotchas", "## patterns ##", "# Decisions", "### Fragile areas", "### Other", "## Rejected\t",
		"##Preferences", "- a", "* b", " - c", "-", "- ", "---", "- - -", "  more", "\tmore", "    - sub", "text", "",
		" ", "```", "~~~", "```go", "1. one", "\x00\xff", "\r",
	})
	ending := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "\n\n"})
	var doc strings.Builder
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		doc.WriteString(part.Draw(t, "line") + ending.Draw(t, "ending"))
	}
	return doc.String() + rapid.SampledFrom([]string{"", "- last", "end", "## Gotchas"}).Draw(t, "end")
})

var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"a", "b", "c", "a\n## Gotchas", "- x\n- y", "x\n\n```\ncode\n", "x\n\n\n  y\r\n\tz", "x\n---\ny"}),
	rapid.String(),
)

// onePlace reports whether got is doc with something put in at one place.
func onePlace(doc, got []byte) bool {
	for at := range len(doc) + 1 {
		if len(got) >= len(doc) && bytes.HasPrefix(got, doc[:at]) && bytes.HasSuffix(got, doc[at:]) {
			return true
		}
	}
	return false
}

func TestLearn(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	learn := func(m pawl.Memory, want bool) {
		t.Helper()
		if added, err := p.Learn(m); added != want || err != nil {
			t.Errorf("learn %v: %v, %v; want %v", m, added, err, want)
		}
	}
	learn(pawl.Memory{Kind: pawl.Pattern, Text: "small steps"}, true)
	learn(pawl.Memory{Kind: pawl.Pattern, Text: "small steps\n"}, false)
	learn(pawl.Memory{Kind: pawl.Fragile, Text: "the parser\nand its tests"}, true)
	const want = "# Memory\n\n## Patterns\n\n- small steps\n\n## Fragile areas\n\n- the parser\n  and its tests\n"
	if got := read(t, p.Memory()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	write(t, p.Memory(), strings.Replace(want, "- small steps\n", "", 1)) // a person removes it, and it stays so
	learn(pawl.Memory{Kind: pawl.Gotcha, Text: "x"}, true)
	if strings.Contains(read(t, p.Memory()), "small steps") {
		t.Error("what a person removed is back")
	}
	for _, bad := range []pawl.Memory{{Kind: "mood", Text: "x"}, {Kind: pawl.Gotcha, Text: " \n"}, {Kind: pawl.Gotcha, Text: "---\nx"}} {
		if added, err := p.Learn(bad); added || pawl.KindOf(err) != pawl.KindUsage {
			t.Errorf("learn %v: %v, %v", bad, added, err)
		}
	}
}

// TestLearnRefusesALink: a MEMORY.md that is a link may have come with a clone, and leads anywhere.
func TestLearnRefusesALink(t *testing.T) {
	t.Parallel()
	p := fresh(t, "work")
	shared := filepath.Join(t.TempDir(), "shared.md")
	write(t, shared, "")
	if err := os.Symlink(shared, p.Memory()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Learn(pawl.Memory{Kind: pawl.Gotcha, Text: "x"}); !errors.Is(err, disk.ErrUnsafe) {
		t.Fatal(err)
	}
	if _, err := p.Memories(); !errors.Is(err, disk.ErrUnsafe) || read(t, shared) != "" {
		t.Errorf("%v; the file outside has %q", err, read(t, shared))
	}
}

func TestMemoriesOfProjectAndUser(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	p := fresh(t, "work")
	if all, err := p.Memories(); all != nil || err != nil {
		t.Errorf("nothing learned: %v, %v", all, err)
	}
	users := filepath.Join(config, "pawl", "MEMORY.md")
	if err := os.Mkdir(filepath.Dir(users), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, users, "## Preferences\n- tabs\n\n## Shopping\n- milk\n")
	write(t, p.Memory(), "- stray\n## Rejected\n- a\nlazy\n\n  second\n\nno part\n### Sub\n- b\n## Decisions\n1. no bullet\n- c\n")
	got, err := p.Memories()
	if err != nil {
		t.Fatal(err)
	}
	want := []Remembered{
		{pawl.Memory{Kind: pawl.RejectedIdea, Text: "a\nlazy\n\nsecond"}, p.Memory(), true, ""},
		{pawl.Memory{Kind: pawl.RejectedIdea, Text: "b"}, p.Memory(), true, ""},
		{pawl.Memory{Kind: pawl.DecisionMem, Text: "c"}, p.Memory(), true, ""},
		{pawl.Memory{Kind: pawl.Preference, Text: "tabs"}, users, false, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := p.Learn(want[2].Memory); err != nil { // the bullet is there: it is the user's own word from now on
		t.Fatal(err)
	}
	if got, err = p.Memories(); err != nil || got[2].Unverified || !got[1].Unverified {
		t.Errorf("after learning one: %+v, %v", got, err)
	}
	if err := p.RecordMemories(); err != nil {
		t.Fatal(err)
	}
	if got, err = p.Memories(); err != nil || slices.ContainsFunc(got, func(m Remembered) bool { return m.Unverified }) {
		t.Errorf("after accepting all: %+v, %v", got, err)
	}
}

func TestTwoProcessesLearnAtOnce(t *testing.T) {
	t.Parallel()
	const each = 20
	p, home := fresh(t, "work"), os.Getenv("HOME")
	ended := make(chan error)
	names := []string{"left", "right"}
	for _, name := range names {
		cmd := another(t, p.Root, home, fmt.Sprintf("learn %s %d", name, each))
		go func() { ended <- cmd.Run() }()
	}
	for range names {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	got := memories([]byte(read(t, p.Memory())))
	for _, name := range names {
		for i := range each {
			if m := (pawl.Memory{Kind: pawl.Gotcha, Text: fmt.Sprintf("%s %d", name, i)}); !slices.Contains(got, m) {
				t.Errorf("lost: %s", m.Text)
			}
		}
	}
	if len(got) != len(names)*each {
		t.Errorf("%d bullets", len(got))
	}
}
