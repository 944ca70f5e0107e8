// Package schema makes JSON Schemas of Go types: of plans for editors, of what tools take and give for agents.
//
// They are those of JSON Schema 2020-12, and as plain as can be: no null where Go has nil, words of a type of ours as the
// list of them.
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

// Of returns the schema of a struct by its JSON names: fields that may be left out are those with omitempty or omitzero,
// and what each is for stands in its tag "jsonschema". Other keys are not allowed.
func Of[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: enumerations()})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", reflect.TypeFor[T](), err)
	}
	withoutNull(s)
	return json.Marshal(s)
}

// enumerations are the types of which only some words are meant.
func enumerations() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[pawl.GateType]():   words(pawl.HumanVerify, pawl.DecisionFor, pawl.HumanAction),
		reflect.TypeFor[pawl.ItemStatus](): words(pawl.ItemPending, pawl.ItemRunning, pawl.ItemIsDone, pawl.ItemFailed),
		reflect.TypeFor[pawl.MemoryKind](): words(pawl.Pattern, pawl.Gotcha, pawl.Preference, pawl.DecisionMem, pawl.RejectedIdea, pawl.Fragile),
	}
}

func words[W ~string](list ...W) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range list {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// withoutNull takes out null, which Go's lists and pointers may be and a plan's may not.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(name string) bool { return name == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
	for _, property := range s.Properties {
		withoutNull(property)
	}
}
