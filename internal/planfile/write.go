package planfile

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"pawl"
)

// Write encodes a plan as a file that [Read] accepts. The error says why Read would reject it.
func Write(p *pawl.Plan) ([]byte, error) {
	data, err := encode(p)
	if err == nil {
		_, err = Read(p.Name, data)
	}
	if err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.Name, err)
	}
	return data, nil
}

// WriteStep encodes a single step as in a plan file.
func WriteStep(s *pawl.Step) ([]byte, error) {
	data, err := yaml.Dump(s)
	if err != nil {
		return nil, fmt.Errorf("write step %s: %w", s.ID, err)
	}
	return data, nil
}

func encode(p *pawl.Plan) ([]byte, error) {
	data, err := yaml.Dump(p)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		return nil, err
	}
	freed := false
	for i, phase := range p.Phases {
		for j, s := range phase.Steps {
			if s.Needs != nil && len(s.Needs) == 0 { // an empty list is omitted like no list, which has a default
				steps := field(field(doc.Content[0], "phases").Content[i], "steps")
				at := 2 * len(titles(steps.Content[j]))
				steps.Content[j].Content = slices.Insert(steps.Content[j].Content, at,
					&yaml.Node{Kind: yaml.ScalarNode, Value: "needs"}, &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle})
				freed = true
			}
		}
	}
	if !freed {
		return data, nil
	}
	return yaml.Dump(&doc)
}

// titles returns the keys of a step that come before "needs".
func titles(step *yaml.Node) []string {
	var keys []string
	for i := 0; i < len(step.Content) && slices.Contains([]string{"id", "name", "goal"}, step.Content[i].Value); i += 2 {
		keys = append(keys, step.Content[i].Value)
	}
	return keys
}

// field returns the value of a key.
func field(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return &yaml.Node{}
}
