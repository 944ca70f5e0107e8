package planfile

import (
	"slices"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// checkMatrix checks the axes of a foreach step, their exclusions and additions, and the number of combinations.
func (r *reader) checkMatrix(f *pawl.Foreach) {
	before := r.Count()
	if r.Good(&f.Matrix) && len(f.Matrix) == 0 {
		r.Errorf(&f.Matrix, `"matrix" has no axes; add one, such as os: [linux, mac]`)
	}
	if r.Given(&f.Exclude) && !r.Given(&f.Matrix) {
		r.Errorf(&f.Exclude, `"exclude" requires "matrix"; remove it or add "matrix"`)
	}
	known := map[string]string{}
	for i := range f.Matrix {
		axis := &f.Matrix[i]
		r.checkAxisName(axis, axis.Name, known)
		r.checkAxis(axis)
	}
	r.checkExclude(f)
	r.checkInclude(f, known)
	if r.Count() == before && f.HasMatrix() && r.goodAxes(f) && r.checkNumber(f) {
		r.checkCombinations(f)
	}
}

// goodAxes reports whether all values of the axes have the right type.
func (r *reader) goodAxes(f *pawl.Foreach) bool {
	for i := range f.Matrix {
		axis := &f.Matrix[i]
		if !r.Good(&axis.Values) {
			return false
		}
		for j := range axis.Values {
			if !r.Good(&axis.Values[j]) {
				return false
			}
		}
	}
	return true
}

// checkAxisName checks the name of an axis. known has the names so far by their variables.
func (r *reader) checkAxisName(pointer any, name string, known map[string]string) {
	variable := pawl.MatrixVar(name)
	switch other, has := known[variable]; {
	case !isAxisName(name):
		r.Errorf(pointer, "invalid axis name %q: use 1 to 64 letters, digits, '-' or '_', and begin with a letter or '_'", name)
	case has && other != name:
		r.Errorf(pointer, "axes %q and %q have the same variable %s; rename one of them", other, name, variable)
	default:
		known[variable] = name
	}
}

func isAxisName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return name != "" && len(name) <= 64 && strings.ContainsRune(letters, rune(name[0])) && strings.Trim(name, letters+"0123456789-") == ""
}

func (r *reader) checkAxis(axis *pawl.Axis) {
	if r.Good(&axis.Values) && len(axis.Values) == 0 {
		r.Errorf(&axis.Values, "axis %q is empty; add a value or remove the axis", axis.Name)
	}
	seen := make(map[pawl.MatrixValue]int, len(axis.Values))
	for i := range axis.Values {
		value := &axis.Values[i]
		r.checkMatrixValue(value)
		switch line, repeated := seen[*value]; {
		case !r.Good(value):
		case repeated:
			r.Errorf(value, "duplicate value %q of axis %q (first used on line %d)", *value, axis.Name, line)
		default:
			seen[*value] = r.Line(value)
		}
	}
}

func (r *reader) checkMatrixValue(value *pawl.MatrixValue) {
	if r.Good(value) && computed(string(*value)) {
		r.Errorf(value, "a matrix has no expressions; write its values out, or use items")
	}
}

// checkExclude checks that each entry can match a combination.
func (r *reader) checkExclude(f *pawl.Foreach) {
	r.checkEntries(&f.Exclude, f.Exclude, "exclude")
	var names []string
	for _, axis := range f.Matrix {
		names = append(names, axis.Name)
	}
	for i := range f.Exclude {
		for j := range f.Exclude[i] {
			s := &f.Exclude[i][j]
			at := slices.Index(names, s.Axis)
			switch {
			case !r.Given(&f.Matrix) || !r.Good(&f.Matrix):
			case at < 0:
				r.Errorf(s, `unknown axis %q in "exclude"; %s`, s.Axis, strictyaml.DidYouMean(s.Axis, names))
			case r.Good(&s.Value) && !slices.Contains(f.Matrix[at].Values, s.Value):
				r.Errorf(&s.Value, "axis %q has no value %q; %s", s.Axis, s.Value, strictyaml.DidYouMean(string(s.Value), texts(f.Matrix[at].Values)))
			}
		}
	}
}

func (r *reader) checkInclude(f *pawl.Foreach, known map[string]string) {
	r.checkEntries(&f.Include, f.Include, "include")
	if r.Good(&f.Include) && len(f.Include) == 0 {
		r.Errorf(&f.Include, `"include" is empty; add a combination or remove the key`)
	}
	for i := range f.Include {
		for j := range f.Include[i] {
			r.checkAxisName(&f.Include[i][j], f.Include[i][j].Axis, known)
			r.checkMatrixValue(&f.Include[i][j].Value)
		}
	}
}

func (r *reader) checkEntries(pointer any, entries []pawl.Combination, key string) {
	if len(entries) > pawl.MaxMatrixEntries {
		r.Errorf(pointer, "%q has %d entries; the maximum is %d", key, len(entries), pawl.MaxMatrixEntries)
		return
	}
	for i := range entries {
		if r.Good(&entries[i]) && len(entries[i]) == 0 {
			r.Errorf(&entries[i], "an entry of %q is empty; write {AXIS: VALUE}", key)
		}
	}
}

// checkNumber checks that there are not too many combinations, before they are made.
func (r *reader) checkNumber(f *pawl.Foreach) bool {
	number := 1
	for _, axis := range f.Matrix {
		number *= len(axis.Values)
		if number > pawl.MaxCombinations {
			r.Errorf(&f.Matrix, "the matrix has more than %d combinations; remove values, or split the step", pawl.MaxCombinations)
			return false
		}
	}
	return true
}

// checkCombinations checks the items of the matrix.
func (r *reader) checkCombinations(f *pawl.Foreach) {
	at := any(&f.Matrix)
	if !r.Given(at) {
		at = &f.Include
	}
	all := f.Combinations()
	if len(all) == 0 {
		r.Errorf(&f.Exclude, `"exclude" removes all combinations; remove an entry, or remove the step`)
	}
	if len(all) > pawl.MaxCombinations {
		r.Errorf(at, "the matrix has more than %d combinations; remove values, or split the step", pawl.MaxCombinations)
	}
	seen := make(map[string]bool, len(all))
	for _, c := range all {
		item := c.Item()
		switch {
		case len(item) > pawl.MaxItemValue:
			r.Errorf(at, "the combination %.40q… has %d bytes; the maximum is %d", item, len(item), pawl.MaxItemValue)
			return
		case seen[item]:
			r.Errorf(at, `"include" has the combination %q twice; remove one of them`, item)
			return
		}
		seen[item] = true
	}
}

// checkMatrixPaths checks that paths name only axes of every combination, and that no two items have the same output.
func (r *reader) checkMatrixPaths(s *pawl.Step) {
	if !s.Foreach.HasMatrix() || !r.goodAxes(s.Foreach) {
		return
	}
	all := s.Foreach.Combinations()
	vars := make([]map[string]string, len(all))
	for i, c := range all {
		vars[i] = c.Vars()
		vars[i]["PAWL_ITEM"], vars[i]["PAWL_ITEM_ID"] = c.Item(), c.Item()
	}
	for i := range s.Inputs {
		r.checkMatrixPath(&s.Inputs[i], all, vars)
	}
	for i := range s.Outputs {
		output := &s.Outputs[i]
		if !r.Good(output) || !r.checkMatrixPath(output, all, vars) || !namesItem(*output) {
			continue
		}
		seen := make(map[string]int, len(all))
		for j := range all {
			path := pawl.Expand(*output, vars[j])
			if first, twice := seen[path]; twice {
				r.Errorf(output, "output %q is the same for items %q and %q; add $PAWL_ITEM or the variables of the other axes to it",
					*output, all[first].Item(), all[j].Item())
				break
			}
			seen[path] = j
		}
	}
}

// checkMatrixPath checks that each combination has the axes that a path names.
func (r *reader) checkMatrixPath(path *string, all []pawl.Combination, vars []map[string]string) bool {
	if !strings.Contains(*path, pawl.MatrixPrefix) {
		return true
	}
	for i, c := range all {
		rest := pawl.Expand(*path, vars[i])
		for _, mark := range []string{"$" + pawl.MatrixPrefix, "${" + pawl.MatrixPrefix} {
			if _, name, left := strings.Cut(rest, mark); left {
				name = pawl.MatrixPrefix + name[:len(name)-len(strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))]
				r.Errorf(path, "item %q has no variable %s; it has %s", c.Item(), name, variables(c))
				return false
			}
		}
	}
	return true
}

func variables(c pawl.Combination) string {
	var names []string
	for _, s := range c {
		names = append(names, pawl.MatrixVar(s.Axis))
	}
	return strings.Join(names, ", ")
}

func texts(values []pawl.MatrixValue) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}
