// Package tomledit edits TOML in place: it adds a table at the end or removes one, and keeps every other byte.
//
// It accepts more than TOML: it allows duplicate keys.
package tomledit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"pawl/internal/textedit"
)

// Doc is a parsed text.
type Doc struct {
	Text   []byte
	Values map[string]any // tables are maps, of an array of tables the last one; dates and numbers are strings

	statements []statement
}

// statement is a key with its value or the header of a table.
type statement struct {
	start, end int      // bytes [start, end), from the start of its first line to that of the next one
	path       []string // from the root
	header     bool
	inline     bool // its value is an inline table
}

// Get returns the value at a path of keys, nil if there is none.
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

// Pair is a key with its value, a string or a list of strings.
type Pair struct {
	Key   string
	Value any
}

// Add adds a table at the end. It returns a *textedit.SyntaxError if a parent is an inline table, which cannot be extended.
func (d Doc) Add(path []string, pairs ...Pair) (Doc, error) {
	for _, s := range d.statements {
		if s.inline && len(s.path) < len(path) && slices.Equal(s.path, path[:len(s.path)]) {
			return Doc{}, textedit.ErrorAt(d.Text, s.start, fmt.Sprintf("%s is an inline table, which cannot be extended; write it as [%s]",
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

// Remove removes the table at a path with all that is below it. It removes all that Add wrote. It returns a
// *textedit.SyntaxError if the table is part of another value.
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
		err = textedit.ErrorAt(text, 0, dotted(path)+" is part of another value; remove it manually")
	}
	return after, err
}

// below reports whether a statement belongs to a path or to a table below it.
func (s statement) below(path []string) bool {
	return len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path)
}

// span returns the bytes of consecutive statements, including the empty line before a header. At the end of a text without
// a final newline it includes the newline before them.
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

// beforeBlank returns the start of the previous line if that is empty, otherwise start.
func beforeBlank(text []byte, start int) int {
	before := beforeNewline(text, start)
	if before < start && (before == 0 || text[before-1] == '\n') {
		return before
	}
	return start
}

// beforeNewline returns the place before the line end that ends at start.
func beforeNewline(text []byte, start int) int {
	if start > 0 && text[start-1] == '\n' {
		if start--; start > 0 && text[start-1] == '\r' {
			start--
		}
	}
	return start
}

// marshal encodes a value. JSON strings and lists of strings are valid TOML.
func marshal(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return string(bytes.TrimSpace(b.Bytes())), err
}

// dotted returns a path as a dotted key.
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
