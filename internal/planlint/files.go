package planlint

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/outputs"
	"pawl/internal/strictyaml"
)

// Files returns warnings about files that a plan reads, as [*strictyaml.Faults], nil if there are none: those that are not in the
// project and that no earlier step makes, and items whose changes no input covers. Paths are relative to root.
func Files(name string, plan *pawl.Plan, file *strictyaml.File, root string) error {
	l := fileLinter{linter{file.Without()}, plan, root}
	for i := range plan.Phases {
		for j := range plan.Phases[i].Steps {
			l.step(i, &plan.Phases[i].Steps[j])
		}
	}
	return l.Err(name)
}

type fileLinter struct {
	linter
	plan *pawl.Plan
	root string
}

func (l *fileLinter) step(phase int, step *pawl.Step) {
	for i := range step.Inputs {
		if input := step.Inputs[i]; l.missing(input) {
			l.warn(phase, step, &step.Inputs[i], input, "input "+input+" does not exist", "the step fails")
		}
	}
	f := step.Foreach
	if f == nil {
		return
	}
	if l.plan.MissesItemFiles(step) {
		l.Errorf(&f.Files, "files: pawl run --update does not see changes in the files of the items; add %s", pawl.ItemInput)
	}
	for _, match := range l.unreadable(f.Files) {
		l.Errorf(&f.Files, "files: the name of %s is not UTF-8; the step fails until it is renamed", match)
	}
	if l.missing(f.Lines) {
		l.warn(phase, step, &f.Lines, f.Lines, "lines: "+f.Lines+" does not exist", "the step fails")
	}
	if l.missing(f.Files) {
		then := "the step has no items and is done"
		if f.Empty == pawl.EmptyFails {
			then = "the step fails"
		}
		l.warn(phase, step, &f.Files, f.Files, "files: "+f.Files+" matches no file", then)
	}
}

// missing reports whether a path or pattern has no match. What cannot be read, or depends on an item, counts as existing.
func (l *fileLinter) missing(declared string) bool {
	if declared == "" || strings.Contains(declared, "$") {
		return false
	}
	matches, err := outputs.Matches(l.root, declared)
	return err == nil && len(matches) == 0
}

// unreadable returns the quoted matches of a pattern that cannot be items.
func (l *fileLinter) unreadable(pattern string) (names []string) {
	if pattern == "" {
		return nil
	}
	matches, err := outputs.Matches(l.root, pattern)
	if err != nil {
		return nil
	}
	for _, match := range matches {
		if !utf8.ValidString(match) {
			names = append(names, strconv.Quote(match))
		}
	}
	return names
}

// warn warns about a missing file unless a step makes it that has ended by then.
func (l *fileLinter) warn(phase int, step *pawl.Step, at any, declared, what, then string) {
	before := l.before(phase, step)
	for _, other := range l.plan.Steps() {
		if other.ID == step.ID || !other.Makes(declared) {
			continue
		}
		if !before[other.ID] {
			l.Errorf(at, "%s, and step %q, which makes it, may not have ended by then; add it to \"needs\"", what, other.ID)
		}
		return
	}
	l.Errorf(at, "%s, and no earlier step has it in \"outputs\"; %s unless it exists by then", what, then)
}

// before returns the steps that have ended before a step of a phase starts.
func (l *fileLinter) before(phase int, step *pawl.Step) map[pawl.StepID]bool {
	before := map[pawl.StepID]bool{}
	for _, earlier := range l.plan.Phases[:phase] {
		for i := range earlier.Steps {
			before[earlier.Steps[i].ID] = true
		}
	}
	todo := step.Needs
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		if before[id] {
			continue
		}
		before[id] = true
		if need := l.plan.Step(id); need != nil {
			todo = append(todo[:len(todo):len(todo)], need.Needs...)
		}
	}
	return before
}
