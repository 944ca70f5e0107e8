// Package schema generates JSON Schemas (2020-12) from Go types: of plans for editors, and of tool inputs and results
// for agents.
//
// The schemas of plans and inputs do not allow null. All list the words of enumerated string types.
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

// Of returns the schema of a struct by its JSON names. Fields with omitempty or omitzero are optional. The tag
// "jsonschema" is a field's description. Other keys are not allowed.
func Of[T any]() (json.RawMessage, error) {
	s, err := of[T]()
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// OfResult returns the schema of a struct as encoding/json writes it. In contrast to Of, it allows null where the struct can have nil and
// encoding/json writes it.
func OfResult[T any]() (json.RawMessage, error) {
	s, err := of[T]()
	if err != nil {
		return nil, err
	}
	allowNull(s, reflect.TypeFor[T]())
	return json.Marshal(s)
}

func of[T any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: enumerations()})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", reflect.TypeFor[T](), err)
	}
	removeNull(s)
	requireNoEmbedded(s, reflect.TypeFor[T]())
	return s, nil
}

// allowNull allows null for the elements and the required fields of t that can be nil.
func allowNull(s *jsonschema.Schema, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case s.Items != nil:
		allowNil(s.Items, t.Elem())
	case t.Kind() == reflect.Map:
		allowNil(s.AdditionalProperties, t.Elem())
	case s.Properties != nil:
		for _, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch p := s.Properties[name]; {
			case p == nil:
			case strings.Contains(options, "omit"):
				allowNull(p, f.Type)
			default:
				allowNil(p, f.Type)
			}
		}
	}
}

// allowNil is allowNull for a value that is written even if it is nil.
func allowNil(s *jsonschema.Schema, t reflect.Type) {
	allowNull(s, t)
	nilable := t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	if nilable && s.Type != "" {
		s.Type, s.Types = "", []string{s.Type, "null"}
	}
}

// requireNoEmbedded makes the fields of embedded pointers optional: if such a pointer is nil, a document has none of them.
func requireNoEmbedded(s *jsonschema.Schema, t reflect.Type) {
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.Anonymous || f.Type.Kind() != reflect.Pointer {
			continue
		}
		for j := range f.Type.Elem().NumField() {
			name, _, _ := strings.Cut(f.Type.Elem().Field(j).Tag.Get("json"), ",")
			s.Required = slices.DeleteFunc(s.Required, func(required string) bool { return required == name })
		}
	}
}

// enumerations are the string types with a fixed set of words.
func enumerations() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[pawl.GateType]():   enum(pawl.HumanVerify, pawl.DecisionFor, pawl.HumanAction),
		reflect.TypeFor[pawl.ItemStatus](): enum(pawl.ItemPending, pawl.ItemRunning, pawl.ItemIsDone, pawl.ItemFailed),
		reflect.TypeFor[pawl.MemoryKind](): enum(pawl.Pattern, pawl.Gotcha, pawl.Preference, pawl.DecisionMem, pawl.RejectedIdea, pawl.Fragile),
	}
}

func enum[W ~string](list ...W) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range list {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// removeNull removes null from the schema's types: Go's slices and pointers may be nil, but documents must not contain
// null.
func removeNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(name string) bool { return name == "null" || name == "" }) // "" where a pointer's type has choices
	switch len(s.Types) {
	case 0:
		s.Types = nil
	case 1:
		s.Type, s.Types = s.Types[0], nil
	}
	removeNull(s.Items)
	removeNull(s.AdditionalProperties)
	for _, property := range s.Properties {
		removeNull(property)
	}
}
