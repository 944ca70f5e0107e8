package jsonedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/textedit"
)

// Set returns text with value at a path of keys and array indexes. It replaces a different value, and appends a missing
// member in the style of the text. It keeps all other bytes.
func Set(text []byte, value any, path ...string) ([]byte, error) {
	root, next, err := readBoth(text, value)
	if err != nil {
		return nil, err
	}
	if old := root.Get(path...); old != nil {
		if old.Same(next) {
			return text, nil
		}
		return replaced(text, old.From, old.To, styleOf(root).append(nil, next, indentAt(text, old.From))), nil
	}
	parent, rest := root, path
	for parent.child(rest[0]) != nil {
		parent, rest = parent.child(rest[0]), rest[1:]
	}
	if parent.Kind != Object {
		return nil, fmt.Errorf("set %s: the parent is not an object", strings.Join(path, "."))
	}
	for _, key := range slices.Backward(rest[1:]) {
		next = &Value{Kind: Object, Members: []Member{{Key: key, Value: next}}}
	}
	return styleOf(root).insert(text, parent, appendQuoted(nil, rest[0]), next), nil
}

// Append returns text with an element appended to the array at path, in the style of the text.
func Append(text []byte, value any, path ...string) ([]byte, error) {
	root, next, err := readBoth(text, value)
	if err != nil {
		return nil, err
	}
	array := root.Get(path...)
	if !array.Is(Array) {
		return nil, fmt.Errorf("append to %s: not an array", strings.Join(path, "."))
	}
	return styleOf(root).insert(text, array, nil, next), nil
}

// Remove returns text without the member or the element at path, and without its comma. It returns text unchanged if there
// is none.
func Remove(text []byte, path ...string) ([]byte, error) {
	root, err := Read(text)
	if err != nil {
		return nil, err
	}
	v := root.Get(path...)
	if v == nil || v == root {
		return text, nil
	}
	parent := root.Get(path[:len(path)-1]...)
	elements := parent.elements()
	i := slices.IndexFunc(elements, func(m Member) bool { return m.Value == v })
	switch {
	case i > 0:
		return replaced(text, elements[i-1].Value.To, v.To, nil), nil
	case len(elements) > 1:
		return replaced(text, elements[0].From, elements[1].From, nil), nil
	}
	return replaced(text, parent.From+1, parent.To-1, nil), nil
}

// Same reports whether two values are equal: numbers by value, objects in any order of keys.
func (v *Value) Same(w *Value) bool {
	if v == nil || w == nil || v.Kind != w.Kind {
		return v == w
	}
	switch v.Kind {
	case Bool:
		return v.True() == w.True()
	case Number:
		a, _ := v.Float()
		b, _ := w.Float()
		return a == b
	case String:
		return v.Text() == w.Text()
	case Array:
		return slices.EqualFunc(v.Items, w.Items, (*Value).Same)
	case Object:
		return sameMembers(inJavaScriptOrder(v.Members), inJavaScriptOrder(w.Members))
	}
	return true
}

func sameMembers(a, b []Member) bool {
	if len(a) != len(b) {
		return false
	}
	others := make(map[string]*Value, len(b))
	for _, m := range b {
		others[m.Key] = m.Value
	}
	return !slices.ContainsFunc(a, func(m Member) bool { return others[m.Key] == nil || !m.Value.Same(others[m.Key]) })
}

// Holds reports whether the value is equal to a Go value, encoded as JSON.
func (v *Value) Holds(value any) bool {
	other, err := encode(value)
	return err == nil && v.Same(other)
}

// readBoth reads the text, and the value to put into it.
func readBoth(text []byte, value any) (root, next *Value, err error) {
	if root, err = Read(text); err != nil {
		return nil, nil, err
	}
	next, err = encode(value)
	return root, next, err
}

// encode returns a Go value as a JSON value.
func encode(value any) (*Value, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return Read(encoded)
}

func replaced(text []byte, from, to int, by []byte) []byte {
	return slices.Concat(text[:from], by, text[to:])
}

// layout is the formatting of a text.
type layout struct {
	inline     bool   // all on one line
	unit       string // of indentation
	newline    string
	colon      string // with the space after it
	comma      string // with the space after it if all is on one line
	javascript bool   // keys and numbers as JavaScript writes them
}

// styleOf returns the formatting of a text, by its first element. For an empty text it is that of JSON.stringify with two
// spaces.
func styleOf(root *Value) layout {
	l := layout{unit: "  ", newline: "\n", colon: ": ", comma: ","}
	text, elements := root.text, root.elements()
	if bytes.Contains(text, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	if len(elements) == 0 {
		return l
	}
	gap := text[root.From+1 : elements[0].From]
	l.inline = !bytes.ContainsRune(gap, '\n')
	if !l.inline {
		l.unit = indentAt(text, elements[0].From)
	}
	if root.Kind == Object {
		m := root.Members[0]
		between := text[m.From:m.Value.From]
		l.colon = string(between[bytes.LastIndexByte(between, ':'):])
	}
	switch {
	case l.inline && len(elements) > 1:
		l.comma = string(text[elements[0].Value.To:elements[1].From])
	case l.inline && strings.HasSuffix(l.colon, " "):
		l.comma = ", "
	}
	return l
}

// insert appends an element to a container, with its key if that is an object.
func (l layout) insert(text []byte, in *Value, key []byte, v *Value) []byte {
	elements := in.elements()
	if len(elements) == 0 {
		whole := &Value{Kind: in.Kind, Items: []*Value{v}}
		if in.Kind == Object {
			whole.Items, whole.Members = nil, []Member{{Key: unquote(key), Value: v}}
		}
		return replaced(text, in.From, in.To, l.append(nil, whole, indentAt(text, in.From)))
	}
	last := elements[len(elements)-1].Value
	out := l.between(in, elements)
	if l.inline = !bytes.ContainsRune(out, '\n'); l.inline && strings.HasSuffix(l.colon, " ") {
		l.comma = ", "
	}
	base := string(out[bytes.LastIndexByte(out, '\n')+1:])
	if in.Kind == Object {
		out = append(append(out, key...), l.colon...)
	}
	return replaced(text, last.To, last.To, l.append(out, v, base))
}

// between returns the separator of two elements of a container: that of its last two, or one that suits its only element.
func (l layout) between(in *Value, elements []Member) []byte {
	n := len(elements)
	if n > 1 {
		return slices.Clone(in.text[elements[n-2].Value.To:elements[n-1].From])
	}
	gap := in.text[in.From+1 : elements[0].From]
	switch {
	case bytes.ContainsRune(gap, '\n'):
		return append([]byte(","), gap...)
	case l.inline:
		return []byte(l.comma)
	}
	return []byte(", ")
}

// indentAt returns the indentation of the line of a byte.
func indentAt(text []byte, at int) string {
	line := text[max(bytes.LastIndexByte(text[:at], '\n')+1, textedit.Whole(text).From):at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// append appends a formatted value; base is the indentation of its line.
func (l layout) append(out []byte, v *Value, base string) []byte {
	switch {
	case v.Kind == Object && len(v.Members) > 0:
		members := v.Members
		if l.javascript {
			members = inJavaScriptOrder(members)
		}
		return l.list(out, '{', '}', len(members), base, func(out []byte, i int, base string) []byte {
			out = append(appendQuoted(out, members[i].Key), l.colon...)
			return l.append(out, members[i].Value, base)
		})
	case v.Kind == Array && len(v.Items) > 0:
		return l.list(out, '[', ']', len(v.Items), base, func(out []byte, i int, base string) []byte {
			return l.append(out, v.Items[i], base)
		})
	case v.Kind == Object:
		return append(out, "{}"...)
	case v.Kind == Array:
		return append(out, "[]"...)
	case v.Kind == String:
		return appendQuoted(out, v.Text())
	case v.Kind == Number && l.javascript:
		f, _ := v.Float()
		return appendNumber(out, f)
	}
	return append(out, v.Raw()...)
}

func (l layout) list(out []byte, open, end byte, n int, base string, element func([]byte, int, string) []byte) []byte {
	out = append(out, open)
	inner := base + l.unit
	for i := range n {
		if i > 0 {
			out = append(out, l.comma...)
		}
		if !l.inline {
			out = append(append(out, l.newline...), inner...)
		}
		out = element(out, i, inner)
	}
	if !l.inline {
		out = append(append(out, l.newline...), base...)
	}
	return append(out, end)
}
