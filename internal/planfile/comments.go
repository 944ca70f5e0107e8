package planfile

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"pawl"
)

// Comments are texts above a plan and its steps, one line each.
type Comments struct {
	Plan  []string
	Steps map[pawl.StepID][]string
}

// WriteCommented is Write with comments. It writes the steps of a single phase with the plan's name without that phase.
func WriteCommented(p *pawl.Plan, c Comments) ([]byte, error) {
	data, err := encode(p)
	if err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.Name, err)
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.Name, err)
	}
	top := doc.Content[0]
	for i, phase := range p.Phases {
		steps := field(field(top, "phases").Content[i], "steps")
		for j, s := range phase.Steps {
			steps.Content[j].HeadComment = comment(c.Steps[s.ID])
		}
	}
	if len(p.Phases) == 1 && p.Phases[0].Name == p.Name {
		for i := 0; i+1 < len(top.Content); i += 2 {
			if top.Content[i].Value == "phases" {
				top.Content[i].Value, top.Content[i+1] = "steps", field(top.Content[i+1].Content[0], "steps")
			}
		}
	}
	if data, err = yaml.Dump(&doc, yaml.WithLineWidth(-1)); err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.Name, err)
	}
	if head := comment(c.Plan); head != "" {
		data = append([]byte(head+"\n"), data...)
	}
	plan, err := Read(p.Name, data)
	if err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.Name, err)
	}
	if again, err := Read(p.Name, spaced(data)); err == nil && reflect.DeepEqual(again, plan) { // a text may end with empty lines
		return spaced(data), nil
	}
	return data, nil
}

// spaced returns a plan with an empty line before each step of the top level.
func spaced(data []byte) []byte {
	var out, comments bytes.Buffer
	for line := range bytes.Lines(data) {
		switch {
		case bytes.HasPrefix(line, []byte("#")) && out.Len() > 0:
			comments.Write(line)
			continue
		case bytes.HasPrefix(line, []byte("- id: ")) && !bytes.HasSuffix(out.Bytes(), []byte("steps:\n")):
			out.WriteByte('\n')
		}
		out.Write(comments.Bytes())
		comments.Reset()
		out.Write(line)
	}
	out.Write(comments.Bytes())
	return out.Bytes()
}

// comment returns lines of text as a YAML comment, without what YAML does not allow there.
func comment(lines []string) string {
	var text []string
	for _, line := range lines {
		line = strings.Map(func(c rune) rune {
			if c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u2028' || c == '\u2029' || c == '\uFEFF' || c == '\uFFFE' || c == '\uFFFF' || c == '\uFFFD' {
				return ' '
			}
			return c
		}, line)
		text = append(text, strings.TrimRight("# "+line, " "))
	}
	return strings.Join(text, "\n")
}
