package view

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// page builds a Markdown file.
type page struct{ bytes.Buffer }

// add appends texts.
func (p *page) add(texts ...string) {
	for _, t := range texts {
		p.WriteString(t)
	}
}

// fact appends the line "name: text" to a list, unless the text is empty.
func (p *page) fact(name string, texts ...string) {
	text := strings.Join(texts, "")
	if text != "" {
		p.add("- **", name, ":** ", text, "\n")
	}
}

// quote appends untrusted text of any number of lines as a block quote, so that it cannot be mistaken for pawl's own.
func (p *page) quote(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		p.add(strings.TrimRight("> "+strings.Map(printable, line), " "), "\n")
	}
}

// row appends a table row.
func (p *page) row(cells ...string) {
	for _, c := range cells {
		p.add("| ", c, " ")
	}
	p.add("|\n")
}

// table starts a table with its header row.
func (p *page) table(heads ...string) {
	p.add("\n")
	p.row(heads...)
	p.add(strings.Repeat("|---", len(heads)), "|\n")
}

var escaper = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "`", "\\`", "<", "&lt;", "*", `\*`, "[", `\[`)

// inline escapes text for one line of Markdown: it cannot end the table cell, list or paragraph around it.
func inline(text string) string {
	if !strings.ContainsFunc(text, special) {
		return text
	}
	return escaper.Replace(strings.Join(strings.Fields(strings.Map(printable, text)), " "))
}

func special(r rune) bool { return r < ' ' || r >= 0x7f || strings.ContainsRune("\\|`<*[", r) }

// printable drops terminal control characters, but keeps newlines and tabs.
func printable(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}

// code returns text on one line in a code span.
func code(text string) string {
	text = strings.Join(strings.Fields(strings.Map(printable, text)), " ")
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if fence != "`" {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cell returns text as code for a table cell. Text with a bar is escaped instead: a bar ends a cell even in a code span.
func cell(text string) string {
	if strings.Contains(text, "|") {
		return inline(text)
	}
	return code(text)
}

// formatTime formats t in UTC to the second; empty for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return string(t.UTC().AppendFormat(make([]byte, 0, 24), "2006-01-02 15:04:05 UTC"))
}

// formatSeconds formats a number of seconds as a duration; empty for none.
func formatSeconds(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d <= 0 {
		return ""
	}
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return pawl.Duration(d.Round(time.Second)).String()
}

func number[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// progressBar draws percent with 20 cells.
func progressBar(percent int) string {
	full := min(max(percent, 0), 100) / 5
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", 20-full) + "]"
}
