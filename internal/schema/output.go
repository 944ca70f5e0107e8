package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

// Output returns the JSON Schema of what a command prints: a value of one of the types. Other keys than those of the types are allowed,
// since later versions add some. The data of an event is described for each type of event.
func Output(title string, types ...reflect.Type) (json.RawMessage, error) {
	var choices []*jsonschema.Schema
	for _, t := range types {
		s, err := outputOf(t)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t, err)
		}
		choices = append(choices, s)
	}
	s := choices[0]
	if len(choices) > 1 {
		s = &jsonschema.Schema{AnyOf: choices}
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", title
	return json.MarshalIndent(s, "", "  ")
}

func outputOf(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: textual()})
	if err != nil {
		return nil, err
	}
	allowMore(s)
	if t != reflect.TypeFor[pawl.Event]() {
		return s, nil
	}
	for _, p := range pawl.Payloads() {
		data, err := outputOf(reflect.TypeOf(p))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Event(), err)
		}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"type": {Const: jsonschema.Ptr[any](string(p.Event()))}}},
			Then: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"data": data}},
		})
	}
	return s, nil
}

// textual are the types that are encoded in another way than their Go kind says.
func textual() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[pawl.Duration]():   {Type: "string", Pattern: durationPattern},
		reflect.TypeFor[pawl.Positions]():  {Types: []string{"array", "object", "null"}},
		reflect.TypeFor[pawl.Variable]():   {Types: []string{"string", "object"}},
		reflect.TypeFor[pawl.ParamValue](): {Type: "string"},
		reflect.TypeFor[json.RawMessage](): {}, // the data of an event
	}
}

// allowMore allows keys that the types do not have.
func allowMore(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 || isFalse(s.AdditionalProperties) {
		s.AdditionalProperties = nil
	}
	allowMore(s.Items)
	allowMore(s.AdditionalProperties)
	for _, property := range s.Properties {
		allowMore(property)
	}
	for _, part := range slices.Concat(s.AnyOf, s.AllOf, s.OneOf) {
		allowMore(part)
	}
}

// isFalse reports whether s allows nothing.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}
