// Package tomledit changes TOML in place: a table is added at the end or taken out, and every other byte stays.
//
// It reads what stands where, and what values say, but is laxer than TOML: it does not mind keys that are given twice.
package tomledit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"pawl/internal/textedit"
)

// Doc is a text that has been read.
type Doc struct {
	Text   []byte
	Values map[string]any // tables are maps; of an array of tables the last; dates and numbers are texts

	statements []statement
}

// statement is a line, or the lines, of a key with its value or of a table's header.
type statement struct {
	start, end int      // bytes [start, end), from the start of its first line to that of the next one
	path       []string // from the root
	header     bool
	inline     bool // its value is an inline table
}

// Get returns the value that the keys lead to, nil where there is none.
func (d Doc) Get(keys ...string) any {
	var v any = d.Values
	for _, key := range keys {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[key]
	}
	return v
}

// Pair is a key with a value, a text or a list of texts.
type Pair struct {
	Key   string
	Value any
}

// Add puts a table behind everything else. The error, a *SyntaxError, says that a table above it is written in a way that
// leaves no room for it.
func (d Doc) Add(path []string, pairs ...Pair) (Doc, error) {
	for _, s := range d.statements {
		if s.inline && len(s.path) < len(path) && slices.Equal(s.path, path[:len(s.path)]) {
			return Doc{}, textedit.ErrorAt(d.Text, s.start, fmt.Sprintf("%s is written in one line, to which no table can be added: write it as tables, [%s]",
				dotted(s.path), dotted(append(slices.Clone(s.path), "NAME"))))
		}
	}
	nl := textedit.EOL(d.Text)
	lines := [][]byte{[]byte("[" + dotted(path) + "]")}
	for _, p := range pairs {
		value, err := marshal(p.Value)
		if err != nil {
			return Doc{}, err
		}
		lines = append(lines, []byte(p.Key+" = "+value))
	}
	table := bytes.Join(lines, []byte(nl))
	switch {
	case len(d.Text) == 0:
		table = append(table, nl...)
	case d.Text[len(d.Text)-1] == '\n':
		table = slices.Concat([]byte(nl), table, []byte(nl))
	default: // without a newline at the end, as it is now
		table = slices.Concat([]byte(nl+nl), table)
	}
	return Read(slices.Concat(d.Text, table))
}

// Drop takes out all that stands below a path: what Add put there goes without a trace. The error, a *SyntaxError, says
// that it is written within another value.
func (d Doc) Remove(path []string) (Doc, error) {
	text := slices.Clone(d.Text)
	for i := len(d.statements) - 1; i >= 0; i-- {
		last := i
		for i >= 0 && d.statements[i].below(path) && (i == last || d.statements[i].end == d.statements[i+1].start) {
			i--
		}
		if i < last {
			start, end := d.span(d.statements[i+1 : last+1])
			text = slices.Delete(text, start, end)
			i++ // whatever stands before it may be another such stretch, behind a comment
		}
	}
	after, err := Read(text)
	if err == nil && after.Get(path...) != nil {
		err = textedit.ErrorAt(text, 0, dotted(path)+" is written within another value: take it out by hand")
	}
	return after, err
}

// below reports whether a statement says something of what stands at a path or below it.
func (s statement) below(path []string) bool {
	return len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path)
}

// span returns what statements that follow each other take up: with the empty line before a header, and at the end of a
// text without a newline with the newline before them.
func (d Doc) span(s []statement) (start, end int) {
	start, end = s[0].start, s[len(s)-1].end
	if s[0].header {
		start = beforeBlank(d.Text, start)
	}
	if end == len(d.Text) && d.Text[end-1] != '\n' {
		start = beforeNewline(d.Text, start)
	}
	return start, end
}

// beforeBlank returns the start of the line before a line where that one is empty, and else the place itself.
func beforeBlank(text []byte, start int) int {
	before := beforeNewline(text, start)
	if before < start && (before == 0 || text[before-1] == '\n') {
		return before
	}
	return start
}

// beforeNewline returns the place before the end of a line that ends at start.
func beforeNewline(text []byte, start int) int {
	if start > 0 && text[start-1] == '\n' {
		if start--; start > 0 && text[start-1] == '\r' {
			start--
		}
	}
	return start
}

// marshal writes a value; what JSON writes of texts and their lists is TOML too.
func marshal(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return string(bytes.TrimSpace(b.Bytes())), err
}

// dotted writes a path as keys joined by dots.
func dotted(path []string) string {
	var b bytes.Buffer
	for i, key := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		if bare.MatchString(key) {
			b.WriteString(key)
			continue
		}
		quoted, err := marshal(key)
		if err != nil {
			quoted = key
		}
		b.WriteString(quoted)
	}
	return b.String()
}
