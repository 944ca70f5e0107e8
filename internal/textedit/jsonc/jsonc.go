// Package jsonc changes JSON in place: what is added or dropped is spliced into the text, and every other byte stays,
// with its comments, order, indentation and line ends.
//
// It reads JSON with comments and with commas behind the last member, and nothing laxer. A mark for the byte order at the
// start is skipped. It never writes anything that it would not read again.
package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Kind is what sort of value a value is.
type Kind byte

// The kinds; a scalar is a string, a number, true, false or null.
const (
	Scalar Kind = iota
	Object
	Array
)

// Value is a value with its place in the text.
type Value struct {
	Kind       Kind
	Start, End int      // bytes [Start, End)
	Members    []Member // of an object or array
}

// Member is a member of an object or an element of an array, which has no key.
type Member struct {
	Key   string
	Start int // of the key, or of the element
	Value Value

	comma int // where the comma behind it stands, -1 for none
}

// Doc is a text that has been read. The zero value is none.
type Doc struct {
	Text []byte
	Root Value
}

// SyntaxError says what is wrong with a text, and where.
type SyntaxError struct {
	Line, Column int // from 1, the column in characters
	Text         string
}

// Error returns line:column: what is wrong.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Text) }

// deepest is how deep values may stand in each other.
const deepest = 500

// byteOrder marks a text as UTF-8. Some editors write it.
var byteOrder = []byte("\ufeff")

// Read reads a text. The error is a *SyntaxError.
func Read(text []byte) (Doc, error) {
	r := &reader{text: text}
	if bytes.HasPrefix(text, byteOrder) {
		r.at = len(byteOrder)
	}
	doc := Doc{Text: text}
	if doc.Root = r.value(0); r.err == nil {
		r.space()
		if r.at < len(text) {
			r.fail(r.at, "something follows behind the end of the value: remove it")
		}
	}
	if r.err != nil {
		return Doc{}, r.err
	}
	return doc, nil
}

// Position returns the line and column of a byte, from 1, the column in characters.
func Position(text []byte, at int) (line, column int) {
	text = bytes.TrimPrefix(text[:at], byteOrder)
	start := bytes.LastIndexByte(text, '\n') + 1
	return bytes.Count(text, []byte{'\n'}) + 1, utf8.RuneCount(text[start:]) + 1
}

// Wrong returns a *SyntaxError about the place of a value.
func (d Doc) Wrong(v Value, format string, args ...any) error {
	line, column := Position(d.Text, v.Start)
	return &SyntaxError{Line: line, Column: column, Text: fmt.Sprintf(format, args...)}
}

// At returns the value that the keys lead to from the root, nil where there is none. Of two members with one key the last
// counts, as it does for most readers.
func (d Doc) At(keys ...string) *Value {
	v := &d.Root
	for _, key := range keys {
		i := v.Find(key)
		if i < 0 {
			return nil
		}
		v = &v.Members[i].Value
	}
	return v
}

// Find returns the index of the last member of an object with this key, -1 where there is none.
func (v *Value) Find(key string) int {
	if v.Kind != Object {
		return -1
	}
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return i
		}
	}
	return -1
}

// Decode returns a value as package encoding/json would: maps, slices, strings, float64, bool, nil.
func (d Doc) Decode(v Value) any {
	switch v.Kind {
	case Object:
		m := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			m[member.Key] = d.Decode(member.Value)
		}
		return m
	case Array:
		list := make([]any, len(v.Members))
		for i, member := range v.Members {
			list[i] = d.Decode(member.Value)
		}
		return list
	}
	var scalar any
	if err := json.Unmarshal(d.Text[v.Start:v.End], &scalar); err != nil {
		return string(d.Text[v.Start:v.End]) // a number that no float64 holds
	}
	return scalar
}
