package yamledit

import (
	"strconv"
	"strings"
)

// Kind is the type of a value.
type Kind int

// The kinds of values.
const (
	Scalar Kind = iota
	Map
	List
)

// Value is a YAML value as it is written: no scalar is converted to a number, a date or a boolean. The zero value is an
// empty string. A nil *Value is a missing value; its methods may be called.
type Value struct {
	Kind   Kind
	Text   string // of a scalar
	Null   bool   // a null scalar: empty, null or ~
	Quoted bool   // a scalar in quotes or a block scalar, so it is a string
	Pairs  []Pair // of a map, in order; keys may be duplicate
	Items  []*Value
	Line   int  // of the file, from 1; 0 for a value that was not read
	Inline bool // flow style

	bare     bool // written without quotes even if it looks like a number or a boolean
	from, to int  // bytes of the file; to is 0 if the end is not known
	column   int  // of its first character, from 1
	style    style
}

// Pair is a key with its value.
type Pair struct {
	Key   string
	Value *Value

	line int // of the key
	from int // of the key
}

// style is how a scalar is quoted.
type style int

const (
	plain style = iota
	single
	double
	block // | or >
)

// Word returns a scalar that is written without quotes if possible.
func Word(text string) *Value { return &Value{Text: strings.ToValidUTF8(text, "\uFFFD")} }

// Text returns a scalar that is written in quotes, or as a block if it has several lines.
func Text(text string) *Value {
	return &Value{Text: strings.ToValidUTF8(text, "\uFFFD"), Quoted: true}
}

// Number returns a scalar of digits.
func Number(n int) *Value { return &Value{Text: strconv.Itoa(n), bare: true} }

// Decimal returns a scalar that is a number.
func Decimal(f float64) *Value { return &Value{Text: strconv.FormatFloat(f, 'f', -1, 64), bare: true} }

// Truth returns true or false.
func Truth(b bool) *Value { return &Value{Text: strconv.FormatBool(b), bare: true} }

// Nothing returns null.
func Nothing() *Value { return &Value{Null: true} }

// MapOf returns a map.
func MapOf(pairs ...Pair) *Value { return &Value{Kind: Map, Pairs: pairs} }

// ListOf returns a list.
func ListOf(items ...*Value) *Value { return &Value{Kind: List, Items: items} }

// Get returns the value at a path of keys, nil where there is none. Of equal keys the last one counts.
func (v *Value) Get(path ...string) *Value {
	for _, key := range path {
		p := v.pair(key)
		if p == nil {
			return nil
		}
		v = p.Value
	}
	return v
}

func (v *Value) pair(key string) *Pair {
	if v == nil || v.Kind != Map {
		return nil
	}
	for i := len(v.Pairs) - 1; i >= 0; i-- {
		if v.Pairs[i].Key == key {
			return &v.Pairs[i]
		}
	}
	return nil
}

// Says returns the text of a scalar without the space around it; empty where it is none, or says nothing.
func (v *Value) Says() string {
	if v == nil || v.Kind != Scalar || v.Null {
		return ""
	}
	return strings.TrimSpace(v.Text)
}

// LineOf returns the line of the file that a value begins in, 0 where it is not there.
func (v *Value) LineOf() int {
	if v == nil {
		return 0
	}
	return v.Line
}

// Texts returns the scalars of a list that say something; of a scalar, itself.
func (v *Value) Texts() []string {
	if v == nil || v.Kind == Map {
		return nil
	}
	if v.Kind == Scalar {
		return appendText(nil, v)
	}
	var texts []string
	for _, item := range v.Items {
		texts = appendText(texts, item)
	}
	return texts
}

func appendText(texts []string, v *Value) []string {
	if text := v.Says(); text != "" {
		return append(texts, text)
	}
	return texts
}

// Twice returns the keys of a map that are there more than once, each with the line of its last place.
func (v *Value) Twice() map[string]int {
	seen, twice := map[string]bool{}, map[string]int{}
	for _, p := range v.Pairs {
		if seen[p.Key] {
			twice[p.Key] = p.line
		}
		seen[p.Key] = true
	}
	return twice
}

// Same reports whether both say the same, however it is written: 01 and 1 are the same number, "a" and a the same text.
func Same(a, b *Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Map:
		return samePairs(a, b) && samePairs(b, a)
	case List:
		if len(a.Items) != len(b.Items) {
			return false
		}
		for i := range a.Items {
			if !Same(a.Items[i], b.Items[i]) {
				return false
			}
		}
		return true
	}
	return sameScalar(a, b)
}

func samePairs(a, b *Value) bool {
	for _, p := range a.Pairs {
		if !Same(a.Get(p.Key), b.Get(p.Key)) {
			return false
		}
	}
	return true
}

func sameScalar(a, b *Value) bool {
	if a.Null || b.Null {
		return a.Null == b.Null
	}
	if a.Text == b.Text {
		return true
	}
	x, errX := strconv.ParseUint(a.Text, 10, 63)
	y, errY := strconv.ParseUint(b.Text, 10, 63)
	return errX == nil && errY == nil && x == y && !(a.Quoted && b.Quoted)
}
