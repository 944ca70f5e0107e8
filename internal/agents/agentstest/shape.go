// Package agentstest has coding agents without a model: they follow a script, send the payloads of the real agents to their
// hooks, and accept the same answers. They really edit files and run commands, so that tests can kill them meanwhile.
//
// The folder shapes has one file per agent with examples of its payloads, which the tests of package agents use too.
package agentstest

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed shapes/*.txt
var shapes embed.FS

// Shape is an example of a payload.
type Shape struct {
	Name    string // that of the event, and perhaps more words
	Payload []byte
}

// Shapes returns the examples of an agent in the order of its file. Each is a line "# Name" and a line with the payload.
func Shapes(agent string) ([]Shape, error) {
	data, err := shapes.ReadFile("shapes/" + agent + ".txt")
	if err != nil {
		return nil, fmt.Errorf("no agent %q: %w", agent, err)
	}
	var all []Shape
	name := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			name = heading
		} else if strings.HasPrefix(line, "{") {
			all = append(all, Shape{Name: name, Payload: []byte(line)})
		}
	}
	return all, nil
}

// shaped returns a fresh copy of an example's fields.
func shaped(agent, name string) (map[string]any, error) {
	all, err := Shapes(agent)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Name == name {
			fields := map[string]any{}
			return fields, json.Unmarshal(s.Payload, &fields)
		}
	}
	return nil, fmt.Errorf("%s has no %s", agent, name)
}
