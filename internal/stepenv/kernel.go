package stepenv

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"pawl"
)

// Typed returns the expression that is computed for a parameter of a kernel which is nothing but an expression. Its value is JSON, so that
// numbers, booleans, lists and null keep their types.
func Typed(expression string) string { return typedPrefix + expression + ")" }

const typedPrefix = "toJSON("

// TypedOffset is how much further right an error in a typed expression is.
const TypedOffset = len(typedPrefix)

// KernelTexts yields the names of the parameters of a kernel step, and the texts with expressions in their values, also within lists and
// mappings. k may be nil.
func KernelTexts(k *pawl.KernelAction) iter.Seq2[string, string] {
	return func(yield func(name, text string) bool) {
		if k == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(k.Params)) {
			more := true
			withTexts(k.Params[name], func(text string) any {
				more = more && (!strings.Contains(text, "${{") || yield(name, text))
				return text
			})
			if !more {
				return
			}
		}
	}
}

// withTexts returns a copy of a value with its texts replaced, also within lists and mappings.
func withTexts(value any, replace func(text string) any) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = withTexts(element, replace)
		}
		return list
	case map[string]any:
		mapping := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			mapping[key] = withTexts(v[key], replace)
		}
		return mapping
	}
	return value
}

// resolveKernel replaces the expressions in the parameters of a kernel step. Those without a known value stay.
func resolveKernel(k *pawl.KernelAction, values map[string]pawl.Given) *pawl.KernelAction {
	for range KernelTexts(k) {
		resolved := *k
		resolved.Params = make(map[string]any, len(k.Params))
		for name, value := range k.Params {
			resolved.Params[name] = withTexts(value, func(text string) any { return resolveText(text, values) })
		}
		return &resolved
	}
	return k
}

// resolveText returns the value of a text with expressions: the value of its only expression, or a text.
func resolveText(text string, values map[string]pawl.Given) any {
	t, err := ParseItem(text)
	if err != nil { // planfile rejects it
		return text
	}
	if !t.Single() {
		if whole, ok := t.reduce(nil, values); ok {
			return whole
		}
		return text
	}
	given, known := values[Typed(t[0].expression)]
	decoder := json.NewDecoder(strings.NewReader(given.Value))
	decoder.UseNumber()
	var value any
	if !known || decoder.Decode(&value) != nil {
		return text
	}
	return value
}

// Literals returns the parameters of a kernel in a form in which their texts stand for themselves, also if they contain ${{.
func Literals(params map[string]any) map[string]any {
	for name, value := range params {
		params[name] = withTexts(value, func(text string) any { return strings.ReplaceAll(text, "${{", "${{ '${{' }}") })
	}
	return params
}
