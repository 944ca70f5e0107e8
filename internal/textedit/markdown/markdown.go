// Package markdown finds front matter, sections, bullets and tables in Markdown, with their lines.
package markdown

import (
	"bytes"
	"strings"

	"pawl/internal/lazyregexp"
	"pawl/internal/textedit"
)

// Section is a heading of a Markdown text and the lines below it, up to the next heading of its level or a higher one.
type Section struct {
	Level int
	Title string
	Line  textedit.Line // of the heading
	Body  []textedit.Line

	lead int // lines of the body before the first heading in it
}

// Sections returns the headings of a text with what is below them, in order: a section holds those below it too. What
// stands in fenced code is not a heading.
func Sections(lines []textedit.Line) []Section {
	var sections []Section
	fence := ""
	for _, l := range lines {
		mark := fenceOf(l.Text)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence):
			fence = ""
		case fence == "":
			if level, title := heading(l.Text); level > 0 {
				sections = append(sections, Section{Level: level, Title: title, Line: l})
			}
		}
	}
	var next [7]int // level → line of the next heading of that level, 0: none
	for i := len(sections) - 1; i >= 0; i-- {
		s := &sections[i]
		end := len(lines)
		for _, at := range next[1 : s.Level+1] {
			if at > 0 {
				end = min(end, at-lines[0].Number)
			}
		}
		s.Body = lines[s.Line.Number-lines[0].Number+1 : end]
		s.lead = len(s.Body)
		if i+1 < len(sections) {
			s.lead = min(s.lead, sections[i+1].Line.Number-s.Line.Number-1)
		}
		next[s.Level] = s.Line.Number
	}
	return sections
}

// Added returns a text in Markdown with lines behind it, in its own line ends. Code that it does not close is closed before:
// else they would be code.
func Added(data []byte, text string) []byte {
	if mark := unclosed(textedit.Lines(data)); mark != "" {
		text = mark + "\n" + text
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		text = "\n" + text
	}
	return append(bytes.Clone(data), strings.ReplaceAll(text, "\n", textedit.EOL(data))...)
}

// unclosed returns the mark of the fenced code that is not closed at the end, empty where none is.
func unclosed(lines []textedit.Line) string {
	fence := ""
	for _, l := range lines {
		switch mark := fenceOf(l.Text); {
		case fence == "":
			fence = mark
		case strings.HasPrefix(mark, fence):
			fence = ""
		}
	}
	return fence
}

func fenceOf(text string) string {
	text = strings.TrimLeft(text, " ")
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return ""
}

func heading(text string) (level int, title string) {
	rest := strings.TrimLeft(text, "#")
	level = len(text) - len(rest)
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), "#"))
}

// Lead returns the lines of a section that stand before the first heading in it.
func (s Section) Lead() []textedit.Line { return s.Body[:s.lead] }

// End returns the byte behind the last line of a section that is not empty: its heading, where all are.
func (s Section) End() int {
	for i := len(s.Body) - 1; i >= 0; i-- {
		if strings.TrimSpace(s.Body[i].Text) != "" {
			return s.Body[i].End
		}
	}
	return s.Line.End
}

// Join returns lines as one text, without empty ones at its ends.
func Join(lines []textedit.Line) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	return strings.Trim(strings.Join(texts, "\n"), "\n ")
}

// Bullet returns what a line says as an item of a list, without quotes around it.
func Bullet(text string) (string, bool) {
	rest := strings.TrimLeft(text, " \t")
	if len(rest) < 2 || !strings.ContainsRune("-*+", rune(rest[0])) || rest[1] != ' ' && rest[1] != '\t' {
		return "", false
	}
	rest = strings.TrimSpace(rest[1:])
	if len(rest) > 1 && rest[0] == '"' && rest[len(rest)-1] == '"' {
		rest = rest[1 : len(rest)-1]
	}
	return rest, rest != ""
}

// Row is a row of a table.
type Row struct {
	Line  textedit.Line
	Cells []string
}

var ruled = lazyregexp.New(`^\s*\|?[\s:|-]*-[\s:|-]*$`)

// Table returns the first table among lines, with its titles as the first row; none gives nil.
func Table(lines []textedit.Line) []Row {
	for i := 1; i < len(lines); i++ {
		if !ruled.MatchString(lines[i].Text) || !strings.Contains(lines[i].Text, "|") || !strings.Contains(lines[i-1].Text, "|") {
			continue
		}
		rows := []Row{{Line: lines[i-1], Cells: cells(lines[i-1].Text)}}
		for _, l := range lines[i+1:] {
			if !strings.Contains(l.Text, "|") {
				break
			}
			rows = append(rows, Row{Line: l, Cells: cells(l.Text)})
		}
		return rows
	}
	return nil
}

// cells splits a row of a table; \| is not a border.
func cells(text string) []string {
	text = strings.TrimSpace(text)
	text = strings.TrimPrefix(text, "|")
	var list []string
	var cell strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '|':
			cell.WriteByte('|')
			i++
		case text[i] == '|':
			list = append(list, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(text[i])
		}
	}
	if rest := strings.TrimSpace(cell.String()); rest != "" || !strings.HasSuffix(text, "|") {
		list = append(list, rest)
	}
	return list
}
