// Package jsonedit reads JSON with positions and edits it in place: an edit keeps every other byte of the text. It also
// writes JSON as JavaScript's JSON.stringify does.
//
// Read accepts strict JSON. ReadJSONC also accepts comments and a comma after the last element. Both return the same
// values. They have separate edits, because the edits promise different things:
//   - Set, Append and Remove address a value by its path in strict JSON, and copy the separators of its neighbors.
//   - Doc.Add, Doc.Set and Doc.Remove work around comments, and Remove restores the exact bytes from before Add.
package jsonedit

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"pawl/internal/textedit"
)

// Value is a JSON value and its position in the text.
type Value struct {
	Kind     Kind
	From, To int      // its bytes are [From, To)
	Members  []Member // of an object, in the order of the text; of duplicate keys the last one counts
	Items    []*Value // of an array

	text  []byte // the whole text
	comma int    // offset of the comma after the value, 0 if there is none
}

// Member is a key of an object and its value.
type Member struct {
	Key   string
	From  int // where the key begins
	Value *Value
}

// Kind is the type of a JSON value.
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

// SyntaxError reports where and why a text is not valid JSON.
type SyntaxError = textedit.SyntaxError

// Read parses a text. It accepts exactly the JSON of RFC 8259, and skips a byte order mark at the start. The error is a
// *SyntaxError.
func Read(text []byte) (*Value, error) { return read(&scanner{text: text}) }

func read(s *scanner) (*Value, error) {
	v := s.all()
	if s.wrong != "" {
		return nil, textedit.ErrorAt(s.text, s.failed, s.wrong)
	}
	return v, nil
}

// Errorf returns a *SyntaxError at the position of the value.
func (v *Value) Errorf(format string, args ...any) error {
	return textedit.ErrorAt(v.text, v.From, fmt.Sprintf(format, args...))
}

// all scans the whole text.
func (s *scanner) all() *Value {
	s.at = textedit.Whole(s.text).From
	s.space()
	v := s.value(0)
	s.space()
	if s.wrong == "" && s.at < len(s.text) {
		s.fail("unexpected text after the value")
	}
	return v
}

// Line returns the line in which the value begins, from 1; 0 for none.
func (v *Value) Line() int {
	if v == nil {
		return 0
	}
	return textedit.ErrorAt(v.text, v.From, "").Line
}

// Get returns the value at a path of keys and array indexes, nil if there is none.
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
		if i := v.Index(name); i >= 0 {
			return v.Members[i].Value
		}
	case v.Kind == Array:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v.Items) {
			return v.Items[i]
		}
	}
	return nil
}

// Index returns the index of the last member with a key, -1 if there is none.
func (v *Value) Index(key string) int {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return i
		}
	}
	return -1
}

// Len returns how many members an object or elements an array has.
func (v *Value) Len() int { return len(v.Members) + len(v.Items) }

// elements returns the members of an object, or the elements of an array as members without a key.
func (v *Value) elements() []Member {
	if v.Kind == Object {
		return v.Members
	}
	elements := make([]Member, len(v.Items))
	for i, item := range v.Items {
		elements[i] = Member{From: item.From, Value: item}
	}
	return elements
}

// Twins returns all members, also of nested objects, that repeat an earlier key of the same object.
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

// Is reports whether the value exists and has this kind.
func (v *Value) Is(kind Kind) bool { return v != nil && v.Kind == kind }

// Raw returns the bytes of the value.
func (v *Value) Raw() []byte {
	if v == nil {
		return nil
	}
	return v.text[v.From:v.To]
}

// Decode returns the value as encoding/json decodes it into an any.
func (v *Value) Decode() any {
	switch v.Kind {
	case Object:
		m := make(map[string]any, len(v.Members))
		for _, member := range v.Members {
			m[member.Key] = member.Value.Decode()
		}
		return m
	case Array:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = item.Decode()
		}
		return list
	case String:
		return v.Text()
	case Number:
		f, _ := v.Float()
		return f
	case Bool:
		return v.True()
	}
	return nil
}

// Text returns the value of a string, and "" for other kinds. It encodes an unpaired surrogate, which only an escape can be,
// as if it were a character, so that nothing is lost.
func (v *Value) Text() string {
	if !v.Is(String) {
		return ""
	}
	return unquote(v.text[v.From:v.To])
}

// Float returns a number as a float64, and whether the value is a number. It is infinite beyond the range of a float64.
func (v *Value) Float() (float64, bool) {
	if !v.Is(Number) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(v.Raw()), 64) // the only error left is a range error, and then f is infinite or 0
	return f, true
}

// Int returns an integer, and whether the value is one that fits: 3, 3.0 and 3e0 are.
func (v *Value) Int() (int64, bool) {
	f, ok := v.Float()
	if !ok || f != float64(int64(f)) || f >= 1<<63 || f < -(1<<63) {
		return 0, false
	}
	return int64(f), true
}

// True reports whether the value is true.
func (v *Value) True() bool { return v.Is(Bool) && v.text[v.From] == 't' }

// unquote returns the value of a valid string literal.
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
		return utf8.RuneError // impossible: the scanner has checked them
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
