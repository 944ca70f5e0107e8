package textedit

import (
	"bytes"
	"strings"
)

// Line is a line of a text.
type Line struct {
	Number   int    // from 1
	From, To int    // bytes, without the line's end
	End      int    // behind the line's end
	Text     string // without it
}

// Lines returns the lines of a text, without a byte order mark.
func Lines(data []byte) []Line {
	var lines []Line
	for from := Whole(data).From; from < len(data); {
		l := Line{Number: len(lines) + 1, From: from, To: len(data), End: len(data)}
		if n := bytes.IndexByte(data[from:], '\n'); n >= 0 {
			l.To, l.End = from+n, from+n+1
		}
		if l.To > from && data[l.To-1] == '\r' {
			l.To--
		}
		l.Text = string(data[from:l.To])
		lines = append(lines, l)
		from = l.End
	}
	return lines
}

// Indent returns how many spaces a line begins with.
func Indent(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }
