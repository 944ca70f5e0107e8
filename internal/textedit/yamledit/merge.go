package yamledit

import (
	"errors"
	"strings"

	"pawl/internal/textedit"
)

// ErrKnotted means that the YAML cannot be edited in place, for example because of aliases.
var ErrKnotted = errors.New("this YAML cannot be edited in place")

// Merge returns the file with the values of want, a map. A key with a nil value is removed. Merge keeps other keys, values
// that are already equal, and all comments except those inside a replaced list. It appends to a list that only grows.
//
// It parses its result and compares it with the expected value. If that fails, the error is ErrKnotted.
func (y *Doc) Merge(want *Value) ([]byte, error) {
	expected := merged(y.Root, want)
	if Same(y.Root, expected) {
		return y.file, nil
	}
	for _, whole := range []bool{false, true} {
		m := &merger{yaml: y, eol: textedit.EOL(y.part.Bytes(y.file)), whole: whole}
		if m.pairs(y.Root, want, y.part.To, 0) {
			if out, ok := m.proven(expected); ok {
				return out, nil
			}
		}
	}
	return nil, ErrKnotted
}

// merged returns a value with another merged into it.
func merged(old, want *Value) *Value {
	switch {
	case old == nil || old.Kind != want.Kind:
		old = &Value{Kind: want.Kind, Inline: want.Inline}
	case old.Kind == Scalar && Same(old, want):
		return old
	}
	switch old.Kind {
	case Map:
		out := &Value{Kind: Map, Inline: old.Inline}
		for i, p := range old.Pairs {
			switch w := want.pair(p.Key); {
			case w != nil && w.Value == nil:
				continue
			case w != nil && old.pair(p.Key) == &old.Pairs[i]:
				p.Value = merged(p.Value, w.Value)
			}
			out.Pairs = append(out.Pairs, p)
		}
		for _, p := range want.Pairs {
			if old.pair(p.Key) == nil && p.Value != nil {
				p.Value = merged(nil, p.Value)
				out.Pairs = append(out.Pairs, p)
			}
		}
		return out
	case List:
		out := &Value{Kind: List, Inline: old.Inline}
		for i, item := range want.Items {
			if i < len(old.Items) && sameThing(old.Items[i], item) {
				item = merged(old.Items[i], item)
			} else {
				item = merged(nil, item)
			}
			out.Items = append(out.Items, item)
		}
		return out
	}
	return want
}

// sameThing reports whether an item of a list is about the same thing as another: both maps, with the same first value.
func sameThing(old, want *Value) bool {
	if old.Kind != Map || want.Kind != Map {
		return Same(old, want)
	}
	return len(want.Pairs) > 0 && Same(old.Get(want.Pairs[0].Key), want.Pairs[0].Value)
}

// merger collects the edits that bring wanted values into a file.
type merger struct {
	yaml  *Doc
	eol   string
	whole bool // replace what differs at the top as a whole
	edits []textedit.Edit
}

// proven returns the file with the edits made, if it then says what is expected.
func (m *merger) proven(expected *Value) ([]byte, bool) {
	y := m.yaml
	out := textedit.Apply(y.file, m.edits)
	part := textedit.Part{From: y.part.From, To: y.part.To + len(out) - len(y.file), Line: y.part.Line}
	if part.To < part.From {
		return nil, false
	}
	again, err := Read(out, part)
	return out, err == nil && Same(again.Root, expected)
}

// pairs notes the edits that bring want into a map that ends before a byte. It reports false where the map is to be
// replaced as a whole.
func (m *merger) pairs(old, want *Value, end, depth int) bool {
	var missing []Pair
	for _, p := range want.Pairs {
		i := old.index(p.Key)
		switch {
		case p.Value == nil && i < 0:
		case p.Value == nil:
			if !m.remove(old, p.Key, end) {
				return false
			}
		case i < 0:
			missing = append(missing, Pair{Key: p.Key, Value: merged(nil, p.Value)})
		default:
			if value := old.Pairs[i].Value; !Same(merged(value, p.Value), value) && !m.pair(old, i, p, end, depth) {
				return false
			}
		}
	}
	return len(missing) == 0 || m.insert(old, missing, end)
}

// remove takes a key out of a map, wherever it stands in it.
func (m *merger) remove(old *Value, key string, end int) bool {
	for i, p := range old.Pairs {
		if p.Key == key {
			from, to := m.entry(old, i, end)
			m.edits = append(m.edits, textedit.Edit{From: m.lineOf(from), To: to})
		}
	}
	return !old.Inline
}

func (v *Value) index(key string) int {
	for i := len(v.Pairs) - 1; i >= 0; i-- {
		if v.Pairs[i].Key == key {
			return i
		}
	}
	return -1
}

// pair notes the edits that bring a wanted value into that of a map's pair.
func (m *merger) pair(of *Value, i int, want Pair, end, depth int) bool {
	from, to := m.entry(of, i, end)
	old, before := of.Pairs[i].Value, len(m.edits)
	if !(m.whole && depth == 0) && m.value(old, want.Value, to, of.Inline, depth) {
		return true
	}
	m.edits = m.edits[:before]
	if of.Inline {
		return false
	}
	column := from - m.lineOf(from)
	text := Render(MapOf(Pair{Key: want.Key, Value: merged(old, want.Value)}), column)[column:]
	m.edits = append(m.edits, textedit.Edit{From: from, To: to, Text: m.lines(text, to)})
	return true
}

// value notes the edits that bring want into a value that ends before a byte; false if it must be rewritten.
func (m *merger) value(old, want *Value, end int, inline bool, depth int) bool {
	switch {
	case old.Kind != want.Kind:
		return false
	case old.Kind == Scalar:
		return m.scalar(old, want, inline)
	case old.Kind == Map:
		return len(old.Pairs) > 0 && m.pairs(old, want, end, depth+1)
	}
	return m.list(old, want, end, depth)
}

func (m *merger) scalar(old, want *Value, inline bool) bool {
	if old.to == 0 || !want.Null && isBlock(want) {
		return false
	}
	text := restyled(old, want, inline)
	if old.from == old.to && old.from > 0 && m.yaml.file[old.from-1] != ' ' {
		text = " " + text
	}
	m.edits = append(m.edits, textedit.Edit{From: old.from, To: old.to, Text: text})
	return true
}

// list appends to a list that only grows, and changes the maps in it that are about the same thing.
func (m *merger) list(old, want *Value, end, depth int) bool {
	if len(old.Items) == 0 || len(want.Items) < len(old.Items) {
		return false
	}
	for i, item := range old.Items {
		stop := end
		if i+1 < len(old.Items) {
			stop = m.lineOf(old.Items[i+1].from)
		}
		w := want.Items[i]
		if !sameThing(item, w) || !Same(merged(item, w), item) && !m.value(item, w, m.trimmed(item.from, stop, item.column), old.Inline, depth+1) {
			return false
		}
	}
	return m.grow(old, want.Items[len(old.Items):], end)
}

func (m *merger) grow(old *Value, more []*Value, end int) bool {
	if len(more) == 0 {
		return true
	}
	var b strings.Builder
	if old.Inline {
		last := old.Items[len(old.Items)-1]
		if last.Kind != Scalar || last.to == 0 {
			return false
		}
		for _, item := range more {
			b.WriteString(", " + inlinedIn(merged(nil, item), true))
		}
		m.edits = append(m.edits, textedit.Edit{From: last.to, To: last.to, Text: b.String()})
		return true
	}
	for _, item := range more {
		renderItem(&b, merged(nil, item), old.column-1)
	}
	m.append(end, b.String())
	return true
}

// insert adds pairs at the end of a map.
func (m *merger) insert(old *Value, missing []Pair, end int) bool {
	if old.Inline {
		return false
	}
	if len(old.Pairs) > 0 {
		_, end = m.entry(old, len(old.Pairs)-1, end)
	}
	m.append(end, Render(MapOf(missing...), old.column-1))
	return true
}

// append adds lines at a byte behind the end of a line, or where the file ends without one.
func (m *merger) append(at int, text string) {
	text = strings.ReplaceAll(text, "\n", m.eol)
	if at > m.yaml.part.From && m.yaml.file[at-1] != '\n' {
		text = m.eol + strings.TrimSuffix(text, m.eol)
	}
	m.edits = append(m.edits, textedit.Edit{From: at, To: at, Text: text})
}

// lines returns text with the file's line ends, without the last one where the file has none there either.
func (m *merger) lines(text string, to int) string {
	text = strings.ReplaceAll(text, "\n", m.eol)
	if to > 0 && m.yaml.file[to-1] != '\n' {
		return strings.TrimSuffix(text, m.eol)
	}
	return text
}

// entry returns where a pair of a map that ends before a byte begins and ends: with its last line, but without empty
// lines and comments behind it.
func (m *merger) entry(of *Value, i, end int) (from, to int) {
	from, to = of.Pairs[i].from, end
	if i+1 < len(of.Pairs) && of.Pairs[i+1].line > of.Pairs[i].line {
		to = m.lineOf(of.Pairs[i+1].from)
	}
	return from, m.trimmed(from, to, of.column)
}

// trimmed takes empty lines and comments that are indented less than column off the end of a stretch of the file.
func (m *merger) trimmed(from, to, column int) int {
	file := m.yaml.file
	for to > from {
		begin := m.lineOf(to - 1)
		line := strings.TrimRight(string(file[begin:to]), " \t\r\n")
		if begin <= from || line != "" && !(strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") && textedit.Indent(line) < column) {
			return to
		}
		to = begin
	}
	return to
}

// lineOf returns where the line begins that a byte stands in.
func (m *merger) lineOf(at int) int {
	for at > m.yaml.part.From && m.yaml.file[at-1] != '\n' {
		at--
	}
	return at
}
