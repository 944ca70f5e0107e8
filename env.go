package pawl

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Env is a set of environment variables in a plan, by name.
type Env map[string]Variable

// Variable is the value of an environment variable in a plan, written as a text or as a mapping. $NAME, ${NAME} and
// ${NAME:-default} stand for variables of the process that starts the run, ${{ EXPR }} for the value of an expression; $$ is a
// dollar sign. Package stepenv replaces them.
type Variable struct {
	Value  string `yaml:"value" json:"value"`
	Secret bool   `yaml:"secret,omitempty" json:"secret,omitempty"` // pawl never stores the value
}

// Short returns what a plan sets if it writes the value as a text.
func (v *Variable) Short() any { return &v.Value }

// Example returns an example value in plan syntax.
func (Variable) Example() string { return "{value: $DATABASE_URL, secret: true}" }

// MarshalYAML returns the shortest form of the value.
func (v Variable) MarshalYAML() (any, error) {
	if v.Secret {
		type long Variable
		return long(v), nil
	}
	return v.Value, nil
}

// MarshalJSON is like MarshalYAML.
func (v Variable) MarshalJSON() ([]byte, error) {
	short, err := v.MarshalYAML()
	if err != nil {
		return nil, err
	}
	return json.Marshal(short)
}

// EnvOf returns a step's environment from the plan: the plan's, overridden by the defaults', then by the step's.
func (p *Plan) EnvOf(s *Step) Env {
	env := make(Env, len(p.Env)+len(p.Defaults.Env)+len(s.Env))
	maps.Copy(env, p.Env)
	maps.Copy(env, p.Defaults.Env)
	maps.Copy(env, s.Env)
	return env
}

// texts returns the values as the plan has them.
func (e Env) texts() map[string]string {
	texts := make(map[string]string, len(e))
	for name, v := range e {
		texts[name] = v.Value
	}
	return texts
}

// A Given is a value that the caller gave a run. Exactly one field is set, none for an empty value.
type Given struct {
	Value string `json:"value,omitempty"`
	Hash  string `json:"hash,omitempty"`  // ID of a key, a colon, and the keyed hash of a secret, whose value pawl does not store
	Unset bool   `json:"unset,omitempty"` // the caller had no such variable, and the plan has a default
}

// GivenValues are the values that the caller gave a run. They hold for the whole run.
type GivenValues struct {
	Params map[string]Given `json:"params,omitempty"` // by the parameter's name
	Env    map[string]Given `json:"env,omitempty"`    // variables of the caller that the plan names
	Dotenv map[string]Given `json:"dotenv,omitempty"` // variables in the plan's dotenv files
	Values map[string]Given `json:"values,omitempty"` // values of ${{ EXPR }} in the plan, by expression
}

// Empty reports whether there are no values.
func (g GivenValues) Empty() bool { return len(g.Params)+len(g.Env)+len(g.Dotenv)+len(g.Values) == 0 }

// Equal reports whether both have the same values.
func (g GivenValues) Equal(other GivenValues) bool {
	return maps.Equal(g.Params, other.Params) && maps.Equal(g.Env, other.Env) && maps.Equal(g.Dotenv, other.Dotenv) &&
		maps.Equal(g.Values, other.Values)
}

// With returns g with the values of more added or replaced.
func (g GivenValues) With(more GivenValues) GivenValues {
	merged := func(a, b map[string]Given) map[string]Given {
		if len(b) == 0 {
			return a
		}
		all := make(map[string]Given, len(a)+len(b))
		maps.Copy(all, a)
		maps.Copy(all, b)
		return all
	}
	return GivenValues{
		Params: merged(g.Params, more.Params), Env: merged(g.Env, more.Env), Dotenv: merged(g.Dotenv, more.Dotenv),
		Values: merged(g.Values, more.Values),
	}
}

// RunGiven records values that the caller gave the run: at its start, and later those that a changed plan needs or that a person changed.
type RunGiven struct{ GivenValues }

func (RunGiven) Event() EventType { return "run.given" }

func (p RunGiven) fold(s *State, _ Event) error {
	for _, values := range []map[string]Given{p.Params, p.Env, p.Dotenv, p.Values} {
		for name, v := range values {
			if v.Value != "" && v.Hash != "" {
				return fmt.Errorf("%s has a value and a hash", name)
			}
		}
	}
	s.Given = s.Given.With(p.GivenValues)
	return nil
}
