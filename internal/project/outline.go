package project

import (
	"strings"

	"pawl/internal/lazyregexp"
)

// line is one line of a Markdown document, as far as MEMORY.md needs it.
type line struct {
	is    lineKind
	text  string // title of a heading; an item without its marker; what is indented without two columns of it
	level int    // of a heading
	end   int    // offset of the byte behind it and its line ending
}

type lineKind string

const (
	blank    lineKind = "blank"
	heading  lineKind = "heading"
	item     lineKind = "item" // the first line of a list item
	indented lineKind = "indented"
	fenced   lineKind = "fenced" // in a code block, where nothing is what it seems
	other    lineKind = "other"
)

var (
	headingPattern = lazyregexp.New(`^(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	itemPattern    = lazyregexp.New(`^ ?[-*+][ \t]+(.+)$`)
	fencePattern   = lazyregexp.New("^(```+|~~~+)")
)

// outline splits a document into its lines and says what each is.
func outline(doc []byte) []line {
	var lines []line
	end := 0
	for raw := range strings.Lines(string(doc)) {
		end += len(raw)
		l := classify(strings.TrimRight(raw, " \t\r\n"))
		l.end = end
		lines = append(lines, l)
	}
	return fence(lines)
}

func classify(text string) line {
	if strings.TrimSpace(text) == "" {
		return line{is: blank}
	}
	if m := headingPattern.FindStringSubmatch(text); m != nil {
		return line{is: heading, level: len(m[1]), text: strings.TrimRight(m[2], " \t")}
	}
	if m := itemPattern.FindStringSubmatch(text); m != nil && !isRule(text) {
		return line{is: item, text: m[1]}
	}
	if rest, ok := strings.CutPrefix(text, "  "); ok {
		return line{is: indented, text: rest}
	}
	if rest, ok := strings.CutPrefix(text, "\t"); ok {
		return line{is: indented, text: rest}
	}
	return line{is: other, text: text}
}

// isRule reports whether a line says nothing, or is drawn across the page: "---", "* * *".
func isRule(text string) bool { return strings.Trim(text, "-*+_ \t") == "" }

// fence marks the lines of code blocks. One that is never closed is none: what people forgot to close must not hide
// the rest of the document.
func fence(lines []line) []line {
	until := -1
	for i := range lines {
		if i > until {
			until = closing(lines, i)
		}
		if i <= until {
			lines[i].is = fenced
		}
	}
	return lines
}

// closing returns the line that closes the code block that starts at i, -1 where none starts or it is never closed.
func closing(lines []line, i int) int {
	mark := fencePattern.FindString(lines[i].text)
	if lines[i].is != other || mark == "" {
		return -1
	}
	for end := i + 1; end < len(lines); end++ {
		text := lines[end].text
		if lines[end].is == other && strings.HasPrefix(text, mark) && strings.Trim(text, mark[:1]) == "" {
			return end
		}
	}
	return -1
}
