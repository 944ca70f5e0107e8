package notebook

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl/internal/lazyregexp"
	"pawl/internal/strictyaml"
	"pawl/internal/textedit/jsonedit"
)

// Param is a parameter of a notebook. Its value is nil, a bool, a *big.Int, a float64, a string, a []any of such values, or a Map.
type Param struct {
	Name  string
	Value any
}

// Params are parameters in the order in which they are assigned.
type Params []Param

// Map is a mapping whose order is kept.
type Map []Param

// Set sets a parameter. A new value takes the place of an earlier one.
func (p *Params) Set(name string, value any) {
	for i := range *p {
		if (*p)[i].Name == name {
			(*p)[i].Value = value
			return
		}
	}
	*p = append(*p, Param{name, value})
}

// SetAll sets all parameters of others.
func (p *Params) SetAll(others Params) {
	for _, o := range others {
		p.Set(o.Name, o.Value)
	}
}

// ReadWith reads a notebook, and adds the cell that assigns the parameters of a plan. It returns the text with that cell, and the warnings of
// Inject.
func ReadWith(data []byte, values map[string]any) (n *Notebook, text []byte, warnings []string, err error) {
	if n, err = Read(data); err != nil {
		return nil, nil, nil, err
	}
	params, err := paramsOf(values)
	if err != nil {
		return nil, nil, nil, err
	}
	if text, warnings, err = n.Inject("", params); err != nil {
		return nil, nil, nil, err
	}
	n, err = Read(text)
	return n, text, warnings, err
}

// paramsOf returns the parameters of a plan in the order of their names.
func paramsOf(values map[string]any) (Params, error) {
	var params Params
	for _, name := range slices.Sorted(maps.Keys(values)) {
		data, err := json.Marshal(values[name])
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		value, err := FromJSON(data)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		params.Set(name, value)
	}
	return params, nil
}

// ParseParam parses NAME=VALUE as papermill does: true, false, None, an integer or a float as Python's int() and float() accept
// them, or else a string. So 007 is the integer 7; see ParseText.
func ParseParam(arg string) (Param, error) {
	p, err := ParseText(arg)
	if err == nil {
		p.Value = typed(p.Value.(string))
	}
	return p, err
}

// ParseText parses NAME=VALUE, and the value is a string.
func ParseText(arg string) (Param, error) {
	name, value, found := strings.Cut(arg, "=")
	switch {
	case !found || name == "":
		return Param{}, fmt.Errorf("parameter %q is not of the form NAME=VALUE", arg)
	case !utf8.ValidString(arg):
		return Param{}, fmt.Errorf("parameter %q is not UTF-8", arg)
	}
	return Param{name, value}, nil
}

func typed(text string) any {
	switch text {
	case "True", "true":
		return true
	case "False", "false":
		return false
	case "None":
		return nil
	}
	number := strings.TrimSpace(text)
	if whole.MatchString(number) {
		n, _ := new(big.Int).SetString(strings.TrimPrefix(strings.ReplaceAll(number, "_", ""), "+"), 10)
		return n
	}
	if fraction.MatchString(number) {
		f, _ := strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64) // beyond its range it is infinite, as in Python
		return f
	}
	return text
}

// What Python's int() and float() accept, but for digits of other scripts.
var (
	whole    = lazyregexp.New(`^[+-]?[0-9]+(_[0-9]+)*$`)
	fraction = lazyregexp.New(`^[+-]?(([0-9]+(_[0-9]+)*(\.([0-9]+(_[0-9]+)*)?)?|\.[0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+(_[0-9]+)*)?|(?i:inf|infinity|nan))$`)
)

// ParseParams parses a mapping in YAML or JSON. name is that of the file, for errors.
func ParseParams(name string, text []byte) (Params, error) {
	root, err := strictyaml.Tree("parameter file", name, text)
	switch {
	case err != nil:
		return nil, err
	case root == nil || root.Kind == strictyaml.NoValue:
		return nil, nil
	case root.Kind != strictyaml.Mapping:
		return nil, fmt.Errorf("%s:%d:%d: parameters must be a mapping of names to values, not a %s", name, root.Line, root.Column, root.Kind)
	}
	m, _ := fromYAML(root).(Map)
	return Params(m), nil
}

func fromYAML(n *strictyaml.Node) any {
	switch n.Kind {
	case strictyaml.Mapping:
		m := make(Map, len(n.Fields))
		for i, f := range n.Fields {
			m[i] = Param{f.Name, fromYAML(f.Value)}
		}
		return m
	case strictyaml.List:
		list := make([]any, len(n.List))
		for i, element := range n.List {
			list[i] = fromYAML(element)
		}
		return list
	case strictyaml.Number:
		return strictyaml.ParseNumber(n.Text)
	case strictyaml.Bool:
		return strings.EqualFold(n.Text, "true")
	case strictyaml.NoValue:
		return nil
	}
	return n.Text
}

// FromJSON returns the value of a parameter that is written in JSON. A mapping with [strictyaml.FloatKey] is a float.
func FromJSON(text []byte) (any, error) {
	v, err := jsonedit.Read(text)
	if err != nil {
		return nil, err
	}
	return fromJSON(v), nil
}

func fromJSON(v *jsonedit.Value) any {
	switch v.Kind {
	case jsonedit.Object:
		if f, err := strconv.ParseFloat(v.Get(strictyaml.FloatKey).Text(), 64); err == nil && len(v.Members) == 1 {
			return f
		}
		m := Params{}
		for _, member := range v.Members {
			m.Set(member.Key, fromJSON(member.Value))
		}
		return Map(m)
	case jsonedit.Array:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = fromJSON(item)
		}
		return list
	case jsonedit.Number:
		if n, ok := new(big.Int).SetString(string(v.Raw()), 10); ok {
			return n
		}
		f, _ := v.Float()
		return f
	case jsonedit.String:
		return v.Text()
	case jsonedit.Bool:
		return v.True()
	}
	return nil
}

// plain returns a value as encoding/json can write it.
func plain(value any, float func(float64) any) any {
	switch v := value.(type) {
	case float64:
		return float(v)
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = plain(element, float)
		}
		return list
	case Map:
		return Params(v).plain(float)
	}
	return value
}

func (p Params) plain(float func(float64) any) map[string]any {
	m := make(map[string]any, len(p))
	for _, param := range p {
		m[param.Name] = plain(param.Value, float)
	}
	return m
}

// Exact returns parameters as an object in JSON from which [FromJSON] gets the same values.
func (p Params) Exact() map[string]any { return p.plain(strictyaml.Float) }

// Plain returns parameters as an object in JSON for other programs. NaN and infinities are strings.
func (p Params) Plain() map[string]any {
	return p.plain(func(f float64) any {
		switch {
		case math.IsNaN(f):
			return "NaN"
		case math.IsInf(f, 0):
			return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+")
		}
		return strictyaml.Float(f)
	})
}
