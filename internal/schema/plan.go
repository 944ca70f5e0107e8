package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

// file is a plan as it is written: bare steps stand for one phase.
type file struct {
	pawl.Plan
	Steps []pawl.Step `json:"steps,omitempty"`
}

// Plan returns the JSON Schema of plans, by which editors help. It is no check: planfile.Read refuses much that passes here.
func Plan() ([]byte, error) {
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

// anyOneOf asks for exactly one of the keys.
func anyOneOf(keys ...string) []*jsonschema.Schema {
	var choice []*jsonschema.Schema
	for _, key := range keys {
		choice = append(choice, &jsonschema.Schema{Required: []string{key}})
	}
	return choice
}
