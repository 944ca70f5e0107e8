package jsonedit

import (
	"slices"
	"strings"

	"pawl/internal/textedit"
)

// Edits collects changes of one text in strict JSON, and makes them together in linear time. Like Set it keeps all other
// bytes, and writes new values in the style of the text. The values that it changes must not contain one another.
type Edits struct {
	root    *Value
	style   layout
	edits   []textedit.Edit
	members map[*Value][]Member // to set, by object
	objects []*Value            // the keys of members, in the order of the calls
}

// NewEdits returns no edits of the text of which root is the value.
func NewEdits(root *Value) *Edits {
	return &Edits{root: root, style: styleOf(root), members: map[*Value][]Member{}}
}

// Encode returns a Go value as a JSON value.
func Encode(value any) (*Value, error) { return encode(value) }

// Set sets a member of an object. If it is new and the keys of the object are sorted, they stay sorted; else it is the last one.
func (e *Edits) Set(object *Value, key string, value *Value) {
	if _, has := e.members[object]; !has {
		e.objects = append(e.objects, object)
	}
	e.members[object] = append(e.members[object], Member{Key: key, Value: value})
}

// Replace replaces a value, unless the other one is equal.
func (e *Edits) Replace(old, by *Value) {
	if !old.Same(by) {
		e.edits = append(e.edits, textedit.Edit{From: old.From, To: old.To, Text: string(e.style.append(nil, by, e.indent(old.From)))})
	}
}

// Insert inserts an element before the element i of an array, or at its end. At most one element can be inserted into an empty array.
func (e *Edits) Insert(array *Value, i int, element *Value) { e.insert(array, i, nil, element) }

// Apply returns the changed text. Without changes it is the same text.
func (e *Edits) Apply() []byte {
	for _, object := range e.objects {
		e.setMembers(object, e.members[object])
	}
	e.objects, e.members = nil, map[*Value][]Member{}
	if len(e.edits) == 0 {
		return e.root.text
	}
	return textedit.Apply(e.root.text, e.edits)
}

func (e *Edits) setMembers(object *Value, members []Member) {
	sorted := slices.IsSortedFunc(object.Members, byKey)
	var added []Member
	for _, m := range members {
		if i := object.Index(m.Key); i >= 0 {
			e.Replace(object.Members[i].Value, m.Value)
		} else {
			added = append(added, m)
		}
	}
	if sorted {
		slices.SortStableFunc(added, byKey)
	}
	if len(object.Members) == 0 && len(added) > 0 {
		whole := &Value{Kind: Object, Members: added}
		text := e.style.append(nil, whole, e.indent(object.From))
		e.edits = append(e.edits, textedit.Edit{From: object.From, To: object.To, Text: string(text)})
		return
	}
	for _, m := range added {
		at := len(object.Members)
		if sorted {
			at, _ = slices.BinarySearchFunc(object.Members, m, byKey)
		}
		e.insert(object, at, appendQuoted(nil, m.Key), m.Value)
	}
}

// indent returns the indentation of the line of a byte; none if the line begins far before it, so that edits take linear time.
func (e *Edits) indent(at int) string {
	const near = 1 << 12
	if from := at - near; from > 0 && !slices.Contains(e.root.text[from:at], '\n') {
		return ""
	}
	return indentAt(e.root.text, at)
}

func byKey(a, b Member) int { return strings.Compare(a.Key, b.Key) }

// insert inserts an element before element i of a container, or at its end.
func (e *Edits) insert(in *Value, i int, key []byte, v *Value) {
	elements, style := in.elements(), e.style
	if len(elements) == 0 {
		whole := &Value{Kind: Array, Items: []*Value{v}}
		e.edits = append(e.edits, textedit.Edit{From: in.From, To: in.To, Text: string(style.append(nil, whole, e.indent(in.From)))})
		return
	}
	between := style.between(in, elements)
	if style.inline = !strings.Contains(string(between), "\n"); style.inline && strings.HasSuffix(style.colon, " ") {
		style.comma = ", "
	}
	var text []byte
	if key != nil {
		text = append(append(text, key...), style.colon...)
	}
	text = style.append(text, v, string(between[strings.LastIndexByte(string(between), '\n')+1:]))
	at := elements[len(elements)-1].Value.To
	if i < len(elements) {
		at, text = elements[i].From, append(text, between...)
	} else {
		text = append(between, text...)
	}
	e.edits = append(e.edits, textedit.Edit{From: at, To: at, Text: string(text)})
}
