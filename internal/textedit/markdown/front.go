package markdown

import (
	"pawl/internal/textedit"
	"strings"
)

// Front returns the YAML between a file's first two lines of three dashes, and the text behind it. closed is false where
// the second line is missing: then it goes up to the first heading of a section, or to the file's end. Titles, empty lines and the opening of a code block
// may stand before it, where keys follow.
func Front(file []byte) (front, body textedit.Part, closed, ok bool) {
	lines := textedit.Lines(file)
	open := opening(lines)
	if open < 0 {
		return textedit.Part{}, textedit.Part{}, false, false
	}
	front = textedit.Part{From: lines[open].End, To: len(file), Line: open + 2}
	body = textedit.Part{From: len(file), To: len(file), Line: len(lines) + 1}
	for _, l := range lines[open+1:] {
		if fence := strings.TrimRight(l.Text, " \t"); fence == "---" || fence == "..." {
			front.To = l.From
			body.From, body.Line = l.End, l.Number+1
			return front, body, true, true
		}
	}
	for _, l := range lines[open+1:] {
		if level, _ := heading(l.Text); level > 1 {
			front.To = l.From
			return front, textedit.Part{From: l.From, To: len(file), Line: l.Number}, false, true
		}
	}
	return front, body, false, true
}

// opening returns the index of the line that opens the front matter, -1 where there is none.
func opening(lines []textedit.Line) int {
	for i, l := range lines {
		switch text := strings.TrimRight(l.Text, " \t"); {
		case text == "---":
			if i == 0 || i+1 < len(lines) && isKey(lines[i+1].Text) {
				return i
			}
			return -1
		case text != "" && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "```"):
			return -1
		}
	}
	return -1
}

// isKey reports whether a line looks like a key of YAML, or a comment in it.
func isKey(text string) bool {
	key, _, found := strings.Cut(text, ":")
	if strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "##") {
		return true
	}
	return found && key != "" && !strings.ContainsAny(key, " \t*#|`")
}
