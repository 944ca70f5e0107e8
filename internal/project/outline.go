package project

import (
	"strings"

	"pawl/internal/lazyregexp"
)

// line is one line of a Markdown document, as far as MEMORY.md needs it.
type line struct {
	kind  lineKind
	text  string // a heading's title, an item without its marker, or an indented line without two columns
	level int    // of a heading
	end   int    // offset after the line and its line ending
}

type lineKind string

const (
	blank    lineKind = "blank"
	heading  lineKind = "heading"
	item     lineKind = "item" // the first line of a list item
	indented lineKind = "indented"
	fenced   lineKind = "fenced" // in a code block, where Markdown has no meaning
	other    lineKind = "other"
)

var (
	headingPattern = lazyregexp.New(`^(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	itemPattern    = lazyregexp.New(`^ ?[-*+][ \t]+(.+)$`)
	fencePattern   = lazyregexp.New("^(```+|~~~+)")
)

// outline splits a document into its lines and classifies each.
func outline(doc []byte) []line {
	var lines []line
	end := 0
	for raw := range strings.Lines(string(doc)) {
		end += len(raw)
		l := classify(strings.TrimRight(raw, " \t\r\n"))
		l.end = end
		lines = append(lines, l)
	}
	return markFenced(lines)
}

func classify(text string) line {
	if strings.TrimSpace(text) == "" {
		return line{kind: blank}
	}
	if m := headingPattern.FindStringSubmatch(text); m != nil {
		return line{kind: heading, level: len(m[1]), text: strings.TrimRight(m[2], " \t")}
	}
	if m := itemPattern.FindStringSubmatch(text); m != nil && !isRule(text) {
		return line{kind: item, text: m[1]}
	}
	if rest, ok := strings.CutPrefix(text, "  "); ok {
		return line{kind: indented, text: rest}
	}
	if rest, ok := strings.CutPrefix(text, "\t"); ok {
		return line{kind: indented, text: rest}
	}
	return line{kind: other, text: text}
}

// isRule reports whether a line has no words, such as a horizontal rule: "---", "* * *".
func isRule(text string) bool { return strings.Trim(text, "-*+_ \t") == "" }

// markFenced marks the lines of code blocks. An unclosed block does not count, so that a forgotten fence does not hide
// the rest of the document.
func markFenced(lines []line) []line {
	until := -1
	for i := range lines {
		if i > until {
			until = closing(lines, i)
		}
		if i <= until {
			lines[i].kind = fenced
		}
	}
	return lines
}

// closing returns the line that closes the code block starting at i, or -1 if there is no block or it is not closed.
func closing(lines []line, i int) int {
	mark := fencePattern.FindString(lines[i].text)
	if lines[i].kind != other || mark == "" {
		return -1
	}
	for end := i + 1; end < len(lines); end++ {
		text := lines[end].text
		if lines[end].kind == other && strings.HasPrefix(text, mark) && strings.Trim(text, mark[:1]) == "" {
			return end
		}
	}
	return -1
}
