// Package planschema tells editors what a plan may hold. It is no check: pawl.ReadPlan refuses much that passes here.
package planschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

// file is a plan as it is written: bare steps stand for one phase.
type file struct {
	pawl.Plan
	Steps []pawl.Step `json:"steps,omitempty"`
}

// JSON returns the JSON Schema of plans, made from the Go types.
func JSON() ([]byte, error) {
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[pawl.Duration](): {Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`},
		reflect.TypeFor[pawl.StepID]():   {Type: "string", Pattern: `^[A-Za-z0-9._-]{1,64}$`},
		reflect.TypeFor[pawl.Mode]():     words(pawl.Guided, pawl.Autopilot, pawl.HandsOn),
		reflect.TypeFor[pawl.GateType](): words(pawl.HumanVerify, pawl.DecisionFor, pawl.HumanAction),

		reflect.TypeFor[pawl.AgentName](): words(pawl.AgentNames...),
	}
	step, err := jsonschema.For[pawl.Step](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of steps: %w", err)
	}
	types[reflect.TypeFor[pawl.Step]()] = &jsonschema.Schema{Ref: "#/$defs/step"}
	plan, err := jsonschema.For[file](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of plans: %w", err)
	}
	step.OneOf = anyOneOf("run", "agent", "kernel", "gate")
	step.Properties["foreach"].OneOf = anyOneOf("items", "lines", "files")
	plan.OneOf = anyOneOf("phases", "steps")
	plan.Schema, plan.Title = "https://json-schema.org/draft/2020-12/schema", "A plan for pawl"
	plan.Defs = map[string]*jsonschema.Schema{"step": step}
	withoutNull(step)
	withoutNull(plan)
	return json.MarshalIndent(plan, "", "  ")
}

func words[W ~string](list ...W) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range list {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// anyOneOf asks for exactly one of the keys.
func anyOneOf(keys ...string) []*jsonschema.Schema {
	var choice []*jsonschema.Schema
	for _, key := range keys {
		choice = append(choice, &jsonschema.Schema{Required: []string{key}})
	}
	return choice
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
