package view

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// page is a Markdown file in the making.
type page struct{ bytes.Buffer }

// say writes texts one behind the other.
func (p *page) say(texts ...string) {
	for _, t := range texts {
		p.WriteString(t)
	}
}

// fact writes a line of a list of facts, unless there is nothing to say.
func (p *page) fact(name string, texts ...string) {
	text := strings.Join(texts, "")
	if text != "" {
		p.say("- **", name, ":** ", text, "\n")
	}
}

// quote writes text of somebody else, of any number of lines, so that it cannot pass for ours.
func (p *page) quote(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		p.say(strings.TrimRight("> "+strings.Map(printable, line), " "), "\n")
	}
}

// row writes a row of a table.
func (p *page) row(cells ...string) {
	for _, c := range cells {
		p.say("| ", c, " ")
	}
	p.say("|\n")
}

// table begins a table.
func (p *page) table(heads ...string) {
	p.say("\n")
	p.row(heads...)
	p.say(strings.Repeat("|---", len(heads)), "|\n")
}

var escaper = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "`", "\\`", "<", "&lt;", "*", `\*`, "[", `\[`)

// inline returns text as one line of Markdown that ends nothing around it: no table cell, no list, no paragraph.
func inline(text string) string {
	if !strings.ContainsFunc(text, special) {
		return text
	}
	return escaper.Replace(strings.Join(strings.Fields(strings.Map(printable, text)), " "))
}

func special(r rune) bool { return r < ' ' || r >= 0x7f || strings.ContainsRune("\\|`<*[", r) }

// printable drops what moves a terminal's cursor and keeps line ends and tabs.
func printable(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}

// code returns text as it is, on one line, in a code span.
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

// cell returns text for a table: as code, but for a bar, which would end the cell even there.
func cell(text string) string {
	if strings.Contains(text, "|") {
		return inline(text)
	}
	return code(text)
}

// word returns text as one word of a shell.
func word(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// at returns a time for people, in UTC to the second; empty for none.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return string(t.UTC().AppendFormat(make([]byte, 0, 24), "2006-01-02 15:04:05 UTC"))
}

// took returns seconds for people; empty for none.
func took(seconds float64) string {
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

// bar returns how much is done, of 20 cells.
func bar(percent int) string {
	full := min(max(percent, 0), 100) / 5
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", 20-full) + "]"
}
