// Package jsonedit reads JSON with positions and changes it in place. It also writes JSON as JavaScript's JSON.stringify does.
package jsonedit

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is a value of a JSON text, with where it stands in it.
type Value struct {
	Kind     Kind
	From, To int      // the bytes of the text that it takes up
	Members  []Member // of an object, as they stand there; of a key that comes twice the last one counts
	Items    []*Value // of an array

	text []byte // the whole
}

// Member is a key of an object, with its value.
type Member struct {
	Key   string
	From  int // where the key begins
	Value *Value
}

// Kind is what a value of JSON is.
type Kind byte

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// jsonBOM is the byte order mark that some editors put in front.
var jsonBOM = []byte("\xef\xbb\xbf")

// SyntaxError says where a text is no JSON: line and column count from 1, the column in bytes.
type SyntaxError struct {
	Line, Column int
	Why          string
}

// Error names line and column.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Why)
}

// Read returns the value that text is, with all that is in it. It takes exactly what RFC 8259 calls JSON, but for a
// byte order mark in front; an error is a *JSONError.
func Read(text []byte) (*Value, error) {
	s := &scanner{text: text}
	v := s.all()
	if s.wrong != "" {
		line, column := place(text, s.failed)
		return nil, &SyntaxError{Line: line, Column: column, Why: s.wrong}
	}
	return v, nil
}

// all goes over the whole text.
func (s *scanner) all() *Value {
	if bytes.HasPrefix(s.text, jsonBOM) {
		s.at = len(jsonBOM)
	}
	s.space()
	v := s.value(0)
	s.space()
	if s.wrong == "" && s.at < len(s.text) {
		s.fail("nothing more was expected here")
	}
	return v
}

// place returns the line and the column of a byte of text, both from 1, the column in bytes.
func place(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// Line returns the line in which the value begins, from 1; 0 for none.
func (v *Value) Line() int {
	if v == nil {
		return 0
	}
	line, _ := place(v.text, v.From)
	return line
}

// Get returns the value at a path of keys, and of indexes in arrays; nil where there is none.
func (v *Value) Get(path ...string) *Value {
	for _, name := range path {
		if v = v.child(name); v == nil {
			return nil
		}
	}
	return v
}

func (v *Value) child(name string) *Value {
	switch {
	case v == nil:
	case v.Kind == Object:
		for i := len(v.Members) - 1; i >= 0; i-- {
			if v.Members[i].Key == name {
				return v.Members[i].Value
			}
		}
	case v.Kind == Array:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v.Items) {
			return v.Items[i]
		}
	}
	return nil
}

// Twins returns the members, of an object and of all that is in it, whose key comes before in the same object: it is they that count.
func (v *Value) Twins() []Member {
	var twins []Member
	seen := map[string]bool{}
	for _, m := range v.Members {
		if seen[m.Key] {
			twins = append(twins, m)
		}
		seen[m.Key] = true
		twins = append(twins, m.Value.Twins()...)
	}
	for _, item := range v.Items {
		twins = append(twins, item.Twins()...)
	}
	return twins
}

// Is reports whether there is a value, and of this kind.
func (v *Value) Is(kind Kind) bool { return v != nil && v.Kind == kind }

// Raw returns the value as it stands in the text.
func (v *Value) Raw() []byte {
	if v == nil {
		return nil
	}
	return v.text[v.From:v.To]
}

// Text returns what a string says, and "" for anything else. A half of a surrogate pair that stands alone, which only an
// escape can be, is encoded as if it were a character, so that nothing is lost.
func (v *Value) Text() string {
	if !v.Is(String) {
		return ""
	}
	return unquote(v.text[v.From:v.To])
}

// Float returns a number as JavaScript and most others take it, and whether it is one. Beyond what a float64 holds it is
// infinite.
func (v *Value) Float() (float64, bool) {
	if !v.Is(Number) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(v.Raw()), 64) // the only error left is a range error, and then f is infinite or 0
	return f, true
}

// Int returns a number that is whole and fits, and whether it is one: 3, 3.0 and 3e0 are.
func (v *Value) Int() (int64, bool) {
	f, ok := v.Float()
	if !ok || f != float64(int64(f)) || f >= 1<<63 || f < -(1<<63) {
		return 0, false
	}
	return int64(f), true
}

// True reports whether the value is true.
func (v *Value) True() bool { return v.Is(Bool) && v.text[v.From] == 't' }

// unquote returns what a well-formed string literal says.
func unquote(literal []byte) string {
	body := literal[1 : len(literal)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body)
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			out = append(out, body[i])
			continue
		}
		i++
		if body[i] != 'u' {
			out = append(out, unescaped(body[i]))
			continue
		}
		r := hex4(body[i+1:])
		i += 4
		if low := surrogateBehind(body[i+1:]); utf16.IsSurrogate(r) && utf16.DecodeRune(r, low) != utf8.RuneError {
			r = utf16.DecodeRune(r, low)
			i += 6
		}
		out = appendRune(out, r)
	}
	return string(out)
}

func unescaped(c byte) byte {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return c
}

// surrogateBehind returns the code unit that text begins with as an escape; 0 where it does not.
func surrogateBehind(text []byte) rune {
	if !bytes.HasPrefix(text, []byte(`\u`)) || len(text) < 6 {
		return 0
	}
	return hex4(text[2:])
}

func hex4(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError // cannot be: they were looked at
	}
	return rune(n)
}

// appendRune appends a character, also half a surrogate pair, which UTF-8 does not know.
func appendRune(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(out, r)
}
