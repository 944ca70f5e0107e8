package jsonedit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"pawl/internal/textedit"
)

// Doc is JSON with comments. Its edits return another Doc and keep all comments.
type Doc struct {
	Text []byte
	Root *Value
}

// ReadJSONC parses JSON that may contain comments (// and /* … */) and a comma after the last element of an object or an
// array. The error is a *SyntaxError.
func ReadJSONC(text []byte) (Doc, error) {
	root, err := read(&scanner{text: text, jsonc: true})
	return Doc{Text: text, Root: root}, err
}

// endOfComment returns the end of the comment at a byte, -1 if none begins there or it is not closed. The end of a line
// comment is before its line end.
func endOfComment(text []byte, at int) int {
	rest := text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			return at + n
		}
		return len(text)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return at + 2 + n + 2
		}
	}
	return -1
}

// OneLine is a value that Doc.Add writes on one line, with a space after each colon and comma.
type OneLine struct{ Value any }

// The layouts of what is written on one line.
var (
	compact = layout{inline: true, colon: ":", comma: ","}
	spaced  = layout{inline: true, colon: ": ", comma: ", "}
)

// onLines is the layout of what is written on several lines.
func (d Doc) onLines() layout {
	return layout{unit: cmp.Or(styleOf(d.Root).unit, "  "), newline: textedit.EOL(d.Text), colon: ": ", comma: ","}
}

// Add appends a member to an object of d, or an element to an array if key is empty. It follows the style of the existing
// elements: each on its own line with the same indentation, or all on one line.
func (d Doc) Add(to *Value, key string, v any) (Doc, error) {
	elements := to.elements()
	if len(elements) == 0 {
		return d.addFirst(to, key, v)
	}
	last := elements[len(elements)-1]
	multiline := isMultiline(d.Text[to.From:elements[0].From])
	between, base, l := "", "", compact
	switch {
	case multiline:
		l, base = d.onLines(), indentAt(d.Text, last.From)
		between = l.newline + base
	case bytes.ContainsRune(d.Text[to.From:to.To], ' '):
		l, between = spaced, " "
	}
	text, err := l.member(key, v, base)
	if err != nil {
		return Doc{}, err
	}
	at, ending, edits := last.Value.comma+1, ",", []textedit.Edit(nil)
	if last.Value.comma == 0 {
		at, ending = last.Value.To, ""
		edits = append(edits, textedit.Edit{From: at, To: at, Text: ","})
	}
	if multiline {
		at = afterComments(d.Text, at)
	}
	return d.apply(append(edits, textedit.Edit{From: at, To: at, Text: between + text + ending})...)
}

// addFirst adds the first element of an object or an array. It keeps the comments between the brackets.
func (d Doc) addFirst(to *Value, key string, v any) (Doc, error) {
	l, inner, outside := d.onLines(), to.Inner(), indentAt(d.Text, to.From)
	text, err := l.member(key, v, outside+l.unit)
	if err != nil {
		return Doc{}, err
	}
	e := textedit.Edit{From: to.From + 1, To: to.From + 1, Text: l.newline + outside + l.unit + text}
	blank := len(bytes.TrimSpace(inner)) == 0
	if blank {
		e.To = to.To - 1
	}
	if blank || !isMultiline(inner) {
		e.Text += l.newline + outside
	}
	return d.apply(e)
}

// Set replaces a value.
func (d Doc) Set(old *Value, v any) (Doc, error) {
	l, base := d.onLines(), indentAt(d.Text, old.From)
	if old.Len() > 0 && !isMultiline(old.Raw()) {
		l, base = compact, ""
	}
	text, err := l.member("", v, base)
	if err != nil {
		return Doc{}, err
	}
	return d.apply(textedit.Edit{From: old.From, To: old.To, Text: text})
}

// Remove removes the i-th element of an object or an array. It removes all that Add wrote, and keeps comments that were
// there before. For the only element, inner, if not nil, is the text to restore between the brackets; it is used if it has
// the same comments.
func (d Doc) Remove(from *Value, i int, inner []byte) (Doc, error) {
	elements := from.elements()
	m := elements[i]
	before, end := from.From+1, m.Value.To
	var edits []textedit.Edit
	if i > 0 {
		before = elements[i-1].Value.comma + 1
	}
	switch {
	case m.Value.comma > 0:
		end = m.Value.comma + 1
	case i > 0:
		edits = []textedit.Edit{{From: before - 1, To: before}}
	}
	want := slices.Delete(from.shape(), i, i+1)
	for _, start := range []int{afterLastComment(d.Text, before, m.From), m.From} { // the second keeps what ends a line comment
		attempt := append(slices.Clone(edits), textedit.Edit{From: start, To: end})
		if len(want) == 0 {
			left := slices.Concat(d.Text[before:start], d.Text[end:from.To-1])
			attempt = []textedit.Edit{{From: before, To: from.To - 1, Text: string(emptied(left, inner))}}
		}
		after, err := d.apply(attempt...)
		if err != nil {
			continue
		}
		if at := after.container(from.From); at != nil && slices.Equal(at.shape(), want) {
			return after, nil
		}
	}
	return Doc{}, fmt.Errorf("remove the element at byte %d: the result would not be valid", m.From)
}

// apply makes edits and parses the result.
func (d Doc) apply(edits ...textedit.Edit) (Doc, error) {
	return ReadJSONC(textedit.Apply(d.Text, edits))
}

// afterLastComment returns the end of the last comment in [from, to), or from if there is none.
func afterLastComment(text []byte, from, to int) int {
	after := from
	for i := from; i < to; {
		if text[i] == '/' {
			i = endOfComment(text, i)
			after = i
		} else {
			i++
		}
	}
	return after
}

// emptied returns the text between the brackets of a container whose only element was removed; inner may have been there
// before.
func emptied(left, inner []byte) []byte {
	switch {
	case inner != nil && bytes.Equal(withoutSpace(left), withoutSpace(inner)):
		return inner
	case len(bytes.TrimSpace(left)) == 0:
		return nil
	}
	return left
}

func withoutSpace(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// Inner returns the text between the brackets of an object or an array, nil for other values.
func (v *Value) Inner() []byte {
	if v.Kind != Object && v.Kind != Array {
		return nil
	}
	return v.text[v.From+1 : v.To-1]
}

// shape returns the elements of a container as texts, to compare two states of it.
func (v *Value) shape() []string {
	var texts []string
	for _, m := range v.elements() {
		texts = append(texts, m.Key+"\x00"+string(m.Value.Raw()))
	}
	return texts
}

// container returns the object or array that begins at a byte.
func (d Doc) container(start int) *Value {
	v := d.Root
	for v.From != start {
		elements := v.elements()
		i := slices.IndexFunc(elements, func(m Member) bool { return m.Value.From <= start && start < m.Value.To })
		if i < 0 {
			return nil
		}
		v = elements[i].Value
	}
	return v
}

// afterComments returns the end of the comments that follow a place on its line; the place itself if there are none.
func afterComments(text []byte, at int) int {
	for i := at; i < len(text); {
		switch {
		case text[i] == ' ' || text[i] == '\t':
			i++
		case text[i] == '/':
			end := endOfComment(text, i)
			if end < 0 {
				return at
			}
			i, at = end, end
		default:
			return at
		}
	}
	return at
}

func isMultiline(text []byte) bool { return bytes.ContainsRune(text, '\n') }

// member returns a member, or an element if key is empty. base is the indentation of its line.
func (l layout) member(key string, v any, base string) (string, error) {
	if line, ok := v.(OneLine); ok {
		l, v = spaced, line.Value
	}
	value, err := encode(v)
	if err != nil {
		return "", err
	}
	var out []byte
	if key != "" {
		out = append(appendQuoted(out, key), l.colon...)
	}
	return string(l.append(out, value, base)), nil
}
