package planfile

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"pawl"
)

// Write returns a plan as a file that Read reads, or what is wrong with it.
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

// WriteStep returns a step as it stands in a plan's file.
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
			if s.Needs != nil && len(s.Needs) == 0 { // it needs nothing, which is left out like needs that are not said
				steps := field(field(doc.Content[0], "phases").Content[i], "steps")
				steps.Content[j].Content = append(steps.Content[j].Content,
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

// field returns the value of a key.
func field(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return &yaml.Node{}
}
