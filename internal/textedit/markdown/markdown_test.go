package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

const page = "\uFEFF# Title #\n\nlead\n\n## One\n- a\n- \"b \"c\"\"\n\n```sh\n# no heading\n```\n### Deep\nx\n\n## Two\n\n| A | B |\n|---|:-:|\n| 1 \\| 2 | `x` |\n| 3 |\nend\n"

func TestSections(t *testing.T) {
	t.Parallel()
	for _, file := range []string{page, strings.ReplaceAll(page, "\n", "\r\n")} {
		sections := markdown.Sections(textedit.Lines([]byte(file)))
		var got []string
		for _, s := range sections {
			got = append(got, strings.Repeat("#", s.Level)+" "+s.Title+": "+markdown.Join(s.Lead()))
		}
		want := []string{
			"# Title: lead", "## One: - a\n- \"b \"c\"\"\n\n```sh\n# no heading\n```", "### Deep: x",
			"## Two: | A | B |\n|---|:-:|\n| 1 \\| 2 | `x` |\n| 3 |\nend",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if end := sections[1].End(); !strings.HasSuffix(strings.TrimSpace(file[:end]), "\nx") {
			t.Errorf("section One ends behind %q", file[:end])
		}
		table := markdown.Table(sections[3].Body)
		cells := [][]string{}
		for _, row := range table {
			cells = append(cells, row.Cells)
		}
		if diff := cmp.Diff([][]string{{"A", "B"}, {"1 | 2", "`x`"}, {"3"}}, cells); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBullet(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- a": "a", `  * "a b"`: "a b", `- "he said "x""`: `he said "x"`, "-a": "", "text": "", "-": "", "- ": "", `- "`: `"`,
	} {
		if got, ok := markdown.Bullet(text); got != want || ok != (want != "") {
			t.Errorf("Bullet(%q) = %q, %v", text, got, ok)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte("|\n|-\n||\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := textedit.Lines(data)
		var all strings.Builder
		for _, l := range lines {
			all.Write(data[l.From:l.End])
			markdown.Bullet(l.Text)
		}
		if all.String() != strings.TrimPrefix(string(data), "\uFEFF") {
			t.Fatal("the lines are not the text")
		}
		for _, s := range markdown.Sections(lines) {
			if s.End() > len(data) || s.End() < s.Line.End {
				t.Fatal("a section ends outside of the text")
			}
			markdown.Table(s.Lead())
		}
	})
}

// TestAdded: behind code that is not closed, without a line end, in the text's own line ends.
func TestAdded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "x\n", "a\r\n": "a\r\nx\r\n", "a\n```go\nb\n```\n": "a\n```go\nb\n```\nx\n", "```\n~~~": "```\n~~~\n```\nx\n", "~~~\n": "~~~\n~~~\nx\n", "```\n```\n  ```\n": "```\n```\n  ```\n```\nx\n",
	} {
		if got := string(markdown.Added([]byte(text), "x\n")); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
