package strictyaml

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Numeral is a number in a value of any type, as JSON writes it. Unlike a float64 it is exact, and it tells 1 from 1.0.
type Numeral string

// MarshalJSON returns the number.
func (n Numeral) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// MarshalYAML returns the number.
func (n Numeral) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n)}, nil
}

// FloatKey is the key of a mapping that stands for a float that JSON cannot write: its value is nan, inf or -inf.
const FloatKey = "$float"

// Float returns a float as a value of any type: a [Numeral] with a point or an exponent, or a mapping with [FloatKey].
func Float(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return map[string]any{FloatKey: strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")}
	}
	text, _ := json.Marshal(f)
	if !strings.ContainsAny(string(text), ".e") {
		text = append(text, ".0"...)
	}
	return Numeral(text)
}

// ParseNumber returns the value of a number in YAML: a *big.Int or a float64, or else the text.
func ParseNumber(text string) any {
	plain := strings.ReplaceAll(text, "_", "")
	if n, ok := new(big.Int).SetString(strings.TrimPrefix(plain, "+"), 0); ok {
		return n
	}
	switch strings.ToLower(strings.TrimLeft(plain, "+-")) {
	case ".nan":
		return math.NaN()
	case ".inf":
		if plain[0] == '-' {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	if f, err := strconv.ParseFloat(plain, 64); err == nil || math.IsInf(f, 0) {
		return f
	}
	return text
}

// any returns the value: nil, a bool, a [Numeral], a string, a []any or a map[string]any. Floats are as [Float] returns them.
func (n *Node) any() any {
	switch n.Kind {
	case Mapping:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Name] = f.Value.any()
		}
		return m
	case List:
		list := make([]any, len(n.List))
		for i, element := range n.List {
			list[i] = element.any()
		}
		return list
	case Number:
		switch v := ParseNumber(n.Text).(type) {
		case *big.Int:
			return Numeral(v.String())
		case float64:
			return Float(v)
		}
	case Bool:
		return strings.EqualFold(n.Text, "true")
	case NoValue:
		return nil
	}
	return n.Text
}
