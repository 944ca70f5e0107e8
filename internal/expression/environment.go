package expression

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/types"

	"pawl"
	"pawl/internal/strictyaml"
)

// variables are the variables of expressions.
var variables = []string{"params", "steps", "run"}

// stepFields are the fields of Step.
var stepFields = []string{"status", "exit", "summary", "why", "answer"}

// builtins are the functions of expr that plans may use. None of them takes a function or reads a clock.
var builtins = []string{"len", "lower", "upper", "trim", "join", "split", "int", "float", "string", "abs", "min", "max"}

func functionNames() []string {
	return append(slices.Clone(builtins), "toJSON", "contains", "endsWith", "startsWith")
}

// options returns the options of every expression but its environment.
func options() []expr.Option {
	all := []expr.Option{
		expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes),
		expr.Function("toJSON", toJSON, new(func(any) string)),
		expr.Function(string(functionForms["contains"])+"ontains", contains, new(func(string, string) bool), new(func([]string, string) bool), new(func([]any, any) bool)),
		expr.Function(string(functionForms["startsWith"])+"tartsWith", both(strings.HasPrefix), new(func(string, string) bool)),
		expr.Function(string(functionForms["endsWith"])+"ndsWith", both(strings.HasSuffix), new(func(string, string) bool)),
	}
	for _, name := range builtins {
		all = append(all, expr.EnableBuiltin(name))
	}
	return all
}

// contains reports whether a text contains another, or a list an element.
func contains(args ...any) (any, error) {
	switch in := args[0].(type) {
	case string:
		part, _ := args[1].(string)
		return strings.Contains(in, part), nil
	case []string:
		element, ok := args[1].(string)
		return ok && slices.Contains(in, element), nil
	case []any:
		return slices.Contains(in, args[1]), nil
	}
	return nil, fmt.Errorf("contains needs a string or a list")
}

// toJSON writes JSON as the builtin function does, except that a float has a point or an exponent also if it is whole.
func toJSON(args ...any) (any, error) {
	text, err := json.MarshalIndent(exact(args[0]), "", "  ")
	return string(text), err
}

func exact(value any) any {
	switch v := value.(type) {
	case float64:
		return strictyaml.Float(v)
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = exact(element)
		}
		return list
	}
	return value
}

func both(compare func(a, b string) bool) func(args ...any) (any, error) {
	return func(args ...any) (any, error) {
		a, _ := args[0].(string)
		b, _ := args[1].(string)
		return compare(a, b), nil
	}
}

// environment returns the types of the variables.
func environment(scope Scope, steps []pawl.StepID) types.Map {
	params := types.Map{}
	for name, param := range scope.Params {
		if !param.Secret {
			params[name] = types.TypeOf(valueOf(param, ""))
		}
	}
	env := types.Map{"params": params, "run": types.Map{"name": types.String, "mode": types.String}}
	if scope.Steps == nil {
		return env
	}
	byID := types.Map{}
	for _, id := range steps {
		for _, name := range namesOf(id) {
			byID[name] = types.Map{"status": types.String, "exit": types.Int, "summary": types.String, "why": types.String, "answer": types.String}
		}
	}
	env["steps"] = byID
	for name := range statusFunctions {
		env[name] = types.TypeOf(func() bool { return true })
	}
	return env
}

// namesOf returns the names of a step in a rewritten expression: steps["build-site"], and steps.build-site.
func namesOf(id pawl.StepID) []string {
	name := string(id)
	if guarded := strings.ReplaceAll(name, "-", string(guard)); guarded != name {
		return []string{name, guarded}
	}
	return []string{name}
}

// env returns the values of the variables.
func (p *Program) env(v Values) map[string]any {
	params := make(map[string]any, len(p.params))
	for name, param := range p.params {
		if !param.Secret {
			params[name] = valueOf(param, v.Params[name])
		}
	}
	env := map[string]any{"params": params, "run": map[string]any{"name": v.Run.Name, "mode": v.Run.Mode}}
	if v.Step == nil {
		return env
	}
	steps := make(map[string]any, len(p.steps))
	for _, id := range p.steps {
		s := v.Step(id)
		for _, name := range namesOf(id) {
			steps[name] = map[string]any{"status": s.Status, "exit": s.Exit, "summary": s.Summary, "why": s.Why, "answer": s.Answer}
		}
	}
	env["steps"] = steps
	env["success"] = func() bool { return v.Success }
	env["failure"] = func() bool { return !v.Success }
	env["always"] = func() bool { return true }
	return env
}

// valueOf returns the typed value of a parameter.
func valueOf(param pawl.Parameter, text string) any {
	switch param.Type {
	case pawl.IntParam:
		n, _ := strconv.Atoi(text)
		return n
	case pawl.NumberParam:
		f, _ := strconv.ParseFloat(text, 64)
		return f
	case pawl.BoolParam:
		return text == "true"
	case pawl.ListParam:
		return pawl.ListValue(text)
	}
	return text
}
