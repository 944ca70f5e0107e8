package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Add puts a member behind the others of an object of d, or where key is empty an element behind those of an array. It
// looks like what is there: on lines of its own, indented as they are, or on the one line that all stand on.
func (d Doc) Add(to Value, key string, v any) (Doc, error) {
	last := len(to.Members) - 1
	if last < 0 {
		return d.addFirst(to, key, v)
	}
	m := to.Members[last]
	var between string
	if d.onLines(to) {
		indent := d.indentAt(m.Start)
		between = d.newline() + indent
		v, err := d.member(key, v, indent, d.unit())
		if err != nil {
			return Doc{}, err
		}
		if m.comma >= 0 {
			return d.splice(cut{at: afterComments(d.Text, m.comma+1), put: between + v + ","})
		}
		return d.splice(cut{at: m.Value.End, put: ","}, cut{at: afterComments(d.Text, m.Value.End), put: between + v})
	}
	between = d.gap(to)
	if between != "" {
		v = Line{v}
	}
	text, err := d.member(key, v, "", "")
	if err != nil {
		return Doc{}, err
	}
	if m.comma >= 0 {
		return d.splice(cut{at: m.comma + 1, put: between + text + ","})
	}
	return d.splice(cut{at: m.Value.End, put: "," + between + text})
}

// addFirst fills an empty object or array. Comments in it stay.
func (d Doc) addFirst(to Value, key string, v any) (Doc, error) {
	inner := d.Inner(to)
	outside := d.indentAt(to.Start)
	indent := outside + d.unit()
	text, err := d.member(key, v, indent, d.unit())
	if err != nil {
		return Doc{}, err
	}
	text = d.newline() + indent + text
	if len(bytes.TrimSpace(inner)) == 0 {
		return d.splice(cut{at: to.Start + 1, to: to.End - 1, put: text + d.newline() + outside})
	}
	if !bytes.Contains(inner, []byte{'\n'}) {
		text += d.newline() + outside
	}
	return d.splice(cut{at: to.Start + 1, put: text})
}

// Set replaces the value of a member.
func (d Doc) Set(old Value, v any) (Doc, error) {
	indent, unit := d.indentAt(old.Start), d.unit()
	if !bytes.Contains(d.Text[old.Start:old.End], []byte{'\n'}) && old.Kind != Scalar && len(old.Members) > 0 {
		indent, unit = "", ""
	}
	text, err := d.marshal(v, indent, unit)
	if err != nil {
		return Doc{}, err
	}
	return d.splice(cut{at: old.Start, to: old.End, put: text})
}

// Drop takes the i-th member out of an object or array of d: what Add put there goes without a trace, and comments that
// belong to others stay. Where it was the only one, inner, if not nil, is what is to stand between the brackets, as long
// as the comments that are there say the same.
func (d Doc) Drop(from Value, i int, inner []byte) (Doc, error) {
	m := from.Members[i]
	before, end := from.Start+1, m.Value.End
	var cuts []cut
	if i > 0 {
		before = from.Members[i-1].comma + 1
	}
	switch {
	case m.comma >= 0:
		end = m.comma + 1
	case i > 0:
		cuts = []cut{{at: before - 1, to: before}}
	}
	want := slices.Delete(d.shape(from), i, i+1)
	for _, start := range []int{d.afterComment(before, m.Start), m.Start} { // what ends a comment may have to stay
		this := append(slices.Clone(cuts), cut{at: start, to: end})
		if len(want) == 0 {
			left := slices.Concat(d.Text[before:start], d.Text[end:from.End-1])
			this = []cut{{at: before, to: from.End - 1, put: string(emptied(left, inner))}}
		}
		after, err := d.splice(this...)
		if err != nil {
			continue
		}
		if at := after.container(from.Start); at != nil && slices.Equal(after.shape(*at), want) {
			return after, nil
		}
	}
	return Doc{}, fmt.Errorf("take out the member at byte %d: no way to do so was found", m.Start)
}

// afterComment returns where the whitespace before a member begins: behind the last comment, or what else is there.
func (d Doc) afterComment(before, member int) int {
	after := before
	for i := before; i < member; {
		if d.Text[i] == '/' {
			i = comment(d.Text, i)
			after = i
		} else {
			i++
		}
	}
	return after
}

// emptied is what stands between brackets from which the only member was taken, when inner may have stood there before.
func emptied(left, inner []byte) []byte {
	switch {
	case inner != nil && bytes.Equal(squeezed(left), squeezed(inner)):
		return inner
	case len(bytes.TrimSpace(left)) == 0:
		return nil
	}
	return left
}

// squeezed is a text without its whitespace.
func squeezed(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }

// Inner returns what stands between the brackets of an object or array.
func (d Doc) Inner(v Value) []byte { return d.Text[v.Start+1 : v.End-1] }

// shape returns the members of an object or array as texts, by which it can be compared with another state of itself.
func (d Doc) shape(v Value) []string {
	texts := make([]string, len(v.Members))
	for i, m := range v.Members {
		texts[i] = m.Key + "\x00" + string(d.Text[m.Value.Start:m.Value.End])
	}
	return texts
}

// container returns the object or array that begins at a byte.
func (d Doc) container(start int) *Value {
	v := &d.Root
	for v.Start != start {
		i := slices.IndexFunc(v.Members, func(m Member) bool { return m.Value.Start <= start && start < m.Value.End })
		if i < 0 {
			return nil
		}
		v = &v.Members[i].Value
	}
	return v
}

// cut is a change of a text: bytes [at, to) become put; nothing is taken away where to is 0.
type cut struct {
	at, to int
	put    string
}

// splice makes changes that are in order and do not overlap, and reads what becomes of it.
func (d Doc) splice(cuts ...cut) (Doc, error) {
	var out []byte
	done := 0
	for _, c := range cuts {
		out = append(append(out, d.Text[done:c.at]...), c.put...)
		done = max(c.at, c.to)
	}
	return Read(append(out, d.Text[done:]...))
}

// afterComments returns where the comments end that begin behind a place on its line; the place itself where none does.
func afterComments(text []byte, at int) int {
	for i := at; i < len(text); {
		switch {
		case text[i] == ' ' || text[i] == '\t':
			i++
		case text[i] == '/':
			end := comment(text, i)
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

// onLines reports whether the members of an object or array begin on a line of their own.
func (d Doc) onLines(v Value) bool {
	return bytes.Contains(d.Text[v.Start:v.Members[0].Start], []byte{'\n'})
}

// gap is what stands behind the commas of an object or array that is written on one line.
func (d Doc) gap(v Value) string {
	if bytes.ContainsAny(d.Text[v.Start:v.End], " ") {
		return " "
	}
	return ""
}

// newline is how lines end here.
func (d Doc) newline() string {
	if i := bytes.IndexByte(d.Text, '\n'); i > 0 && d.Text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indentAt is the whitespace at the beginning of the line of a byte.
func (d Doc) indentAt(at int) string {
	line := d.Text[bytes.LastIndexByte(d.Text[:at], '\n')+1 : at]
	line = bytes.TrimPrefix(line, byteOrder)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is by how much one step is indented here.
func (d Doc) unit() string {
	if len(d.Root.Members) > 0 && d.onLines(d.Root) {
		if unit := d.indentAt(d.Root.Members[0].Start); unit != "" {
			return unit
		}
	}
	return "  "
}

// member writes a member, on one line where there is no unit of indentation.
func (d Doc) member(key string, v any, indent, unit string) (string, error) {
	value, err := d.marshal(v, indent, unit)
	if key == "" || err != nil {
		return value, err
	}
	name, err := d.marshal(key, "", "")
	if _, spaced := v.(Line); !spaced && unit == "" {
		return name + ":" + value, err
	}
	return name + ": " + value, err
}

// Line is a value that is written on one line, with spaces between.
type Line struct{ Value any }

func (d Doc) marshal(v any, indent, unit string) (string, error) {
	var b bytes.Buffer
	if line, ok := v.(Line); ok {
		text, err := d.marshal(line.Value, "", "")
		return spaced(text), err
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if unit != "" {
		enc.SetIndent(indent, unit)
	}
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", d.newline()), nil
}

// spaced puts a space behind every colon and comma of a JSON text that has none.
func spaced(text string) string {
	var b strings.Builder
	within := false // a string
	for i := 0; i < len(text); i++ {
		b.WriteByte(text[i])
		switch c := text[i]; {
		case within && c == '\\':
			i++
			b.WriteByte(text[i])
		case c == '"':
			within = !within
		case !within && (c == ':' || c == ','):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Same reports whether a value is what v would be written as.
func (d Doc) Same(value Value, v any) bool {
	text, err := d.marshal(v, "", "")
	if err != nil {
		return false
	}
	var plain any
	return json.Unmarshal([]byte(text), &plain) == nil && reflect.DeepEqual(d.Decode(value), plain)
}
