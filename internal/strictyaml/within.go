package strictyaml

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// ErrorWithin reports an error inside of a text value, at an offset in characters. Where the position in the file is not certain,
// because the value has escapes or is folded, it reports the position of the value.
func (f *File) ErrorWithin(pointer any, offset int, format string, args ...any) {
	p, ok := f.at[pointer]
	n := p.value
	if p.content != nil {
		n = p.content
	}
	if ok && n != nil && n.Kind == yaml.MappingNode { // {value: TEXT}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "value" {
				n = n.Content[i+1]
				break
			}
		}
	}
	if ok && n != nil && n.Kind == yaml.ScalarNode {
		if line, column := f.within(n, offset); line > 0 {
			f.errorAt(line, column, format, args...)
			return
		}
	}
	f.Errorf(pointer, format, args...)
}

// within returns the position of a character of a scalar, 0 if it is not certain.
func (f *File) within(n *yaml.Node, offset int) (line, column int) {
	before := []rune(n.Value)
	if offset > len(before) {
		return 0, 0
	}
	head := string(before[:offset])
	row, start := strings.Count(head, "\n"), 1+strings.LastIndex(head, "\n")
	part := head[start:] // of the character's line
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		text := f.line(n.Line + 1 + row)
		whole, _, _ := strings.Cut(n.Value[start:], "\n")
		if at := strings.Index(text, whole); at >= 0 && strings.TrimSpace(text[:at]) == "" {
			return n.Line + 1 + row, utf8.RuneCountInString(text[:at]+part) + 1
		}
		return 0, 0
	case row > 0 || n.Style&yaml.FoldedStyle != 0:
		return 0, 0
	}
	from := n.Column - 1
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		from++
	}
	text := []rune(f.line(n.Line))
	if from > len(text) || !strings.HasPrefix(string(text[from:]), part) {
		return 0, 0
	}
	return n.Line, from + offset + 1
}

// line returns a line of the file, or of another one, by the number in its nodes.
func (f *File) line(number int) string {
	rest := string(f.data[number/partLines])
	for range number%partLines - 1 {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSuffix(line, "\r")
}
