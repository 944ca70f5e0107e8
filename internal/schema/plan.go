package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

// planDocument is a plan file: steps without phases form one phase.
type planDocument struct {
	pawl.Plan
	Steps []pawl.Step `json:"steps,omitempty"`
}

// longValue is the long form of a variable's value.
type longValue pawl.Variable

// durationPattern matches durations as Go writes them.
const durationPattern = `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`

// Plan returns the JSON Schema of plans for editors. It is less strict than planfile.Read.
func Plan() ([]byte, error) {
	types := scalars()
	value, err := jsonschema.For[longValue](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of variables: %w", err)
	}
	types[reflect.TypeFor[pawl.Variable]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, value}}
	types[reflect.TypeFor[pawl.NoticeKind]()] = enum(pawl.NoticeKinds...)
	if types[reflect.TypeFor[pawl.Handler]()], err = handlerSchema(types); err != nil {
		return nil, err
	}
	combination := &jsonschema.Schema{Type: "object", AdditionalProperties: scalar(), MinProperties: new(1)}
	types[reflect.TypeFor[pawl.Combination]()] = combination
	types[reflect.TypeFor[pawl.Matrix]()] = &jsonschema.Schema{Type: "object", MinProperties: new(1), AdditionalProperties: &jsonschema.Schema{Type: "array", Items: scalar()}}
	step, err := jsonschema.For[pawl.Step](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of steps: %w", err)
	}
	include, err := jsonschema.For[includeEntry](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of includes: %w", err)
	}
	included := &jsonschema.Schema{Ref: "#/$defs/include"}
	types[reflect.TypeFor[pawl.Step]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Ref: "#/$defs/step"}, included}}
	phase, err := jsonschema.For[pawl.Phase](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of phases: %w", err)
	}
	types[reflect.TypeFor[pawl.Phase]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Ref: "#/$defs/phase"}, included}}
	plan, err := jsonschema.For[planDocument](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of plans: %w", err)
	}
	chooseAction(step)
	plan.OneOf = exactlyOne("phases", "steps")
	plan.Properties["notify"].Items.OneOf = exactlyOne("command", "webhook")
	plan.Schema, plan.Title = "https://json-schema.org/draft/2020-12/schema", "A plan for pawl"
	plan.Defs = map[string]*jsonschema.Schema{"step": step, "phase": phase, "include": include}
	for _, s := range plan.Defs {
		removeNull(s)
	}
	removeNull(plan)
	return json.MarshalIndent(plan, "", "  ")
}

// chooseAction requires one action of a step, and one source of its items.
func chooseAction(step *jsonschema.Schema) {
	step.OneOf = exactlyOne("run", "agent", "kernel", "gate")
	foreach := step.Properties["foreach"]
	foreach.OneOf = exactlyOne("items", "lines", "files", "matrix")
	foreach.OneOf[3] = &jsonschema.Schema{AnyOf: exactlyOne("matrix", "include")}
	foreach.DependentRequired = map[string][]string{"exclude": {"matrix"}}
}

// includeEntry is an entry of steps or phases that stands for those of a file.
type includeEntry struct {
	Include string   `json:"include"`
	Prefix  string   `json:"prefix,omitempty"`
	Env     pawl.Env `json:"env,omitempty"`
}

// scalar is a value that becomes a text.
func scalar() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
}

// scalars returns the schemas of types that a plan writes as a single value or a list.
func scalars() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[pawl.Duration](): {Type: "string", Pattern: durationPattern},
		reflect.TypeFor[pawl.StepID]():   {Type: "string", Pattern: `^[A-Za-z0-9._-]{1,64}$`},
		reflect.TypeFor[pawl.Mode]():     enum(pawl.Guided, pawl.Autopilot, pawl.HandsOn),
		reflect.TypeFor[pawl.GateType](): enum(pawl.HumanVerify, pawl.DecisionFor, pawl.HumanAction),

		reflect.TypeFor[pawl.EmptyList]():  enum(pawl.EmptyDone, pawl.EmptyFails),
		reflect.TypeFor[pawl.AgentName]():  enum(pawl.AgentNames...),
		reflect.TypeFor[pawl.ParamType]():  enum(pawl.ParamTypes...),
		reflect.TypeFor[pawl.ParamValue](): {Types: []string{"string", "number", "boolean", "array"}, Items: &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}},
		reflect.TypeFor[pawl.Texts]():      {OneOf: []*jsonschema.Schema{{Type: "string", Pattern: `\$\{\{`}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}}}},
		reflect.TypeFor[pawl.Condition]():  {Types: []string{"string", "boolean", "number"}},
	}
}

// handlerSchema returns the schema of handlers: a script, or a mapping.
func handlerSchema(types map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	long, err := jsonschema.For[pawl.Handler](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of handlers: %w", err)
	}
	removeNull(long)
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, long}}, nil
}

// exactlyOne requires exactly one of the keys.
func exactlyOne(keys ...string) []*jsonschema.Schema {
	var choice []*jsonschema.Schema
	for _, key := range keys {
		choice = append(choice, &jsonschema.Schema{Required: []string{key}})
	}
	return choice
}
