package planlint

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/lazyregexp"
	"pawl/internal/strictyaml"
)

// Variables returns warnings about variables of pawl that scripts and prompts read and that are never set, as [*strictyaml.Faults],
// nil if there are none.
func Variables(name string, plan *pawl.Plan, file *strictyaml.File) error {
	l := variableLinter{linter: linter{file.Without()}, plan: plan}
	for _, param := range plan.ParamNames() {
		l.params = append(l.params, pawl.ParamVar(param))
	}
	for _, step := range plan.Steps() {
		shell := step.Shell.Or(pawl.DefaultShell)
		l.items = step.Foreach != nil
		l.script(&step.Run, "run", step.Run, shell)
		l.script(&step.Undo, "undo", step.Undo, shell)
		if step.Service != nil {
			l.script(&step.Service.Ready, "ready", step.Service.Ready, shell)
		}
		for _, check := range slices.Sorted(maps.Keys(step.Accept)) {
			l.script(strictyaml.Entry{Of: &step.Accept, Key: check}, "check "+check, step.Accept[check], shell)
		}
		if step.Agent != nil {
			l.text(&step.Agent.Prompt, "prompt", step.Agent.Prompt)
		}
	}
	l.items = false
	for _, h := range plan.Handlers() {
		at := any(plan.OnSuccess)
		if h.ID == pawl.OnFailure {
			at = plan.OnFailure
		}
		l.script(at, string(h.ID), h.Run, h.Shell.Or(pawl.DefaultShell))
	}
	return l.Err(name)
}

type variableLinter struct {
	linter
	plan   *pawl.Plan
	params []string // the variables of the parameters
	items  bool     // the step has items
}

// reference is a variable of pawl in a script for a POSIX shell.
var reference = lazyregexp.New(`\$\{?(PAWL_[A-Za-z0-9_]+)`)

// set are the variables that pawl sets, except for those of parameters and of a matrix.
var set = []string{
	"PAWL_ATTEMPT", "PAWL_ATTEMPT_DIR", "PAWL_BRIEFED", "PAWL_EVENTS", "PAWL_FAILED_STEPS", "PAWL_ITEM", "PAWL_ITEM_ID", "PAWL_KEY", "PAWL_OUT", "PAWL_PROJECT",
	"PAWL_PROMPT", "PAWL_RESULT", "PAWL_RESUME", "PAWL_RUN", "PAWL_RUN_STATUS", "PAWL_RUN_WHY", "PAWL_SESSION", "PAWL_STATE", "PAWL_STEP",
	"PAWL_TOKEN", "PAWL_UNDO",
}

// ofItems are those of set that only steps with foreach have.
var ofItems = []string{"PAWL_ITEM", "PAWL_ITEM_ID"}

func (l *variableLinter) script(at any, what, script string, shell pawl.Shell) {
	if shell == pawl.PlainSh || shell == pawl.StrictSh || shell == pawl.Bash {
		l.text(at, what, script)
	}
}

// text warns once of each variable that is never set.
func (l *variableLinter) text(at any, what, text string) {
	seen := map[string]bool{}
	for _, found := range reference.FindAllStringSubmatchIndex(text, -1) {
		name := text[found[2]:found[3]]
		if seen[name] || strings.Contains(text, name+"=") { // the script sets it
			continue
		}
		seen[name] = true
		if !l.items && slices.Contains(ofItems, name) && !strings.HasPrefix(text[found[3]:], ":") && !strings.HasPrefix(text[found[3]:], "-") {
			l.ErrorWithin(at, utf8.RuneCountInString(text[:found[0]]), "%s: pawl sets $%s only in steps with foreach", what, name)
		}
		if wrong := l.wrong(name); wrong != "" {
			l.ErrorWithin(at, utf8.RuneCountInString(text[:found[0]]), "%s: %s", what, wrong)
		}
	}
}

// wrong says what is wrong with the name of a variable; "" if it is known, or may be a variable of the user's.
func (l *variableLinter) wrong(name string) string {
	switch {
	case strings.HasPrefix(name, pawl.MatrixPrefix), slices.Contains(set, name), slices.Contains(l.params, name):
		return ""
	case !strings.HasPrefix(name, pawl.ParamPrefix):
		if near := strictyaml.Nearest(name, append(set[:len(set):len(set)], l.params...)); near != "" {
			return "pawl sets no variable $" + name + "; did you mean $" + near + "?"
		}
		return ""
	}
	text := "no parameter sets $" + name
	if near := strictyaml.Nearest(name, l.params); near != "" {
		return text + "; did you mean $" + near + "?"
	}
	return text + "; add the parameter to params"
}
