// Package stepenv decides what a step gets from the process that starts the run: the inherited environment without secrets, the
// variables that the plan names, and the parameters.
//
// A run keeps the values that it began with. They are recorded in its journal, and [Resolve] puts them into the plan. Of a
// secret only a keyed hash is recorded: its value must be given again for each engine, and is compared.
package stepenv

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/redact"
)

// Inherited returns the variables that every step inherits, and the names of those that are withheld because they may hold
// secrets.
func Inherited(environ []string) (kept, withheld []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, pawl.ParamPrefix): // of another run
		case redact.SecretVariable(name, value):
			withheld = append(withheld, name)
		default:
			kept = append(kept, v)
		}
	}
	slices.Sort(withheld)
	return kept, withheld
}

// WithoutStore returns environ without the variable that gives access to the database of the runs.
func WithoutStore(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, redact.StoreVariable+"=") })
}

// Resolve returns a plan in which the values of env have the given variables in place of references, and Values the
// parameters. References to secrets stay: such an entry is a Secret, and its value a template. It returns the plan itself if
// there is nothing to replace.
func Resolve(plan *pawl.Plan, given pawl.GivenValues) *pawl.Plan {
	computed := computes(plan)
	if !refers(plan) && !computed && len(plan.Params) == 0 {
		return plan
	}
	known := Known(given)
	resolved := *plan
	resolved.Values = paramValues(plan, given)
	resolved.Env, resolved.Defaults.Env = resolveEnv(plan.Env, known, given.Values), resolveEnv(plan.Defaults.Env, known, given.Values)
	resolved.Phases = slices.Clone(plan.Phases)
	for i := range resolved.Phases {
		steps := slices.Clone(plan.Phases[i].Steps)
		for j := range steps {
			steps[j].Env = resolveEnv(steps[j].Env, known, given.Values)
			steps[j].Kernel = resolveKernel(steps[j].Kernel, given.Values)
			if computed && steps[j].Foreach != nil {
				foreach := *steps[j].Foreach
				foreach.Items = resolveItems(foreach.Items, given.Values)
				steps[j].Foreach = &foreach
			}
		}
		resolved.Phases[i].Steps = steps
	}
	resolved.OnSuccess, resolved.OnFailure = resolveHandler(plan.OnSuccess, known, given.Values), resolveHandler(plan.OnFailure, known, given.Values)
	resolved.Notify = resolveNotify(plan.Notify, known, given.Values)
	return &resolved
}

func resolveHandler(h *pawl.Handler, known, values map[string]pawl.Given) *pawl.Handler {
	if h == nil {
		return nil
	}
	resolved := *h
	resolved.Env = resolveEnv(h.Env, known, values)
	return &resolved
}

// refers reports whether a plan's env has a dollar sign.
func refers(plan *pawl.Plan) bool {
	for env := range envsOf(plan) {
		for _, v := range env {
			if v.Secret || strings.Contains(v.Value, "$") {
				return true
			}
		}
	}
	return false
}

// envsOf yields the plan's environments, and whether each refers to secrets only: of the plan, the defaults, each step and handler, and
// the addresses of notifications.
func envsOf(plan *pawl.Plan) iter.Seq2[pawl.Env, bool] {
	return func(yield func(pawl.Env, bool) bool) {
		if !yield(plan.Env, false) || !yield(plan.Defaults.Env, false) {
			return
		}
		for _, step := range append(plan.Steps(), plan.Handlers()...) {
			if !yield(step.Env, false) {
				return
			}
		}
		for i := range plan.Notify {
			if !yield(addresses(&plan.Notify[i]), true) {
				return
			}
		}
	}
}

// Known returns the variables that references see: those of the dotenv files before those of the caller.
func Known(given pawl.GivenValues) map[string]pawl.Given {
	known := maps.Clone(given.Env)
	if known == nil {
		known = map[string]pawl.Given{}
	}
	maps.Copy(known, given.Dotenv)
	return known
}

func resolveEnv(env pawl.Env, known, values map[string]pawl.Given) pawl.Env {
	if len(env) == 0 {
		return env
	}
	resolved := make(pawl.Env, len(env))
	for name, v := range env {
		t, err := Parse(v.Value)
		if err != nil { // planfile rejects it; a plan of an older pawl may have it
			t = Template{{text: v.Value}}
		}
		text, whole := t.reduce(known, values)
		resolved[name] = pawl.Variable{Value: text, Secret: !whole}
	}
	return resolved
}

// paramValues returns the values of the parameters that are not secrets, nil for none.
func paramValues(plan *pawl.Plan, given pawl.GivenValues) map[string]string {
	var values map[string]string
	for name, param := range plan.Params {
		value, set := given.Params[name]
		if !set && param.Default != nil {
			value, set = pawl.Given{Value: string(*param.Default)}, true
		}
		if param.Secret || !set || value.Hash != "" || value.Unset {
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[name] = value.Value
	}
	return values
}

// Secrets are the values of a run's secrets, in memory only.
type Secrets struct {
	Params map[string]string // by the parameter's name
	Env    map[string]string // variables of the caller, and of the dotenv files
	Dotenv []string          // names in Env that every step gets
}

// Passed returns the variables in which another process of pawl finds the secrets again. It reads the dotenv files itself.
func (s Secrets) Passed() map[string]string {
	passed := s.ByVariable()
	for _, name := range s.Dotenv {
		delete(passed, name)
	}
	return passed
}

// ByVariable returns the values by the name of a variable.
func (s Secrets) ByVariable() map[string]string {
	all := make(map[string]string, len(s.Env)+len(s.Params))
	maps.Copy(all, s.Env)
	for name, value := range s.Params {
		all[pawl.ParamVar(name)] = value
	}
	return all
}

// Of returns the variables of a step of a resolved plan: those that may be stored, and those that may not.
func (s Secrets) Of(plan *pawl.Plan, step *pawl.Step) (open, secret map[string]string, err error) {
	open, secret = map[string]string{}, map[string]string{}
	for _, name := range s.Dotenv {
		secret[name] = s.Env[name]
	}
	for name, v := range plan.EnvOf(step) {
		delete(secret, name)
		if !v.Secret {
			open[name] = v.Value
			continue
		}
		t, err := Parse(v.Value)
		if err == nil {
			secret[name], err = t.Expand(func(name string) (string, bool) {
				value, has := s.Env[name]
				return value, has
			})
		}
		if err != nil {
			return nil, nil, &NotGiven{Name: name, Err: err}
		}
	}
	for name, value := range plan.Values {
		open[pawl.ParamVar(name)] = value
	}
	for name, value := range s.Params {
		secret[pawl.ParamVar(name)] = value
	}
	return open, secret, nil
}

// NotGiven is the error for a variable of a step whose value was not given to this process.
type NotGiven struct {
	Name string
	Err  error
}

func (e *NotGiven) Error() string { return "env " + e.Name + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *NotGiven) Unwrap() error { return e.Err }

// Overlay returns environ with variables added or replaced, sorted at its end.
func Overlay(environ []string, more map[string]string) []string {
	all := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, replaced := more[name]
		return replaced
	})
	for _, name := range slices.SortedFunc(maps.Keys(more), cmp.Compare[string]) {
		all = append(all, name+"="+more[name])
	}
	return all
}

// Named returns environ with only the named variables.
func Named(environ, names []string) map[string]string {
	found := map[string]string{}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); slices.Contains(names, name) {
			found[name] = value
		}
	}
	return found
}
