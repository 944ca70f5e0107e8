package pawl

import (
	"path"
	"slices"
	"strings"
)

// NamesItem reports whether a declared path differs between items.
func NamesItem(path string) bool {
	return slices.ContainsFunc([]string{"PAWL_ITEM", MatrixPrefix}, func(name string) bool {
		return strings.Contains(path, "$"+name) || strings.Contains(path, "${"+name)
	})
}

// ItemInput is the input to declare for a step whose items are files.
const ItemInput = `inputs: ["$PAWL_ITEM"]`

// MissesItemFiles reports whether the items of a step are files that the plan does not make, and no input covers them. Their content
// is then not part of any key.
func (p *Plan) MissesItemFiles(step *Step) bool {
	if step.Foreach == nil || step.Foreach.Files == "" {
		return false
	}
	covered := func(input string) bool {
		return NamesItem(input) || covers(input, step.Foreach.Files)
	}
	made := func(other *Step) bool { return other.ID != step.ID && other.Makes(step.Foreach.Files) }
	return !slices.ContainsFunc(step.Inputs, covered) && !slices.ContainsFunc(p.Steps(), made)
}

// covers reports whether an input has all files that a pattern matches.
func covers(input, pattern string) bool {
	input, pattern = path.Clean(input), path.Clean(pattern)
	return input == "." || input == pattern || strings.HasPrefix(pattern, input+"/")
}

// Unseen returns which changes `pawl run --update` does not see at a step that it takes for up to date, "" for none. needs are the
// steps that the step waits for.
func (p *Plan) Unseen(step *Step, needs []StepID) string {
	switch {
	case p.MissesItemFiles(step):
		return "does not see changes in the files of its items"
	case step.Gate == nil && len(step.Inputs)+len(needs) == 0:
		return "it has no inputs and no needs"
	}
	return ""
}

// Makes reports whether a step declares a path as an output, a folder of it, or a file that a pattern matches. Outputs with variables
// may be any file in their folder.
func (s *Step) Makes(declared string) bool {
	declared = path.Clean(declared)
	for _, output := range s.Outputs {
		fixed, _, open := strings.Cut(output, "$")
		output = path.Clean(output)
		if open && strings.HasPrefix(declared, fixed) || output == declared || strings.HasPrefix(declared, output+"/") || strings.HasPrefix(output, declared+"/") {
			return true
		}
		for _, pair := range [][2]string{{declared, output}, {output, declared}} {
			if is, err := path.Match(pair[0], pair[1]); err == nil && is {
				return true
			}
		}
	}
	return false
}
