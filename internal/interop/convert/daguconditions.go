package convert

import (
	"strings"

	"pawl"
	"pawl/internal/shellwords"
	"pawl/internal/strictyaml"
)

// check returns a shell command that checks whether a precondition holds.
func (d *dagu) check(n *node) string {
	condition, expected := n, (*node)(nil)
	if n.Kind == strictyaml.Mapping {
		condition, expected = firstNode(get(n, "condition"), get(n, "eval"), get(n, "command")), get(n, "expected")
	}
	if !condition.Scalar() {
		d.lost(n, "preconditions", "expected a condition")
		return "true"
	}
	text := d.references(condition, "preconditions", strings.TrimSpace(condition.Text))
	command := "{ " + text + "; }"
	if expected.Scalar() {
		if inner, ok := strings.CutPrefix(text, "`"); ok && strings.HasSuffix(inner, "`") && strings.Count(text, "`") == 2 {
			text = "$(" + strings.TrimSuffix(inner, "`") + ")"
		} else if strings.HasPrefix(text, "$(") {
			text = strings.TrimSpace(text)
		} else {
			text = strings.ReplaceAll(text, `"`, `\"`)
		}
		command = "[ \"" + text + "\" = " + shellwords.Word(expected.Text) + " ]"
		if pattern, is := strings.CutPrefix(expected.Text, "re:"); is {
			command = "printf '%s\\n' \"" + text + "\" | grep -Eq " + shellwords.Word(pattern)
		}
	}
	if isTrue(get(n, "negate")) {
		return "! " + command
	}
	return command
}

// conditionsOf returns the preconditions of a DAG or a step.
func conditionsOf(n *node) []*node {
	c := get(n, "preconditions")
	if c != nil && c.Kind == strictyaml.List {
		return c.List
	}
	if c == nil {
		return nil
	}
	return []*node{c}
}

// conditions returns the beginning of a script that ends it if a precondition of the step does not hold.
func (d *dagu) conditions(n *node, s *step, leaf bool) string {
	var script strings.Builder
	for _, c := range conditionsOf(n) {
		if when := d.condition(c); when != "" {
			s.when, s.whenAt = both(s.when, when), c
			if !leaf {
				d.note(c, "preconditions", "the steps that need a skipped one run; in dagu they are skipped too")
			}
			continue
		}
		script.WriteString("if ! { " + d.check(c) + "; }; then echo \"skipped: a precondition does not hold\"; exit 0; fi\n")
		if leaf {
			d.note(c, "preconditions", "the step ends at once, and counts as done, if the command fails")
		} else {
			d.lost(c, "preconditions", "the steps that need this one run even if the command fails; dagu skips them")
		}
	}
	return script.String()
}

// condition returns a precondition as a condition of a plan, "" if it is not about a parameter.
func (d *dagu) condition(n *node) string {
	text, expected := get(n, "condition"), get(n, "expected")
	if !text.Scalar() || !expected.Scalar() || strings.HasPrefix(expected.Text, "re:") {
		return ""
	}
	source := strings.TrimSpace(text.Text)
	length, name := variableAt(source)
	if kind, param, n := referenceAt(source); n == len(source) && kind == "params" {
		length, name = n, param
	}
	param, known := d.names[name]
	if length != len(source) || !known || d.plan.Params[param].Type != "" {
		return ""
	}
	op := " == "
	if isTrue(get(n, "negate")) {
		op = " != "
	}
	return "params." + param + op + quotedExpr(expected.Text)
}

// before adds the steps that come before those of the DAG: its preconditions, and the handler for the start.
func (d *dagu) before() {
	if checks := conditionsOf(d.root); len(checks) > 0 {
		var script strings.Builder
		for _, c := range checks {
			script.WriteString(d.check(c) + "\n")
		}
		s := &step{Step: pawl.Step{ID: d.id("preconditions"), Needs: []pawl.StepID{}, Dir: d.dir, Run: script.String()}}
		d.setVariables(checks[0], s, d.exports, "")
		d.setup = []pawl.StepID{d.add(s).ID}
		d.note(checks[0], "preconditions", "the run fails if a precondition does not hold")
	}
	if init := get(get(d.root, "handler_on"), "init"); init != nil {
		s := &daguStep{body: init, id: d.id("init"), name: "", group: -1}
		d.step(s)
		d.setup = []pawl.StepID{s.id}
	}
}

// handlers converts the handlers for the end of the run.
func (d *dagu) handlers() {
	for _, f := range fieldsOf(get(d.root, "handler_on")) {
		event := snake(f.Name)
		if event == "init" {
			continue
		}
		script := d.handler(f.Value)
		switch {
		case script != "" && (event == "success" || event == "failure" || event == "exit"):
			d.addHandler(event, script)
		default:
			d.aside(f.Value, "handler_on."+f.Name, "add a step for it, or write a command under on_success or on_failure")
		}
	}
	if d.pending != nil {
		d.placeholder(d.id("edit"), "", nil, "")
	}
}

// handler returns the script of a handler, "" if it is not a command.
func (d *dagu) handler(n *node) string {
	run := firstNode(get(n, "run"), get(n, "command"), get(n, "script"))
	if run == nil || get(n, "action") != nil || get(n, "type") != nil {
		return ""
	}
	return d.commands(run, &step{})
}
