package pawl

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parameter is a parameter of a plan. Steps get its value as PAWL_PARAM_<NAME>.
type Parameter struct {
	Type        ParamType   `yaml:"type,omitempty" json:"type,omitempty"`       // Defaults to string.
	Options     []string    `yaml:"options,omitempty" json:"options,omitempty"` // of an enum
	Default     *ParamValue `yaml:"default,omitempty" json:"default,omitempty"`
	Required    bool        `yaml:"required,omitempty" json:"required,omitempty"`
	Secret      bool        `yaml:"secret,omitempty" json:"secret,omitempty"` // pawl never stores the value
	Description string      `yaml:"description,omitempty" json:"description,omitempty"`
}

// Example returns an example value in plan syntax.
func (Parameter) Example() string { return "{type: int, default: 5}" }

// ParamType is the type of a parameter.
type ParamType string

// The types of parameters.
const (
	StringParam ParamType = "string"
	IntParam    ParamType = "int"
	NumberParam ParamType = "number"
	BoolParam   ParamType = "bool"
	EnumParam   ParamType = "enum" // one of Options
	ListParam   ParamType = "list" // of texts
)

// ParamTypes lists the types of parameters.
var ParamTypes = []ParamType{StringParam, IntParam, NumberParam, BoolParam, EnumParam, ListParam}

// ParamValue is the value of a parameter as text. A file may write it as a string, a number, a boolean or a list.
type ParamValue string

// SetList sets the value to a list.
func (v *ParamValue) SetList(elements []string) error {
	for _, element := range elements {
		if strings.Contains(element, ",") {
			return fmt.Errorf("element %q contains a comma, which separates elements; remove it", element)
		}
	}
	return v.UnmarshalText([]byte(strings.Join(elements, ",")))
}

// UnmarshalText sets the value.
func (v *ParamValue) UnmarshalText(text []byte) error {
	if strings.ContainsRune(string(text), 0) {
		return fmt.Errorf("a value contains a NUL byte; remove it")
	}
	*v = ParamValue(text)
	return nil
}

// Notation describes values in messages.
func (*ParamValue) Notation() (noun, example string) {
	return "a string, a number, true or false, or a list of strings", ""
}

// Parse returns a value of the parameter in its standard form: 7 for 007.
func (p Parameter) Parse(text string) (string, error) {
	switch p.Type {
	case IntParam:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", fmt.Errorf("%q is not an integer", text)
		}
		return strconv.FormatInt(n, 10), nil
	case NumberParam:
		if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return "", fmt.Errorf("%q is not a number", text)
		}
	case BoolParam:
		if text != "true" && text != "false" {
			return "", fmt.Errorf("%q is not true or false", text)
		}
	case EnumParam:
		if !slices.Contains(p.Options, text) {
			return "", fmt.Errorf("%q is not one of %s", text, strings.Join(p.Options, ", "))
		}
	case ListParam:
		return strings.Join(ListValue(text), ","), nil
	}
	return text, nil
}

// ListValue returns the elements of a value of type list: texts between commas, without the spaces around them.
func ListValue(text string) []string {
	elements := []string{}
	if strings.TrimSpace(text) == "" {
		return elements
	}
	for element := range strings.SplitSeq(text, ",") {
		elements = append(elements, strings.TrimSpace(element))
	}
	return elements
}

// ParamVar returns the variable in which steps get a parameter.
func ParamVar(name string) string { return ParamPrefix + strings.ToUpper(name) }

// ParamPrefix begins the names of the variables in which steps get parameters.
const ParamPrefix = "PAWL_PARAM_"

// ParamNames returns the names of the plan's parameters, sorted.
func (p *Plan) ParamNames() []string { return slices.Sorted(maps.Keys(p.Params)) }

// ShownParam is a parameter of a run as people and programs see it.
type ShownParam struct {
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"` // its value is not stored
}

// ShownParams returns the parameters of a run with their values, by name. The plan is the one with the values that the caller gave.
func (p *Plan) ShownParams(given GivenValues) map[string]ShownParam {
	shown := make(map[string]ShownParam, len(p.Values))
	for name, value := range p.Values {
		shown[name] = ShownParam{Value: value}
	}
	for name, param := range p.Params {
		if _, has := given.Params[name]; has && param.Secret {
			shown[name] = ShownParam{Secret: true}
		}
	}
	return shown
}
