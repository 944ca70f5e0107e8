package convert

import (
	"errors"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/shellwords"
	"pawl/internal/strictyaml"
)

// matrix is a list of combinations of values.
type matrix struct {
	axes     []axis
	exclude  []pawl.Combination
	include  []pawl.Combination
	parallel int
}

// axis is a name with its values.
type axis struct {
	name   string
	values []string
}

// foreach returns the items of a step that runs for each combination.
func (m *matrix) foreach() *pawl.Foreach {
	f := &pawl.Foreach{Exclude: m.exclude, Include: m.include}
	for _, a := range m.axes {
		values := make([]pawl.MatrixValue, len(a.values))
		for i, value := range a.values {
			values[i] = pawl.MatrixValue(value)
		}
		f.Matrix = append(f.Matrix, pawl.Axis{Name: a.name, Values: values})
	}
	return f
}

// has reports whether combinations have a value with this name, whatever its case.
func (m *matrix) has(name string) bool {
	if m == nil {
		return false
	}
	for _, a := range m.axes {
		if strings.EqualFold(a.name, name) {
			return true
		}
	}
	for _, extra := range m.include {
		if slices.ContainsFunc(extra, func(s pawl.Setting) bool { return strings.EqualFold(s.Axis, name) }) {
			return true
		}
	}
	return false
}

// matrixOf reads the matrix of a job.
func (g *github) matrixOf(j *githubJob) {
	strategy := j.body.Get("strategy")
	for _, f := range fieldsOf(strategy) {
		switch f.Name {
		case "matrix", "max-parallel":
		case "fail-fast":
			g.note(f.Value, "strategy.fail-fast", "not needed: a failed combination does not stop the others")
		default:
			g.aside(f.Value, "strategy."+f.Name, "unknown key")
		}
	}
	n := strategy.Get("matrix")
	if n == nil {
		return
	}
	if n.Kind != strictyaml.Mapping {
		g.lost(n, "strategy.matrix", "%s is known only while the workflow runs", oneLine(n.Text))
		return
	}
	m := &matrix{}
	for _, f := range n.Fields {
		switch values, ok := scalars(f.Value); {
		case f.Name == "exclude":
			m.exclude = g.combinations(f)
		case f.Name == "include":
			m.include = g.combinations(f)
		case !ok || len(values) == 0:
			g.lost(f.Value, "strategy.matrix."+f.Name, "only a list of strings and numbers is converted")
			return
		default:
			m.axes = append(m.axes, axis{f.Name, values})
		}
	}
	if max := strategy.Get("max-parallel"); max.Scalar() {
		m.parallel = numberOf(max)
	}
	g.dropMachines(j, m)
	if len(m.axes)+len(m.include) == 0 {
		return
	}
	probe := pawl.Plan{Name: "matrix", Phases: []pawl.Phase{{Name: "matrix", Steps: []pawl.Step{{ID: "a", Run: "true", Foreach: m.foreach()}}}}}
	if _, err := planfile.Write(&probe); err != nil {
		why := err.Error()
		if faults, ok := errors.AsType[*planfile.Errors](err); ok {
			why = faults.Faults[0].Text
		}
		g.lost(n, "strategy.matrix", "a plan cannot have this matrix: %s", why)
	} else {
		j.matrix = m
		g.note(n, "strategy.matrix", "each step runs for all combinations before the next step begins, and they share the project's folder")
	}
}

// scalars returns the texts of a list of scalars without repeated ones.
func scalars(n *node) (values []string, ok bool) {
	if n == nil || n.Kind != strictyaml.List {
		return nil, false
	}
	for _, element := range n.List {
		if !element.Scalar() || strings.Contains(element.Text, "${{") || strings.TrimSpace(element.Text) == "" {
			return nil, false
		}
		if !slices.Contains(values, element.Text) {
			values = append(values, element.Text)
		}
	}
	return values, true
}

func (g *github) combinations(f strictyaml.Field) []pawl.Combination {
	var all []pawl.Combination
	for _, element := range f.Value.List {
		var one pawl.Combination
		for _, field := range element.Fields {
			if !field.Value.Scalar() || strings.Contains(field.Value.Text, "${{") {
				g.lost(element, "strategy.matrix."+f.Name, "only strings and numbers are converted")
				return nil
			}
			one = append(one, pawl.Setting{Axis: field.Name, Value: pawl.MatrixValue(field.Value.Text)})
		}
		if len(one) > 0 {
			all = append(all, one)
		}
	}
	if f.Value.Kind != strictyaml.List {
		g.lost(f.Value, "strategy.matrix."+f.Name, "expected a list")
	}
	return all
}

// dropMachines removes an axis that only chooses the machine, because there is one machine.
func (g *github) dropMachines(j *githubJob, m *matrix) {
	runsOn := j.body.Get("runs-on")
	for i, a := range m.axes {
		name := "matrix." + a.name
		if !runsOn.Scalar() || !strings.Contains(runsOn.Text, name) || slices.ContainsFunc(slices.Concat(m.include, m.exclude), func(one pawl.Combination) bool { _, has := one.Get(a.name); return has }) {
			continue
		}
		used := false
		for _, key := range []string{"steps", "env", "if", "name", "container", "services"} {
			used = used || mentions(j.body.Get(key), name)
		}
		if !used {
			g.note(runsOn, "strategy.matrix."+a.name, "left out: pawl runs on this machine, not on %s", strings.Join(a.values, ", "))
			m.axes = slices.Delete(m.axes, i, i+1)
			return
		}
	}
}

// mentions reports whether a value contains a text.
func mentions(n *node, text string) bool {
	if n == nil {
		return false
	}
	return strings.Contains(n.Text, text) || slices.ContainsFunc(n.List, func(e *node) bool { return mentions(e, text) }) ||
		slices.ContainsFunc(n.Fields, func(f strictyaml.Field) bool { return mentions(f.Value, text) })
}

// matrixTests returns shell commands for the parts of a condition that are about the combination, and the other parts.
func (g *github) matrixTests(e *formula, j *githubJob) (tests []string, rest *formula) {
	if e.op == "&&" {
		left, restLeft := g.matrixTests(e.args[0], j)
		right, restRight := g.matrixTests(e.args[1], j)
		switch {
		case restLeft == nil:
			rest = restRight
		case restRight == nil:
			rest = restLeft
		default:
			rest = &formula{op: "&&", args: []*formula{restLeft, restRight}}
		}
		return append(left, right...), rest
	}
	name, not, value := e, false, &formula{op: "value", kind: "boolean", text: "true"}
	switch {
	case e.op == "!":
		name, not = e.args[0], true
	case (e.op == "==" || e.op == "!=") && e.args[1].op == "value":
		name, not, value = e.args[0], e.op == "!=", e.args[1]
	}
	axis, ok := strings.CutPrefix(strings.ToLower(name.text), "matrix.")
	if name.op != "name" || !ok || !j.matrix.has(axis) {
		return nil, e
	}
	test := "[ \"${" + pawl.MatrixVar(axis) + "-}\" = " + shellwords.Word(value.text) + " ]"
	if not {
		return []string{test + " && exit 0 || true"}, nil
	}
	return []string{test + " || exit 0"}, nil
}
