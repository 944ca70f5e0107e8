package convert

import (
	"slices"
	"strings"

	"pawl/internal/strictyaml"
)

// matrix is a list of combinations of values.
type matrix struct {
	axes     []axis
	exclude  []map[string]string
	include  []map[string]string
	parallel int
}

// axis is a name with its values.
type axis struct {
	name   string
	values []string
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
		for key := range extra {
			if strings.EqualFold(key, name) {
				return true
			}
		}
	}
	return false
}

// matrixVar returns the variable in which a step gets a value of its combination.
func matrixVar(name string) string { return "PAWL_MATRIX_" + strings.ToUpper(paramName(name)) }

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
			g.lost(f.Value, "strategy.matrix."+f.Name, "only a list of texts and numbers is converted")
			return
		default:
			m.axes = append(m.axes, axis{f.Name, values})
		}
	}
	if max := strategy.Get("max-parallel"); max.Scalar() {
		m.parallel = numberOf(max)
	}
	g.dropMachines(j, m)
	if len(m.axes)+len(m.include) > 0 {
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

func (g *github) combinations(f strictyaml.Field) []map[string]string {
	var all []map[string]string
	for _, element := range f.Value.List {
		one := map[string]string{}
		for _, field := range element.Fields {
			if !field.Value.Scalar() || strings.Contains(field.Value.Text, "${{") {
				g.lost(element, "strategy.matrix."+f.Name, "only texts and numbers are converted")
				return nil
			}
			one[field.Name] = field.Value.Text
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
		if !runsOn.Scalar() || !strings.Contains(runsOn.Text, name) || slices.ContainsFunc(slices.Concat(m.include, m.exclude), func(one map[string]string) bool { _, has := one[a.name]; return has }) {
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
