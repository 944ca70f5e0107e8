package yamledit

import (
	"pawl/internal/textedit"
	"strings"
)

// Scan reads a part of a file that is not valid YAML, line by line: keys, lists, nesting by indentation, block scalars. It
// skips other lines. Its values cannot be edited.
func Scan(file []byte, part textedit.Part) *Value {
	s := &scanner{}
	for _, l := range textedit.Lines(part.Bytes(file)) {
		text := strings.TrimRight(l.Text, " \t")
		bare := strings.TrimLeft(text, " \t")
		if fence := bare == "---" || bare == "..."; fence || bare == "" && len(s.lines) == 0 {
			continue
		}
		s.lines = append(s.lines, scanLine{number: part.Line + l.Number - 1, indent: len(text) - len(bare), text: bare})
	}
	v := s.block(0, 0)
	if v.Kind != Map {
		return &Value{Kind: Map, Line: part.Line}
	}
	return v
}

type scanLine struct {
	number, indent int
	text           string // without the space around it
}

type scanner struct {
	lines []scanLine
	next  int
}

// skip passes empty lines and comments, and reports whether a line follows.
func (s *scanner) skip() bool {
	for s.next < len(s.lines) {
		if text := s.lines[s.next].text; text != "" && !strings.HasPrefix(text, "#") {
			return true
		}
		s.next++
	}
	return false
}

// block reads the lines that are indented by at least so many spaces: a list where the first one is an item, else a map.
func (s *scanner) block(least, depth int) *Value {
	v := &Value{Null: true}
	for s.skip() && depth < maxDepth {
		l := s.lines[s.next]
		if l.indent < least {
			break
		}
		switch item, isItem := strings.CutPrefix(l.text+" ", "- "); {
		case isItem && v.Kind != Map:
			v.Kind, v.Null, v.Line = List, false, l.number
			s.item(v, l, strings.TrimSpace(item), depth)
		case isItem || v.Kind == List:
			if l.indent <= least && v.Kind == List {
				return v // a key behind a list that is not indented
			}
			s.next++
		default:
			s.pair(v, l, depth)
		}
	}
	return v
}

// item reads an item of a list: a text, or a map that begins on the line of the dash.
func (s *scanner) item(list *Value, l scanLine, text string, depth int) {
	inner := l.indent + len(l.text) - len(text)
	if text == "" {
		s.next++
		list.Items = append(list.Items, s.block(l.indent+1, depth+1))
		return
	}
	if isBlockMark(text) {
		s.next++
		list.Items = append(list.Items, s.text(l))
		return
	}
	if _, _, isPair := cutKey(text); !isPair {
		s.next++
		list.Items = append(list.Items, scanned(text, l.number, false))
		return
	}
	s.lines[s.next] = scanLine{number: l.number, indent: inner, text: text}
	list.Items = append(list.Items, s.block(inner, depth+1))
}

// pair reads a key with its value.
func (s *scanner) pair(v *Value, l scanLine, depth int) {
	s.next++
	key, text, ok := cutKey(l.text)
	if !ok {
		return
	}
	if v.Kind != Map {
		v.Kind, v.Null, v.Line = Map, false, l.number
	}
	var value *Value
	switch {
	case isBlockMark(text):
		value = s.text(l)
	case text != "":
		value = scanned(text, l.number, false)
	default:
		value = s.below(l, depth)
	}
	v.Pairs = append(v.Pairs, Pair{Key: key, Value: value, line: l.number})
}

// below reads what stands indented under a key, or a list that is not indented.
func (s *scanner) below(l scanLine, depth int) *Value {
	if s.skip() {
		next := s.lines[s.next]
		if next.indent > l.indent || next.indent == l.indent && strings.HasPrefix(next.text+" ", "- ") {
			return s.block(next.indent, depth+1)
		}
	}
	return &Value{Null: true, Line: l.number}
}

func isBlockMark(text string) bool {
	return text != "" && (text[0] == '|' || text[0] == '>') && len(text) < 4 && strings.Trim(text[1:], "+-123456789") == ""
}

// text reads a block of text below a key.
func (s *scanner) text(l scanLine) *Value {
	var lines []string
	first := -1
	for ; s.next < len(s.lines); s.next++ {
		next := s.lines[s.next]
		if next.text != "" && next.indent <= l.indent {
			break
		}
		if first < 0 {
			first = next.indent
		}
		lines = append(lines, strings.Repeat(" ", max(next.indent-first, 0))+next.text)
	}
	return &Value{Text: strings.TrimRight(strings.Join(lines, "\n"), "\n"), Quoted: true, Line: l.number}
}

// cutKey splits "key: text"; the key may be in quotes.
func cutKey(line string) (key, text string, ok bool) {
	rest := line
	if line != "" && (line[0] == '"' || line[0] == '\'') {
		end := max(endOfDouble([]byte(line)), endOfSingle([]byte(line)))
		if end == 0 || end >= len(line) || line[end] != ':' {
			return "", "", false
		}
		return line[1 : end-1], strings.TrimSpace(line[end+1:]), true
	}
	if key, rest, ok = strings.Cut(line, ": "); !ok {
		if key, ok = strings.CutSuffix(line, ":"); !ok {
			return "", "", false
		}
		rest = ""
	}
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsAny(key, "{}[]\"'#`") || len(key) > 64 {
		return "", "", false
	}
	return key, strings.TrimSpace(rest), true
}

// scanned returns the value that a line gives: a text, or a list in brackets that is not inside of another.
func scanned(text string, line int, inside bool) *Value {
	v := &Value{Line: line}
	switch text[0] {
	case '"', '\'':
		if end := max(endOfDouble([]byte(text)), endOfSingle([]byte(text))); end > 1 {
			v.Text, v.Quoted = unquoted(text[:end]), true
			return v
		}
	case '[':
		if end := strings.LastIndexByte(text, ']'); end > 0 && !inside {
			return scannedList(text[1:end], line)
		}
	}
	if at := strings.Index(text, " #"); at >= 0 {
		text = strings.TrimSpace(text[:at])
	}
	v.Text, v.Null = text, text == "null" || text == "~" || text == ""
	return v
}

func unquoted(text string) string {
	inner := text[1 : len(text)-1]
	if text[0] == '\'' {
		return strings.ReplaceAll(inner, "''", "'")
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(inner)
}

// scannedList splits a list at its commas, but for those in quotes.
func scannedList(text string, line int) *Value {
	v := &Value{Kind: List, Line: line, Inline: true}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := max(endOfDouble([]byte(text)), endOfSingle([]byte(text)))
		if comma := strings.IndexByte(text[end:], ','); comma >= 0 {
			end += comma
		} else {
			end = len(text)
		}
		if item := strings.TrimSpace(text[:end]); item != "" {
			v.Items = append(v.Items, scanned(item, line, true))
		}
		text = strings.TrimPrefix(text[end:], ",")
	}
	return v
}
