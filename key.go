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

// Key describes what a step or item depends on. A finished one reruns only if its key changes. Names, limits, retry,
// estimate, review and accept are not part of the key.
type Key struct {
	Definition string            `json:"definition"`       // hash of action, env, dir, outputs and item value
	Inputs     Outputs           `json:"inputs,omitempty"` // declared inputs at the start of the attempt
	Needs      map[StepID]string `json:"needs,omitempty"`  // needed step → hash of its recorded outputs, or of its key; see PassedOn
}

// Hash returns the key as 64 hex digits: PAWL_KEY for the step.
func (k Key) Hash() string { return hashJSON(k) }

// Limits of the entries listed in a key, since a line of the journal has limited space.
const (
	maxKeyNeeds  = 64
	maxKeyInputs = 128
)

// AllEntries replaces the list of entries in a compact key.
const AllEntries = "*"

// UnknownOutput marks a needed step whose output hash was not recorded, or is not known yet. It compares equal to any hash.
const UnknownOutput = "?"

// PassedOn begins the hash of a needed step that was skipped or failed: of what the steps behind it give. An empty hash, as earlier
// versions recorded it, compares equal.
const PassedOn = "behind:"

// sameOutputs reports whether a recorded hash of a needed step counts as the current one.
func sameOutputs(before, now string) bool {
	return before == now || before == UnknownOutput || now == UnknownOutput || (before == "" || before == Key{}.Hash()) && strings.HasPrefix(now, PassedOn)
}

// Compact returns the key as stored in the journal: more needs or inputs than the limit become one entry with their hash.
func (k Key) Compact() Key {
	if len(k.Needs) > maxKeyNeeds {
		k.Needs = map[StepID]string{AllEntries: hashOfAll(k.Needs)}
	}
	if len(k.Inputs) > maxKeyInputs {
		k.Inputs = Outputs{AllEntries: {SHA256: k.Inputs.Hash(), Files: len(k.Inputs)}}
	}
	return k
}

func hashOfAll(needs map[StepID]string) string {
	for _, gave := range needs {
		if gave == UnknownOutput {
			return UnknownOutput
		}
	}
	return hashJSON(needs)
}

// NeedsDiffer reports whether the outputs of needed steps differ between the keys.
func (k Key) NeedsDiffer(now Key) bool {
	for id, gave := range k.Needs {
		if gives, has := now.Needs[id]; !has || !sameOutputs(gave, gives) {
			return true
		}
	}
	return len(now.Needs) != len(k.Needs)
}

// Equal reports whether both keys have the same hash.
func (k Key) Equal(other Key) bool { return k.Hash() == other.Hash() }

// DefinitionChanged says that the definition of a step is another one.
const DefinitionChanged = "its definition in the plan changed"

// Changes describes the differences between k, the key of a finished step, and now, the key that it would have now.
func (k Key) Changes(now Key) []string {
	var changes []string
	if k.Definition != now.Definition {
		changes = append(changes, DefinitionChanged)
	}
	for _, path := range unionKeys(k.Inputs, now.Inputs) {
		before, had := k.Inputs[path]
		after, has := now.Inputs[path]
		switch {
		case !had:
			changes = append(changes, "input "+path+" is new")
		case !has:
			changes = append(changes, "input "+path+" was removed")
		case before != after && path == AllEntries:
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
		case sameOutputs(before, after):
		case id == AllEntries:
			changes = append(changes, "a result that it depends on changed")
		case strings.HasPrefix(after, PassedOn):
			changes = append(changes, fmt.Sprintf("outputs that step %s depends on changed", id))
		default:
			changes = append(changes, fmt.Sprintf("outputs of step %s changed", id))
		}
	}
	return changes
}

// DefinitionOf returns the hash of what a step does: action, shell, env (of the plan, the defaults and the step), dir,
// outputs, the run's parameters, whether it is a service and, for an item, its value. The default shell is not part of it. Secrets are not part of it,
// only their names.
func DefinitionOf(p *Plan, s *Step, item string) string {
	var shell Shell
	if s.Run != "" {
		shell = s.Shell
	}
	return hashJSON(struct {
		Run     string
		Agent   *AgentAction
		Kernel  *KernelAction
		Gate    *GateAction
		Env     map[string]string
		Dir     string
		Outputs []string
		Item    string
		Params  map[string]string `json:",omitempty"` // a plan without the key has the hash that it always had
		Dotenv  []string          `json:",omitempty"`
		Shell   Shell             `json:",omitempty"`
		Serves  bool              `json:",omitempty"`
	}{s.Run, s.Agent, s.Kernel.work(), s.Gate, p.EnvOf(s).texts(), s.Dir, s.Outputs, item, p.Values, p.Dotenv, shell, s.Service != nil})
}

// AcceptOf returns the hash of a step's acceptance checks, with the shell unless that is the default; empty if it has none.
func AcceptOf(s *Step) string {
	switch {
	case len(s.Accept) == 0:
		return ""
	case s.Shell == "":
		return hashJSON(s.Accept)
	}
	return hashJSON(struct {
		Shell  Shell
		Accept map[string]string
	}{s.Shell, s.Accept})
}

// Hash returns the hash of recorded outputs as 64 hex digits.
func (o Outputs) Hash() string { return hashJSON(o) }

// Expand replaces $NAME and ${NAME} of the given variables in a declared path; other variables stay. It escapes pattern
// characters in values, because values are names and not patterns.
func Expand(path string, vars map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '$' {
			out.WriteByte(path[i])
			continue
		}
		name, width := variable(path[i+1:])
		value, known := vars[name]
		if longer, all := withDigits(path[i+1:]); !known || all > width {
			if v, has := vars[longer]; has {
				value, known, width = v, true, all
			}
		}
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

// variable returns the variable name at the start of s, as NAME or {NAME}, and its width in bytes.
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

// withDigits is variable for a NAME that may also have digits, as axes of a matrix do: $PAWL_ITEM2 is $PAWL_ITEM and a digit
// unless there is such a variable.
func withDigits(s string) (name string, width int) {
	width = len(s) - len(strings.TrimLeft(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
	return s[:width], width
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
