// Package agentstest has coding agents without a model: they follow a script, send their hooks what the real agents send,
// and take what these take. They do what they say, edit files and run commands, so that they can be killed at it.
//
// The shapes of what they send stand in shapes/, one file an agent, and are also the examples that package agents is tested
// with.
package agentstest

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed shapes/*.txt
var shapes embed.FS

// Shape is an example of what an agent sends to its hooks.
type Shape struct {
	Name    string // that of the event, and perhaps more words
	Payload []byte
}

// Shapes returns the examples of an agent, in the order in which they stand in its file: "# Name" on a line, and the
// payload on the next.
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

// shaped returns an example's fields, to be filled in anew.
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
