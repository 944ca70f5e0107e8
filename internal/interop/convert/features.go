package convert

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/expression"
	"pawl/internal/planfile"
)

// numberOf returns a positive number, 0 for anything else.
func numberOf(n *node) int {
	if !n.Scalar() {
		return 0
	}
	number, err := strconv.Atoi(n.Text)
	if err != nil || number < 1 {
		return 0
	}
	return number
}

// settle gives the steps their conditions and matrices.
func (d *draft) settle() {
	needs := map[pawl.StepID][]pawl.StepID{}
	whole := d.plan
	whole.Phases = []pawl.Phase{{Name: d.plan.Name}}
	for _, s := range d.steps {
		needs[s.ID] = s.Needs
		whole.Phases[0].Steps = append(whole.Phases[0].Steps, s.Step)
	}
	for _, s := range d.steps {
		s.ContinueOnError = s.mayFail
		if s.when != "" {
			_, err := expression.Language{}.CheckCondition(s.when, &whole, &s.Step, planfile.Reach(needs, s.ID))
			if err == nil {
				s.If = pawl.Condition(s.when)
			} else {
				d.pending = nil
				d.lost(s.whenAt, "if", "%s: %v", s.when, err)
				s.lost, d.pending = append(s.lost, d.pending...), nil
			}
		}
		if s.matrix != nil {
			s.Foreach, s.Parallel = s.matrix.foreach(), s.matrix.parallel
		}
	}
}

// planValue returns the value of a variable in a plan for a text within double quotes of a shell, false if that only works in a
// script.
func planValue(text string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && strings.IndexByte("\\\"$`", text[i+1]) >= 0:
			out.WriteByte(text[i+1])
			if text[i+1] == '$' {
				out.WriteByte('$')
			}
			i += 2
		case strings.HasPrefix(text[i:], "${"+pawl.ParamPrefix):
			name, _, closed := strings.Cut(text[i+len("${"+pawl.ParamPrefix):], "}")
			if !closed || paramName(name) != name {
				return "", false
			}
			out.WriteString("${{ params." + name + " }}")
			i += len("${"+pawl.ParamPrefix) + len(name) + 1
		case c == '$' || c == '`':
			return "", false
		default:
			out.WriteByte(c)
			i++
		}
	}
	return out.String(), true
}

// inPlan is planValue with the names of parameters as the plan has them.
func (d *draft) inPlan(text string) (string, bool) {
	value, ok := planValue(text)
	for name := range d.plan.Params {
		value = strings.ReplaceAll(value, "${{ params."+strings.ToUpper(name)+" }}", "${{ params."+name+" }}")
	}
	return value, ok
}

// addHandler adds a script for the end of a run, and reports whether plans have such scripts.
func (d *draft) addHandler(event, script string) bool {
	return false
}
