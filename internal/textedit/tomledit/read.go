package tomledit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl/internal/lazyregexp"
	"pawl/internal/textedit"
)

// bare is a key that needs no quotes.
var bare = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// deepest is the limit of nesting.
const deepest = 200

// reader parses a text. It stops at the first error.
type reader struct {
	text []byte
	at   int
	err  *textedit.SyntaxError
}

// Read parses a text. The error is a *textedit.SyntaxError.
func Read(text []byte) (Doc, error) {
	first := textedit.Whole(text).From
	r := &reader{text: text, at: first}
	doc := Doc{Text: text, Values: map[string]any{}}
	var table []string
	for r.space(true); r.at < len(text); r.space(true) {
		start, header, inline := r.at, r.peek() == '[', false
		var path []string
		var value any = map[string]any{}
		if header {
			path = r.header()
			table = path
		} else {
			path = slices.Concat(table, r.keys("="))
			value = r.value(0)
			_, inline = value.(map[string]any)
		}
		r.end()
		if r.err != nil {
			return Doc{}, r.err
		}
		set(doc.Values, path, value)
		lineStart := max(bytes.LastIndexByte(text[:start], '\n')+1, first)
		doc.statements = append(doc.statements, statement{start: min(lineStart, start), end: r.at, path: path, header: header, inline: inline})
	}
	if r.err != nil {
		return Doc{}, r.err
	}
	return doc, nil
}

// set stores a value at a path. It keeps existing tables.
func set(table map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		below, ok := table[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			table[key] = below
		}
		table = below
	}
	last := path[len(path)-1]
	if more, ok := value.(map[string]any); ok && len(more) == 0 {
		if _, there := table[last].(map[string]any); there {
			return
		}
	}
	table[last] = value
}

func (r *reader) fail(at int, what string) {
	if r.err == nil {
		r.err = textedit.ErrorAt(r.text, at, what)
	}
	r.at = len(r.text)
}

// peek returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// space skips spaces and tabs, and where lines may end here, line ends and comments.
func (r *reader) space(lines bool) {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\t':
			r.at++
		case lines && c == '\n', lines && c == '\r' && r.at+1 < len(r.text) && r.text[r.at+1] == '\n':
			r.at++
		case lines && c == '#':
			r.comment()
		default:
			return
		}
	}
}

// comment skips a comment up to the end of its line.
func (r *reader) comment() {
	if n := bytes.IndexByte(r.text[r.at:], '\n'); n >= 0 {
		r.at += n
	} else {
		r.at = len(r.text)
	}
}

// end reads the rest of a statement's line.
func (r *reader) end() {
	r.space(false)
	if r.peek() == '#' {
		r.comment()
	}
	if bytes.HasPrefix(r.text[r.at:], []byte("\r\n")) {
		r.at++
	}
	switch {
	case r.at >= len(r.text):
	case r.text[r.at] == '\n':
		r.at++
	default:
		r.fail(r.at, "expected the end of the line")
	}
}

// header reads [a.b] or [[a.b]].
func (r *reader) header() []string {
	closing := "]"
	if bytes.HasPrefix(r.text[r.at:], []byte("[[")) {
		closing = "]]"
	}
	r.at += len(closing)
	return r.keys(closing)
}

// keys reads keys joined by dots, and what follows them.
func (r *reader) keys(closing string) []string {
	var path []string
	for {
		r.space(false)
		path = append(path, r.key())
		r.space(false)
		if r.peek() != '.' {
			break
		}
		r.at++
	}
	if r.err == nil && !bytes.HasPrefix(r.text[r.at:], []byte(closing)) {
		r.fail(r.at, fmt.Sprintf("expected %s after %s", closing, dotted(path)))
	}
	r.at += min(len(closing), len(r.text)-r.at)
	return path
}

func (r *reader) key() string {
	start := r.at
	switch c := r.peek(); {
	case c == '"' || c == '\'':
		return r.quoted(string(c))
	default:
		for r.at < len(r.text) && bare.Match(r.text[r.at:r.at+1]) {
			r.at++
		}
	}
	if r.at == start {
		r.fail(start, "expected a key or a [table]; a key with characters other than letters, digits, _ and - needs quotes")
	}
	return string(r.text[start:r.at])
}

func (r *reader) value(depth int) any {
	r.space(false)
	start := r.at
	switch c := r.peek(); {
	case depth > deepest:
		r.fail(start, "values are nested too deep")
	case c == '[':
		return r.array(depth)
	case c == '{':
		return r.inline(depth)
	case bytes.HasPrefix(r.text[r.at:], []byte(`"""`)):
		return r.quoted(`"""`)
	case bytes.HasPrefix(r.text[r.at:], []byte(`'''`)):
		return r.quoted(`'''`)
	case c == '"' || c == '\'':
		return r.quoted(string(c))
	default:
		return r.scalar(start)
	}
	return nil
}

var scalars = lazyregexp.New(`^[-+0-9A-Za-z_.:]+(?: [0-9][-+0-9A-Za-z_.:]+)?`)

// scalar reads a number, a date, true or false.
func (r *reader) scalar(start int) any {
	word := string(scalars.Find(r.text[start:]))
	r.at += len(word)
	switch {
	case word == "true", word == "false":
		return word == "true"
	case word == "", word[0] >= 'A' && !slices.Contains([]string{"inf", "nan"}, word):
		r.fail(start, "expected a value; strings need quotes")
	}
	return word
}

func (r *reader) array(depth int) any {
	open := r.at
	list := []any{}
	for r.at++; r.err == nil; {
		r.space(true)
		if r.peek() == ']' {
			r.at++
			return list
		}
		list = append(list, r.value(depth+1))
		r.space(true)
		if r.peek() == ',' {
			r.at++
		} else if r.peek() != ']' {
			r.fail(open, "unclosed array, or a missing comma")
		}
	}
	return list
}

func (r *reader) inline(depth int) any {
	open := r.at
	table := map[string]any{}
	for r.at++; r.err == nil; {
		r.space(true)
		if r.peek() == '}' {
			r.at++
			return table
		}
		path := r.keys("=")
		value := r.value(depth + 1)
		if r.err == nil {
			set(table, path, value)
		}
		r.space(true)
		if r.peek() == ',' {
			r.at++
		} else if r.peek() != '}' {
			r.fail(open, "unclosed inline table, or a missing comma")
		}
	}
	return table
}

// quoted reads a string with any of the four kinds of quotes, and returns its value.
func (r *reader) quoted(quote string) string {
	start, long, raw := r.at, len(quote) == 3, quote[0] == '\''
	r.at += len(quote)
	from := r.at
	for ; ; r.at++ {
		switch {
		case r.at >= len(r.text), !long && r.text[r.at] == '\n':
			r.fail(start, "unclosed string, expected "+quote)
			return ""
		case !raw && r.text[r.at] == '\\':
			r.at++
		case bytes.HasPrefix(r.text[r.at:], []byte(quote)):
			for long && r.at+3 < len(r.text) && r.text[r.at+3] == quote[0] { // up to two quotes may stand before the end
				r.at++
			}
			said := string(r.text[from:r.at])
			r.at += len(quote)
			return r.unescaped(start, said, long, raw)
		}
	}
}

var escapes = lazyregexp.New(`\\(?:[ \t]*\r?\n\s*|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|(?s:.)|$)`)

// unescaped returns the value of the text between quotes.
func (r *reader) unescaped(start int, said string, long, raw bool) string {
	if long {
		said = strings.TrimPrefix(strings.TrimPrefix(said, "\r"), "\n")
	}
	if raw {
		return said
	}
	return escapes.ReplaceAllStringFunc(said, func(escape string) string {
		if strings.Contains(escape, "\n") && long {
			return ""
		}
		if i := strings.IndexByte(`btnfre"\`, (escape + " ")[1]); i >= 0 {
			return "\b\t\n\f\r\x1b\"\\"[i : i+1]
		}
		n, err := strconv.ParseUint(escape[min(2, len(escape)):], 16, 32)
		if err != nil || !utf8.ValidRune(rune(n)) {
			r.fail(start, "unknown escape "+strconv.Quote(escape)+"; write \\\\ for a backslash")
			return ""
		}
		return string(rune(n))
	})
}
