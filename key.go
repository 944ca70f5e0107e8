package pawl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Key says what a step or item depends on. A finished one runs again only when its key changes.
// Names, limits, retry, estimate, review and accept are outside.
type Key struct {
	Definition string            `json:"definition"`       // hash of action, env, dir, outputs and item value
	Inputs     Outputs           `json:"inputs,omitempty"` // declared inputs as they were when it started
	Needs      map[StepID]string `json:"needs,omitempty"`  // needed step → hash of its recorded outputs, or of its key
}

// Hash returns the key as 64 hex digits, PAWL_KEY for the step.
func (k Key) Hash() string { return hashJSON(k) }

// What a key names one by one: a line of the journal holds no more.
const (
	maxKeyNeeds  = 64
	maxKeyInputs = 128
)

// Everything stands in a compact key for all that is not named one by one.
const Everything = "*"

// NotKnown is what a step gave of which nobody knows what it gave to those that were done behind it: no other is another one.
const NotKnown = "?"

// Compact returns the key as the journal holds it: very many needs or inputs are one entry with the hash of all.
func (k Key) Compact() Key {
	if len(k.Needs) > maxKeyNeeds {
		k.Needs = map[StepID]string{Everything: hashOfAll(k.Needs)}
	}
	if len(k.Inputs) > maxKeyInputs {
		k.Inputs = Outputs{Everything: {SHA256: k.Inputs.Hash(), Files: len(k.Inputs)}}
	}
	return k
}

func hashOfAll(needs map[StepID]string) string {
	for _, gave := range needs {
		if gave == NotKnown {
			return NotKnown
		}
	}
	return hashJSON(needs)
}

// GivenElse reports whether what is needed gives something else now.
func (k Key) GivenElse(now Key) bool {
	for id, gave := range k.Needs {
		if gives, has := now.Needs[id]; !has || gave != NotKnown && gives != gave {
			return true
		}
	}
	return len(now.Needs) != len(k.Needs)
}

// Equal reports whether both keys say the same.
func (k Key) Equal(other Key) bool { return k.Hash() == other.Hash() }

// Changes says in words what differs between the key that a finished step has and the one that it would have now.
func (k Key) Changes(now Key) []string {
	var changes []string
	if k.Definition != now.Definition {
		changes = append(changes, "its definition in the plan changed")
	}
	for _, path := range unionKeys(k.Inputs, now.Inputs) {
		before, had := k.Inputs[path]
		after, has := now.Inputs[path]
		switch {
		case !had:
			changes = append(changes, "input "+path+" is new")
		case !has:
			changes = append(changes, "input "+path+" is gone")
		case before != after && path == Everything:
			changes = append(changes, "its inputs changed")
		case before != after:
			changes = append(changes, "input "+path+" changed")
		}
	}
	for _, id := range unionKeys(k.Needs, now.Needs) {
		before, had := k.Needs[id]
		after, has := now.Needs[id]
		switch {
		case !had:
			changes = append(changes, fmt.Sprintf("it now needs step %s", id))
		case !has:
			changes = append(changes, fmt.Sprintf("it no longer needs step %s", id))
		case before == NotKnown:
		case before != after && id == Everything:
			changes = append(changes, "what it needs gives something else")
		case before != after:
			changes = append(changes, fmt.Sprintf("what step %s gives changed", id))
		}
	}
	return changes
}

// DefinitionOf returns the hash of what a step does: action, env (the plan's, the defaults' and its own), dir,
// outputs and, for an item, its value.
func DefinitionOf(p *Plan, s *Step, item string) string {
	return hashJSON(struct {
		Run     string
		Agent   *AgentAction
		Kernel  *KernelAction
		Gate    *GateAction
		Env     map[string]string
		Dir     string
		Outputs []string
		Item    string
	}{s.Run, s.Agent, s.Kernel, s.Gate, p.EnvOf(s), s.Dir, s.Outputs, item})
}

// AcceptOf returns the hash of a step's acceptance checks, empty where it has none.
func AcceptOf(s *Step) string {
	if len(s.Accept) == 0 {
		return ""
	}
	return hashJSON(s.Accept)
}

// EnvOf returns the environment that the plan gives a step: the plan's, overridden by the defaults', then the step's.
func (p *Plan) EnvOf(s *Step) map[string]string {
	env := make(map[string]string, len(p.Env)+len(p.Defaults.Env)+len(s.Env))
	maps.Copy(env, p.Env)
	maps.Copy(env, p.Defaults.Env)
	maps.Copy(env, s.Env)
	return env
}

// Hash returns the hash of recorded outputs as 64 hex digits.
func (o Outputs) Hash() string { return hashJSON(o) }

// Expand replaces $NAME and ${NAME} of the given variables in the paths that a plan declares; others stay. What a
// pattern means by itself is escaped in values: they are names, not patterns.
func Expand(path string, vars map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '$' {
			out.WriteByte(path[i])
			continue
		}
		name, width := variable(path[i+1:])
		value, known := vars[name]
		if !known {
			out.WriteByte('$')
			continue
		}
		out.WriteString(escapePattern.Replace(value))
		i += width
	}
	return out.String()
}

var escapePattern = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// variable returns the name of the variable that s starts with, as NAME or {NAME}, and its width in bytes.
func variable(s string) (name string, width int) {
	if rest, ok := strings.CutPrefix(s, "{"); ok {
		name, _, ok = strings.Cut(rest, "}")
		if !ok {
			return "", 0
		}
		return name, len(name) + 2
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') })
	if end < 0 {
		end = len(s)
	}
	return s[:end], end
}

func hashJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("keys hold only strings and numbers: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func unionKeys[K ~string, V any](a, b map[K]V) []K {
	union := make(map[K]bool, len(a)+len(b))
	for k := range a {
		union[k] = true
	}
	for k := range b {
		union[k] = true
	}
	return slices.Sorted(maps.Keys(union))
}
