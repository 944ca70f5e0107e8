package pawl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Matrix are the axes of a foreach step, in the order of the plan file. Each combination of their values is an item.
type Matrix []Axis

// Axis is a name and its values.
type Axis struct {
	Name   string        `yaml:"name"`
	Values []MatrixValue `yaml:"values"`
}

// Combination has a value for each of some axes.
type Combination []Setting

// Setting is the value of an axis.
type Setting struct {
	Axis  string      `yaml:"axis"`
	Value MatrixValue `yaml:"value"`
}

// MatrixValue is a value of an axis. A file may write it as a string, a number or a boolean; the value is its text.
type MatrixValue string

// Limits of a matrix.
const (
	MaxCombinations  = 10_000
	MaxMatrixEntries = 1_000 // of include and of exclude
	MaxItemValue     = 4096  // bytes of the value of an item
)

// UnmarshalText sets the value.
func (v *MatrixValue) UnmarshalText(text []byte) error {
	if bytes.ContainsRune(text, 0) {
		return fmt.Errorf("a value contains a NUL byte; remove it")
	}
	*v = MatrixValue(text)
	return nil
}

// Notation describes values in messages.
func (*MatrixValue) Notation() (noun, example string) { return "a string, a number, true or false", "" }

// KeepsOrder marks a list that a file writes as a mapping.
func (Matrix) KeepsOrder()      {}
func (Combination) KeepsOrder() {}

// Elsewhere returns what to write instead of include and exclude within a matrix, where GitHub Actions has them.
func (Matrix) Elsewhere(key string) (own, advice string) {
	if key == "include" || key == "exclude" {
		return "", fmt.Sprintf("write it next to matrix: foreach: {matrix: {…}, %s: […]}", key)
	}
	return "", ""
}

// Example returns an example value in plan syntax.
func (Matrix) Example() string { return "{os: [linux, mac]}" }

// MatrixPrefix begins the names of the variables in which steps get the values of a matrix.
const MatrixPrefix = "PAWL_MATRIX_"

// MatrixVar returns the variable in which steps get the value of an axis.
func MatrixVar(axis string) string {
	return MatrixPrefix + strings.ToUpper(strings.ReplaceAll(axis, "-", "_"))
}

// HasMatrix reports whether the items are combinations.
func (f *Foreach) HasMatrix() bool { return f != nil && (len(f.Matrix) > 0 || len(f.Include) > 0) }

// Combinations returns the combinations of the matrix: all of its axes, the last one changing fastest, without those that an
// entry of Exclude matches. Then, as in GitHub Actions, each entry of Include is added to every combination of the axes whose
// values it does not change, or is a combination of its own if there is none.
func (f *Foreach) Combinations() []Combination {
	var all []Combination
	if len(f.Matrix) > 0 {
		all = []Combination{nil}
	}
	for _, axis := range f.Matrix {
		var longer []Combination
		for _, c := range all {
			for _, value := range axis.Values {
				longer = append(longer, append(slices.Clone(c), Setting{axis.Name, value}))
			}
		}
		all = longer
	}
	all = slices.DeleteFunc(all, func(c Combination) bool {
		return slices.ContainsFunc(f.Exclude, func(e Combination) bool { return len(e) > 0 && c.matches(e) })
	})
	axes, ofAxes := len(f.Matrix), len(all)
	for _, entry := range f.Include {
		added := false
		for i, c := range all[:ofAxes] {
			if c[:axes].keeps(entry) {
				all[i], added = c.set(entry), true
			}
		}
		if !added {
			all = append(all, entry)
		}
	}
	if len(f.Include) > 0 {
		for i, c := range all {
			all[i] = c.sorted(f.Matrix)
		}
	}
	return all
}

// Get returns the value of an axis.
func (c Combination) Get(axis string) (MatrixValue, bool) {
	for _, s := range c {
		if s.Axis == axis {
			return s.Value, true
		}
	}
	return "", false
}

// matches reports whether c has all settings of other.
func (c Combination) matches(other Combination) bool {
	return !slices.ContainsFunc(other, func(s Setting) bool {
		value, has := c.Get(s.Axis)
		return !has || value != s.Value
	})
}

// keeps reports whether no setting of other has another value in c.
func (c Combination) keeps(other Combination) bool {
	return !slices.ContainsFunc(other, func(s Setting) bool {
		value, has := c.Get(s.Axis)
		return has && value != s.Value
	})
}

// set changes the settings of c to those of other, appends those that c does not have, and returns the result.
func (c Combination) set(other Combination) Combination {
	for _, s := range other {
		if i := slices.IndexFunc(c, func(old Setting) bool { return old.Axis == s.Axis }); i >= 0 {
			c[i].Value = s.Value
		} else {
			c = append(c, s)
		}
	}
	return c
}

// sorted returns the settings of the matrix's axes in its order, then the others by name.
func (c Combination) sorted(m Matrix) Combination {
	place := func(s Setting) int {
		if i := slices.IndexFunc(m, func(a Axis) bool { return a.Name == s.Axis }); i >= 0 {
			return i
		}
		return len(m)
	}
	return slices.SortedFunc(slices.Values(c), func(a, b Setting) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a.Axis, b.Axis))
	})
}

// Item returns the value of the item: os=linux,py=3.12. Values with commas, quotes, or characters that are not printable, and
// empty values, are quoted as in Go.
func (c Combination) Item() string {
	var text strings.Builder
	for i, s := range c {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(s.Axis + "=")
		if v := string(s.Value); v == "" || strings.ContainsAny(v, `,"`) || strings.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) }) {
			text.WriteString(strconv.Quote(v))
		} else {
			text.WriteString(v)
		}
	}
	return text.String()
}

// ParseCombination returns the combination of an item's value. It is nil for other values.
func ParseCombination(item string) (c Combination) {
	for rest := item; ; {
		axis, value, ok := strings.Cut(rest, "=")
		if !ok {
			return nil
		}
		if quoted, err := strconv.QuotedPrefix(value); err == nil && quoted[0] == '"' {
			text, _ := strconv.Unquote(quoted)
			c, rest = append(c, Setting{axis, MatrixValue(text)}), value[len(quoted):]
		} else {
			end := strings.IndexByte(value, ',')
			if end < 0 {
				end = len(value)
			}
			c, rest = append(c, Setting{axis, MatrixValue(value[:end])}), value[end:]
		}
		if rest == "" {
			return c
		}
		if rest, ok = strings.CutPrefix(rest, ","); !ok {
			return nil
		}
	}
}

// Vars returns the variables that a step gets for a combination.
func (c Combination) Vars() map[string]string {
	vars := make(map[string]string, len(c))
	for _, s := range c {
		vars[MatrixVar(s.Axis)] = string(s.Value)
	}
	return vars
}

// MarshalJSON and MarshalYAML write the axes as a mapping, in order.

func (m Matrix) MarshalJSON() ([]byte, error)      { return json.Marshal(orderedStruct(m.pairs())) }
func (m Matrix) MarshalYAML() (any, error)         { return orderedStruct(m.pairs()), nil }
func (c Combination) MarshalJSON() ([]byte, error) { return json.Marshal(orderedStruct(c.pairs())) }
func (c Combination) MarshalYAML() (any, error)    { return orderedStruct(c.pairs()), nil }

// pair is an entry of a mapping.
type pair struct {
	key   string
	value any
}

func (m Matrix) pairs() (pairs []pair) {
	for _, axis := range m {
		pairs = append(pairs, pair{axis.Name, axis.Values})
	}
	return pairs
}

func (c Combination) pairs() (pairs []pair) {
	for _, s := range c {
		pairs = append(pairs, pair{s.Axis, s.Value})
	}
	return pairs
}

// orderedStruct returns a struct with a field for each entry, because encoders keep the order of fields and sort maps.
func orderedStruct(pairs []pair) any {
	fields := make([]reflect.StructField, len(pairs))
	for i, p := range pairs {
		fields[i] = reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: reflect.TypeOf(p.value), Tag: reflect.StructTag(fmt.Sprintf("json:%q yaml:%q", p.key, p.key)),
		}
	}
	v := reflect.New(reflect.StructOf(fields)).Elem()
	for i, p := range pairs {
		v.Field(i).Set(reflect.ValueOf(p.value))
	}
	return v.Interface()
}
