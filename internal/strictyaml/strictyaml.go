// Package strictyaml reads YAML into Go structs: keys that are unknown or stand there twice, values of the wrong type and fields
// that are missing are faults, all of which are told at once, each with its line and column and how to mend it. Where each
// value stands is remembered, so that who reads can find faults of their own.
package strictyaml

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxFaults is how many faults are told; the rest is not.
const maxFaults = 1_000

// Fault is one thing that is wrong with a file. Lines and columns count from 1, columns in characters.
type Fault struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"` // what is wrong and how to mend it
}

// Faults is everything that is wrong with a file, by position.
type Faults struct {
	Name   string  `json:"name"` // of the file
	Faults []Fault `json:"errors"`

	TooLarge bool `json:"-"` // it was not even read
}

// Error returns one line for each fault: file:line:column: what is wrong; how to mend it.
func (e *Faults) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", e.Name, f.Line, f.Column, f.Text)
	}
	if len(lines) == maxFaults {
		lines = append(lines, fmt.Sprintf("%s: these are the first %d errors found; there may be more", e.Name, maxFaults))
	}
	return strings.Join(lines, "\n")
}

// File is a file that was read, or is being read.
type File struct {
	noun     string // what messages call it
	faults   []Fault
	tooLarge bool
	told     map[Fault]bool // an alias repeats what is wrong
	at       map[any]place  // pointer to the value, or an Entry, → where it stands
	keys     map[reflect.Type]*structKeys
	aliases  int // that we are inside of
	expanded int // values read inside of aliases
}

// Read reads a file, which messages call noun, into a pointer to a struct whose fields have yaml tags; one without omitempty is
// required. A file that says nothing leaves it as it is.
func Read(noun string, data []byte, into any) *File {
	f := &File{noun: noun, told: map[Fault]bool{}, at: map[any]place{}, keys: map[reflect.Type]*structKeys{}}
	if root := f.parse(data); root != nil {
		f.decode(place{value: root}, reflect.ValueOf(into).Elem(), "a "+noun)
	}
	return f
}

// Err returns all that is wrong with the file, as [*Faults], nil where nothing is.
func (f *File) Err(name string) error {
	if len(f.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(f.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return &Faults{Name: name, Faults: f.faults, TooLarge: f.tooLarge}
}

// Count returns how many faults were found so far.
func (f *File) Count() int { return len(f.faults) }

// place is where a value stands.
type place struct {
	key   *yaml.Node // nil for an element of a list
	value *yaml.Node
	bad   bool // of the wrong type, so the value read says nothing
}

// Entry stands for a value in a map, which has no address of its own.
type Entry struct {
	Of  any // pointer to the map
	Key string
}

// node returns what to point at: the value where it is on one line with its key, else the key.
func (p place) node() *yaml.Node {
	if p.key != nil && (p.value.Kind != yaml.ScalarNode || p.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0) {
		return p.key
	}
	return p.value
}

// Given reports whether the file says anything about this value.
func (f *File) Given(pointer any) bool {
	_, ok := f.at[pointer]
	return ok
}

// Good reports whether the file gives this value and its type is right.
func (f *File) Good(pointer any) bool {
	p, ok := f.at[pointer]
	return ok && !p.bad
}

// Line returns where the value stands, for messages.
func (f *File) Line(pointer any) int {
	if p, ok := f.at[pointer]; ok {
		return p.node().Line
	}
	return 1
}

// Errorf notes what is wrong with a value.
func (f *File) Errorf(pointer any, format string, args ...any) {
	if p, ok := f.at[pointer]; ok {
		f.errorAt(p.node().Line, p.node().Column, format, args...)
		return
	}
	f.errorAt(1, 1, format, args...)
}

func (f *File) errorAt(line, column int, format string, args ...any) {
	if len(f.faults) == maxFaults {
		return
	}
	e := Fault{Line: max(line, 1), Column: max(column, 1), Text: fmt.Sprintf(format, args...)}
	if !f.told[e] {
		f.told[e] = true
		f.faults = append(f.faults, e)
	}
}

// Same has one value stand where another one does.
func (f *File) Same(pointer, as any) { f.at[pointer] = f.at[as] }
