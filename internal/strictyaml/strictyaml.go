// Package strictyaml decodes YAML into Go structs. Unknown keys, duplicate keys, values of the wrong type and missing fields
// are errors. It reports all errors at once, each with its line, its column and its fix. It keeps the position of each value,
// so that callers can report errors of their own.
package strictyaml

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxFaults is the number of errors that are reported.
const maxFaults = 1_000

// Fault is one error in a file. Lines and columns start at 1; columns count characters.
type Fault struct {
	File   string `json:"file,omitempty"` // where it is another file, which this one includes
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"` // the error and its fix

	part int // of File among the included files; 0 for none
}

// Faults lists all errors in a file by position.
type Faults struct {
	Name   string  `json:"name"` // of the file
	Faults []Fault `json:"errors"`

	TooLarge bool `json:"-"` // the file was not decoded
	Syntax   bool `json:"-"` // it is not YAML: the only error is the first one of the parser
}

// Error returns one line for each error: file:line:column: error; fix.
func (e *Faults) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", cmp.Or(f.File, e.Name), f.Line, f.Column, f.Text)
	}
	if len(lines) == maxFaults {
		lines = append(lines, fmt.Sprintf("%s: too many errors; only the first %d are listed", e.Name, maxFaults))
	}
	return strings.Join(lines, "\n")
}

// File is a file that was decoded, or is being decoded.
type File struct {
	noun     string // what messages call it
	faults   []Fault
	tooLarge bool
	badYAML  bool
	told     map[Fault]bool // an alias repeats an error
	at       map[any]place  // pointer to the value, or an Entry, → its position
	data     [][]byte       // the file, then the other files
	keys     map[reflect.Type]*structKeys
	aliases  int // that we are inside of
	expanded int // values read inside of aliases

	parts       []string // names of the other files that were parsed; see partLines
	parsing     int      // the number of the one that is being parsed, from 1; 0 for none
	size, marks int      // of all files together
	flowMarks   int
}

// partLines is added to the lines of the nodes of another file, once for its number. A file has fewer lines.
const partLines = 2 * MaxSize

// Read decodes a file into a pointer to a struct whose fields have yaml tags. A field without omitempty is required. Messages
// call the file noun. An empty file leaves the struct unchanged.
func Read(noun string, data []byte, into any) *File {
	return ReadWith(noun, data, into, func(*File, *yaml.Node) {})
}

// ReadWith is Read that calls change with the document before it is decoded. change may replace nodes by those of other files.
func ReadWith(noun string, data []byte, into any, change func(f *File, root *yaml.Node)) *File {
	f := &File{noun: noun, told: map[Fault]bool{}, at: map[any]place{}, keys: map[reflect.Type]*structKeys{}, data: [][]byte{data}}
	if root := f.parse(data); root != nil {
		change(f, root)
		f.Decode(root, into, "a "+noun)
	}
	return f
}

// Parse parses another file and returns its root. Errors in its nodes name the file. The result is nil if the file is empty, or
// after errors. The limits of size apply to all files together.
func (f *File) Parse(name string, data []byte) *yaml.Node {
	f.parts, f.data = append(f.parts, name), append(f.data, data)
	f.parsing = len(f.parts)
	root := f.parse(data)
	if root != nil {
		shift(root, f.parsing*partLines)
	}
	f.parsing = 0
	return root
}

// shift adds to the lines of a node and its content.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, inner := range n.Content {
		shift(inner, lines)
	}
}

// Decode decodes a node into a pointer, and calls it what in messages.
func (f *File) Decode(n *yaml.Node, into any, what string) {
	f.decode(place{value: n}, reflect.ValueOf(into).Elem(), what)
}

// Err returns all errors in the file as [*Faults], nil where there are none.
func (f *File) Err(name string) error {
	if len(f.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(f.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return &Faults{Name: name, Faults: f.faults, TooLarge: f.tooLarge, Syntax: f.badYAML}
}

// Count returns the number of errors so far.
func (f *File) Count() int { return len(f.faults) }

// HasErrors reports whether there are errors in another file.
func (f *File) HasErrors(name string) bool {
	return slices.ContainsFunc(f.faults, func(fault Fault) bool { return fault.File == name })
}

// place is the position of a value.
type place struct {
	key   *yaml.Node // nil for an element of a list
	value *yaml.Node
	bad   bool // of the wrong type: the decoded value is meaningless

	content *yaml.Node // of an Entry: the value, as value is the key
}

// Entry identifies a value in a map, which has no address.
type Entry struct {
	Of  any // pointer to the map
	Key string
}

// node returns the node to report: the value where it is on the same line as its key, else the key.
func (p place) node() *yaml.Node {
	if p.key != nil && (p.value.Kind != yaml.ScalarNode || p.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0) {
		return p.key
	}
	return p.value
}

// Given reports whether the file has this value.
func (f *File) Given(pointer any) bool {
	_, ok := f.at[pointer]
	return ok
}

// Good reports whether the file has this value and its type is right.
func (f *File) Good(pointer any) bool {
	p, ok := f.at[pointer]
	return ok && !p.bad
}

// Scalar reports whether the file writes the value as a single text, number or boolean.
func (f *File) Scalar(pointer any) bool {
	p, ok := f.at[pointer]
	n := p.value
	if p.content != nil {
		n = p.content
	}
	if ok && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return ok && n.Kind == yaml.ScalarNode
}

// Line returns the line of the value.
func (f *File) Line(pointer any) int {
	if p, ok := f.at[pointer]; ok {
		return p.node().Line % partLines
	}
	return 1
}

// Where returns where the value is, for a message about another one: "line 4", with the file if the values are in different files.
func (f *File) Where(pointer, about any) string {
	from, to := f.at[about], f.at[pointer]
	part := 0
	if to.value != nil {
		part = to.node().Line / partLines
	}
	switch same := from.value != nil && from.node().Line/partLines == part; {
	case same || from.value == nil && part == 0:
		return fmt.Sprintf("line %d", f.Line(pointer))
	case part == 0:
		return fmt.Sprintf("line %d of the %s", f.Line(pointer), f.noun)
	}
	return fmt.Sprintf("line %d of %s", f.Line(pointer), f.parts[part-1])
}

// NameOf returns the name of the other file that has the node, "" for the file itself.
func (f *File) NameOf(n *yaml.Node) string {
	if part := n.Line / partLines; part > 0 {
		return f.parts[part-1]
	}
	return ""
}

// ErrorAt reports an error at a node.
func (f *File) ErrorAt(n *yaml.Node, format string, args ...any) {
	f.errorAt(n.Line, n.Column, format, args...)
}

// Errorf reports an error in a value.
func (f *File) Errorf(pointer any, format string, args ...any) {
	if p, ok := f.at[pointer]; ok {
		f.errorAt(p.node().Line, p.node().Column, format, args...)
		return
	}
	f.errorAt(1, 1, format, args...)
}

// Without returns the file without its errors, for another list of them.
func (f *File) Without() *File {
	other := *f
	other.faults, other.told = nil, map[Fault]bool{}
	return &other
}

func (f *File) errorAt(line, column int, format string, args ...any) {
	if len(f.faults) == maxFaults {
		return
	}
	part := line / partLines
	if part == 0 {
		part = f.parsing
	}
	e := Fault{Line: max(line%partLines, 1), Column: max(column, 1), Text: fmt.Sprintf(format, args...), part: part}
	if part > 0 {
		e.File = f.parts[part-1]
	}
	if !f.told[e] {
		f.told[e] = true
		f.faults = append(f.faults, e)
	}
}

// Same gives one value the position of another.
func (f *File) Same(pointer, as any) { f.at[pointer] = f.at[as] }
