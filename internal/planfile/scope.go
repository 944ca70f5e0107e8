package planfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"pawl/internal/lazyregexp"
)

// scope are the values that an included file sets for its steps.
type scope struct {
	env, defaults *yaml.Node
	left          *int // how many values may still be added to the steps of the plan
}

// maxFilled is the maximum number of values that included files set for their steps, each value counted for each step.
const maxFilled = 200_000

// scopeOf returns the scope of an included file. Of its variables, those of the include come first, then those of its defaults,
// then those of the file.
func scopeOf(root, entry *yaml.Node, left *int) scope {
	s := scope{env: &yaml.Node{Kind: yaml.MappingNode}, defaults: &yaml.Node{Kind: yaml.MappingNode}, left: left}
	if defaults := valueOf(root, "defaults"); defaults != nil {
		s.defaults = defaults
	}
	for _, env := range []*yaml.Node{valueOf(entry, "env"), valueOf(s.defaults, "env"), valueOf(root, "env")} {
		addMissing(s.env, env)
	}
	return s
}

// fill adds to a step what it does not set.
func (s scope) fill(step *yaml.Node) {
	*s.left -= len(s.defaults.Content) + len(s.env.Content)
	if step.Kind != yaml.MappingNode || *s.left < 0 {
		return
	}
	for i := 0; i+1 < len(s.defaults.Content); i += 2 {
		key, value := s.defaults.Content[i], s.defaults.Content[i+1]
		has := valueOf(step, key.Value)
		switch {
		case key.Value == "env":
		case key.Value == "shell" && valueOf(step, "run") == nil && valueOf(step, "accept") == nil && valueOf(step, "undo") == nil:
		case has == nil:
			step.Content = append(step.Content, bare(key), bare(value))
		case key.Value == "retry" && has.Kind == yaml.MappingNode:
			addMissing(has, value)
		}
	}
	if len(s.env.Content) == 0 {
		return
	}
	env := valueOf(step, "env")
	if env == nil {
		env = &yaml.Node{Kind: yaml.MappingNode, Line: step.Line, Column: step.Column}
		setKey(step, "env", env)
	}
	addMissing(env, s.env)
}

// addMissing adds the keys of a mapping that another one does not have.
func addMissing(to, from *yaml.Node) {
	if from == nil || from.Kind != yaml.MappingNode || to.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		if valueOf(to, from.Content[i].Value) == nil {
			to.Content = append(to.Content, bare(from.Content[i]), bare(from.Content[i+1]))
		}
	}
}

// bare returns a copy of a node without its comments.
func bare(n *yaml.Node) *yaml.Node {
	clone := *n
	clone.HeadComment, clone.LineComment, clone.FootComment = "", "", ""
	clone.Content = make([]*yaml.Node, len(n.Content))
	for i, inner := range n.Content {
		clone.Content[i] = bare(inner)
	}
	return &clone
}

// stepsIn returns the steps in a list of steps or phases.
func stepsIn(list *yaml.Node, kind string) (steps []*yaml.Node) {
	if kind == "steps" {
		return list.Content
	}
	for _, phase := range list.Content {
		if inner := valueOf(phase, "steps"); inner != nil && inner.Kind == yaml.SequenceNode {
			steps = append(steps, inner.Content...)
		}
	}
	return steps
}

// prefix puts a prefix before the ids of steps, and before those by which they refer to one another, in needs and conditions.
func prefix(steps []*yaml.Node, prefix string) {
	if prefix == "" {
		return
	}
	own := map[string]bool{}
	for _, step := range steps {
		if id := valueOf(step, "id"); isText(id) {
			own[id.Value] = true
			id.Value = prefix + id.Value
		}
	}
	for _, step := range steps {
		if condition := valueOf(step, "if"); isText(condition) {
			condition.Value = prefixCondition(condition.Value, prefix, own)
		}
		needs := valueOf(step, "needs")
		if needs == nil {
			continue
		}
		for _, need := range needs.Content {
			if isText(need) && own[need.Value] {
				need.Value = prefix + need.Value
			}
		}
	}
}

// stepReference matches texts in conditions, and references to steps with what stands before: steps.ID, steps["ID"], other.steps.ID.
var stepReference = lazyregexp.New(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + "`[^`]*`" +
	`|[\p{L}\p{N}_$.]*steps\s*(?:\.\s*([\p{L}_$][\p{L}\p{N}_$]*(?:-[\p{L}\p{N}_$]+)*)|\[\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\])`)

// prefixCondition puts a prefix before the ids in a condition of steps that the file has itself.
func prefixCondition(text, prefix string, own map[string]bool) string {
	return stepReference.ReplaceAllStringFunc(text, func(found string) string {
		if !strings.HasPrefix(found, "steps") {
			return found
		}
		ids := stepReference.FindStringSubmatch(found)
		if id := ids[1] + ids[2] + ids[3]; own[id] {
			return fmt.Sprintf("steps[%q]", prefix+id)
		}
		return found
	})
}

func isText(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str"
}

// target returns what an alias stands for, and other nodes as they are.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// keyOf returns the node of a key, nil if the node is not a mapping or does not have it.
func keyOf(mapping *yaml.Node, key string) *yaml.Node {
	if i := indexOf(mapping, key); i >= 0 {
		return mapping.Content[i]
	}
	return nil
}

// valueOf returns the value of a key, nil if the node is not a mapping or does not have it.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if i := indexOf(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}
	return nil
}

func indexOf(mapping *yaml.Node, key string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if k := mapping.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// setKey adds a key to a mapping.
func setKey(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: max(mapping.Line, 1), Column: mapping.Column}, value)
}

// same reports whether two nodes have the same content.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.ShortTag() == b.ShortTag() && slices.EqualFunc(a.Content, b.Content, same)
}
