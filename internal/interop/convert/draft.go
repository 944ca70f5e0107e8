package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/strictyaml"
)

// node is a value in the file.
type node = strictyaml.Node

// draft is a plan in the making.
type draft struct {
	file    string
	root    *node
	plan    pawl.Plan
	steps   []*step
	notes   []Note
	told    map[Note]bool
	pending []string // comments for the next step, about what it lacks
	heading []string // comments for the next step
	taken   map[string]bool
}

// step is a step of a draft.
type step struct {
	pawl.Step
	heading []string // comments
	lost    []string // comments about what it lacks
	blank   bool     // it has no command yet
	when    string   // condition
	whenAt  *node    // where the file has it
	mayFail bool     // the run continues if the step fails
	matrix  *matrix  // the step runs once for each combination
}

func newDraft(file string, root *node) *draft {
	return &draft{file: file, root: root, told: map[Note]bool{}, taken: map[string]bool{}}
}

// note says something about a place.
func (d *draft) note(n *node, key, format string, args ...any) {
	d.report(n.Line, n.Column, key, false, fmt.Sprintf(format, args...))
}

// lost says that something is not converted. The next step that is added fails until it is edited.
func (d *draft) lost(n *node, key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.report(n.Line, n.Column, key, true, text)
	d.pending = append(d.pending, fmt.Sprintf("line %d: %s: %s", n.Line, key, text))
}

// aside says that something is not converted that belongs to no step.
func (d *draft) aside(n *node, key, format string, args ...any) {
	d.report(n.Line, n.Column, key, true, fmt.Sprintf(format, args...))
}

func (d *draft) report(line, column int, key string, lost bool, text string) {
	n := Note{Line: max(line, 1), Column: max(column, 1), Key: oneLine(key), Lost: lost, Text: oneLine(text)}
	if !d.told[n] {
		d.told[n] = true
		d.notes = append(d.notes, n)
	}
}

// id returns a free step id for a text.
func (d *draft) id(text string) pawl.StepID {
	slug := slugOf(text)
	id := slug
	for i := 2; d.taken[strings.ToLower(id)]; i++ {
		suffix := fmt.Sprintf("-%d", i)
		id = slug[:min(len(slug), maxID-len(suffix))] + suffix
	}
	d.taken[strings.ToLower(id)] = true
	return pawl.StepID(id)
}

const maxID = 64

// slugOf returns a valid id for a text.
func slugOf(text string) string {
	var slug strings.Builder
	gap := false
	for _, c := range oneLine(text) {
		switch {
		case c < 128 && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '.'):
			if gap && slug.Len() > 0 {
				slug.WriteByte('-')
			}
			gap = false
			slug.WriteRune(c)
		default:
			gap = true
		}
		if slug.Len() >= 40 {
			break
		}
	}
	id := strings.TrimLeft(slug.String()[:min(slug.Len(), maxID)], ".-")
	if id == "" {
		return "step"
	}
	return id
}

// add adds a step with what is pending.
func (d *draft) add(s *step) *step {
	s.heading, s.lost = append(d.heading, s.heading...), append(d.pending, s.lost...)
	d.heading, d.pending = nil, nil
	d.steps = append(d.steps, s)
	return s
}

// finish writes the plan.
func (d *draft) finish(system System) (Result, error) {
	if len(d.steps) == 0 {
		return Result{}, usage("", "%s: this %s has no steps that pawl could run", d.file, system.noun())
	}
	d.commonShell()
	d.settle()
	comments := planfile.Comments{Steps: map[pawl.StepID][]string{}}
	phase := pawl.Phase{Name: d.plan.Name}
	before := []pawl.StepID{}
	for _, s := range d.steps {
		if slices.Equal(s.Needs, before) {
			s.Needs = nil // the default
		} else if s.Needs == nil {
			s.Needs = []pawl.StepID{}
		}
		if s.Name == string(s.ID) {
			s.Name = ""
		}
		s.guard(d.plan.Defaults.Shell)
		comments.Steps[s.ID] = append(comments.Steps[s.ID], s.heading...)
		for _, text := range s.lost {
			comments.Steps[s.ID] = append(comments.Steps[s.ID], "NOT CONVERTED, "+text)
		}
		phase.Steps = append(phase.Steps, s.Step)
		before = []pawl.StepID{s.ID}
	}
	d.plan.Phases = []pawl.Phase{phase}
	return d.result(system, comments)
}

// result writes the plan with its comments.
func (d *draft) result(system System, comments planfile.Comments) (Result, error) {
	slices.SortStableFunc(d.notes, func(a, b Note) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	r := Result{System: system, Name: d.plan.Name, Steps: len(d.steps), Notes: append([]Note{}, d.notes...)}
	for _, n := range d.notes {
		if n.Lost {
			r.Lost++
		}
	}
	comments.Plan = []string{fmt.Sprintf("Converted by pawl plan convert from the %s %s.", system.noun(), oneLine(d.file))}
	if slices.ContainsFunc(d.steps, func(s *step) bool { return len(s.lost) > 0 }) {
		comments.Plan = append(comments.Plan, "Steps with the comment NOT CONVERTED fail until you edit them.")
	}
	var err error
	if r.Plan, err = planfile.WriteCommented(&d.plan, comments); err != nil {
		return Result{}, usage("", "%s: cannot convert this %s: %w", d.file, system.noun(), err)
	}
	return r, nil
}

// commonShell makes the shell that all scripts have the default.
func (d *draft) commonShell() {
	var shells []pawl.Shell
	for _, s := range d.steps {
		if s.Run = strings.TrimRight(s.Run, "\n"); strings.Contains(s.Run, "\n") {
			s.Run += "\n"
		}
		if !s.blank && s.Run != "" && !slices.Contains(shells, s.Shell) {
			shells = append(shells, s.Shell)
		}
	}
	if len(shells) != 1 || shells[0] == "" || !isPOSIX(shells[0]) {
		return
	}
	d.plan.Defaults.Shell = shells[0]
	for _, s := range d.steps {
		s.Shell = ""
	}
}

// guard makes a step that lacks something fail before it does anything.
func (s *step) guard(shell pawl.Shell) {
	const text = "edit this step: pawl plan convert could not convert all of it"
	if len(s.lost) == 0 || s.Run == "" {
		return
	}
	if s.ContinueOnError {
		s.ContinueOnError = false
		s.lost = append(s.lost, "continue_on_error: true, add it once the step is complete")
	}
	switch shell = s.Shell.Or(shell.Or(pawl.DefaultShell)); {
	case isPOSIX(shell):
		s.Run = "echo \"" + text + "\" >&2; exit 1\n" + s.Run
	case shell == pawl.Python:
		s.Run = "raise SystemExit(\"" + text + "\")\n" + s.Run
	default:
		s.Shell = pawl.StrictSh
		s.Run = "echo \"" + text + "\" >&2; exit 1\n" + commented(s.Run)
	}
}

// isPOSIX reports whether a shell runs scripts of sh.
func isPOSIX(shell pawl.Shell) bool {
	switch program, _, _ := strings.Cut(string(shell), " "); program {
	case "sh", "bash", "dash", "ksh", "zsh":
		return true
	}
	return false
}

// commented returns a text as comments of a shell script.
func commented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight("# "+strings.TrimRight(line, "\r\n"), " "))
	}
	return strings.Join(lines, "\n")
}

// outline returns a mapping as lines of text, for comments.
func outline(name string, n *node, indent string) string {
	switch {
	case n.Scalar() && strings.ContainsAny(n.Text, "\n"):
		text := indent + name + ": |\n"
		for line := range strings.Lines(n.Text) {
			text += indent + "  " + strings.TrimRight(line, "\r\n") + "\n"
		}
		return text
	case n.Scalar():
		return indent + name + ": " + n.Text + "\n"
	case n.Kind == strictyaml.List:
		text := indent + name + ":\n"
		for i, element := range n.List {
			if element.Scalar() {
				text += indent + "  - " + oneLine(element.Text) + "\n"
			} else {
				text += outline(fmt.Sprintf("%d", i+1), element, indent+"  ")
			}
		}
		return text
	}
	text := indent + name + ":\n"
	for _, f := range n.Fields {
		text += outline(f.Name, f.Value, indent+"  ")
	}
	return text
}

// placeholder is a step that fails until its command is written. lines are what the file says instead.
func (d *draft) placeholder(id pawl.StepID, name string, needs []pawl.StepID, lines string) *step {
	s := &step{Step: pawl.Step{ID: id, Name: oneLine(name), Needs: needs, Run: commented(lines)}, blank: true}
	if strings.TrimSpace(lines) == "" {
		s.Run = "# write the command here"
	}
	return d.add(s)
}

// texts returns the scalars of a list, or a single scalar.
func texts(n *node) []*node {
	switch {
	case n.Scalar():
		return []*node{n}
	case n != nil && n.Kind == strictyaml.List:
		return slices.DeleteFunc(slices.Clone(n.List), func(e *node) bool { return !e.Scalar() })
	}
	return nil
}

// isTrue reports whether a value is true.
func isTrue(n *node) bool { return n != nil && n.Kind == strictyaml.Bool && n.Text == "true" }
