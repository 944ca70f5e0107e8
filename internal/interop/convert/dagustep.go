package convert

import (
	"path"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/shellwords"
	"pawl/internal/strictyaml"
)

// step converts a step.
func (d *dagu) step(found *daguStep) {
	n := found.body
	s := &step{Step: pawl.Step{ID: found.id, Name: found.name, Needs: d.needs(found), Dir: d.dir}}
	if about := get(n, "description"); about.Scalar() {
		s.Goal = strings.TrimSpace(about.Text)
	}
	if d.gate(n, s) {
		return
	}
	defaults := get(d.root, "defaults")
	for _, f := range n.Fields {
		d.stepKey(snake(f.Name), f, s)
	}
	for _, f := range fieldsOf(defaults) {
		if key := snake(f.Name); get(n, key) == nil && key != "env" {
			d.stepKey(key, f, s)
		}
	}
	var exports []export
	if env := get(n, "env"); env != nil {
		static := map[string]string{}
		for name, value := range d.env {
			static[name] = value
		}
		s.Env = pawl.Env{}
		exports = d.variables(d.entries(env), s.Env, static)
		if len(s.Env) == 0 {
			s.Env = nil
		}
	}
	d.script(n, s, exports, found.leaf)
	d.add(s)
	if approval := get(n, "approval"); approval != nil {
		d.approval(approval, s, found)
	}
}

// stepKey handles the settings of a step.
func (d *dagu) stepKey(key string, f strictyaml.Field, s *step) {
	n := f.Value
	switch key {
	case "name", "id", "description", "depends", "run", "command", "script", "shell", "shell_args", "env", "preconditions", "stdout", "stderr", "approval", "action", "type", "with", "exec":
	case "working_dir":
		if n.Scalar() {
			s.Dir = d.path(n, f.Name, n.Text)
		}
	case "timeout_sec":
		if seconds := numberOf(n); seconds > 0 && seconds < 1e8 {
			s.Timeout = pawl.Duration(time.Duration(seconds) * time.Second)
		}
	case "continue_on":
		d.continueOn(n, s)
	case "retry_policy":
		d.retry(n, s)
	case "repeat_policy":
		d.lost(n, f.Name, "a step does not repeat; write a loop in its script")
	case "output":
		d.lost(n, f.Name, "pawl keeps no variables between steps; write the output to a file, and read it in the later step")
	case "outputs", "output_schema":
		d.lost(n, f.Name, "write the values to a file, and read it in the later step")
	case "parallel", "foreach", "call", "params", "routes", "value", "messages", "llm":
		d.lost(n, f.Name, "pawl runs no other DAGs and has no such steps; write the command, with foreach for several items")
	case "container", "shell_packages":
		d.lost(n, f.Name, "the step does not run in a container; add docker run to the command, or remove this line")
	case "mail_on_error", "signal_on_stop", "log_output", "worker_selector", "dependencies", "tools", "inputs":
		d.note(n, f.Name, "not needed")
	default:
		d.lost(n, f.Name, "unknown key of a step")
	}
}

func (d *dagu) continueOn(n *node, s *step) {
	if n.Scalar() {
		s.mayFail = s.mayFail || n.Text == "failed" || n.Text == "failure"
		return
	}
	for _, f := range n.Fields {
		switch snake(f.Name) {
		case "failure", "failed":
			s.mayFail = s.mayFail || isTrue(f.Value)
		case "skipped", "mark_success":
		default:
			d.lost(f.Value, "continue_on."+f.Name, "a step continues on every error or on none; handle the error in the script")
		}
	}
}

func (d *dagu) retry(n *node, s *step) {
	s.Retry.Attempts = 1
	for _, f := range n.Fields {
		switch snake(f.Name) {
		case "limit":
			if limit := numberOf(f.Value); limit > 0 && limit < 1000 {
				s.Retry.Attempts = limit + 1
			} else if f.Value.Text != "0" {
				d.lost(f.Value, "retry_policy.limit", "%s is not a number", oneLine(f.Value.Text))
			}
		case "interval_sec":
			delay := time.Duration(min(numberOf(f.Value), 1e6)) * time.Second
			if delay > pawl.MaxBackoff {
				d.note(f.Value, "retry_policy.interval_sec", "pawl waits at most %s", pawl.Duration(pawl.MaxBackoff))
			}
			s.Retry.Backoff = pawl.Duration(min(delay, pawl.MaxBackoff))
		case "backoff":
			if f.Value.Text == "false" || f.Value.Text == "1" {
				d.note(f.Value, "retry_policy.backoff", "pawl doubles the delay after each attempt")
			}
		case "max_interval_sec":
		default:
			d.note(f.Value, "retry_policy."+f.Name, "pawl retries after every failure")
		}
	}
	if s.Retry.Attempts == 1 {
		s.Retry = pawl.Retry{}
	}
}

// gate converts a task for a person, and reports whether the step is one.
func (d *dagu) gate(n *node, s *step) bool {
	action := get(n, "action")
	if !action.Scalar() || action.Text != "human.task" {
		return false
	}
	s.Gate = &pawl.GateAction{Type: pawl.HumanAction, Ask: d.question(get(n, "with"), "Is "+string(s.ID)+" done?")}
	s.Dir = ""
	d.add(s)
	return true
}

// question returns what a person is asked.
func (d *dagu) question(n *node, otherwise string) string {
	for _, key := range []string{"prompt", "title", "description", "message"} {
		if text := get(n, key); text.Scalar() && strings.TrimSpace(text.Text) != "" {
			return strings.TrimSpace(text.Text)
		}
	}
	return otherwise
}

// approval adds a gate after a step. What needs the step then needs the gate.
func (d *dagu) approval(n *node, s *step, found *daguStep) {
	for _, f := range n.Fields {
		if key := snake(f.Name); key != "prompt" {
			d.lost(f.Value, "approval."+f.Name, "a person approves or rejects; ask for other values with pawl ask")
		}
	}
	lost := d.pending
	d.pending = nil
	gate := d.add(&step{Step: pawl.Step{ID: d.id(string(s.ID) + "-approval"), Needs: []pawl.StepID{s.ID},
		Gate: &pawl.GateAction{Type: pawl.HumanVerify, Ask: d.question(n, "Approve "+string(s.ID)+"?")}}, lost: lost})
	for _, other := range d.list {
		if other == found {
			other.id = gate.ID
		}
	}
	for name, id := range d.ids {
		if id == s.ID {
			d.ids[name] = gate.ID
		}
	}
}

// script sets the script of a step and its shell.
func (d *dagu) script(n *node, s *step, exports []export, leaf bool) {
	action := firstNode(get(n, "action"), get(n, "type"))
	with := firstNode(get(n, "with"), get(n, "config"))
	run := firstNode(get(n, "run"), get(n, "script"), get(n, "command"))
	if exec := get(n, "exec"); exec != nil {
		run, with = nil, exec
		action = &node{Line: exec.Line, Column: exec.Column, Kind: strictyaml.String, Text: "exec"}
	}
	switch {
	case action.Scalar() && action.Text == "exec" && get(with, "command").Scalar():
		s.Run = d.argv(with)
	case action.Scalar() && action.Text != "command" && action.Text != "shell" || action != nil && !action.Scalar():
		name := oneLine(firstNode(get(action, "type"), action).Text)
		d.lost(action, "action", "%s: pawl has no such action; write the command", name)
		s.Run, s.blank = commented(strings.TrimRight(outline("step", n, ""), "\n")), true
		return
	case run == nil:
		if d.pending == nil {
			d.lost(n, "steps", "the step has no command")
		}
		s.Run, s.blank = commented(strings.TrimRight(outline("step", n, ""), "\n")), true
		return
	default:
		s.Run = d.commands(run, s)
	}
	d.shellOf(n, with, s)
	d.prologue(n, s, exports, leaf)
}

// argv returns the script for a program with arguments.
func (d *dagu) argv(with *node) string {
	words := []string{shellwords.Word(get(with, "command").Text)}
	for _, arg := range texts(get(with, "args")) {
		words = append(words, shellwords.Word(arg.Text))
	}
	return strings.Join(words, " ")
}

// commands returns the script of a command, a list of commands or a text of several lines.
func (d *dagu) commands(run *node, s *step) string {
	if run.Scalar() {
		return d.references(run, "run", run.Text)
	}
	var script strings.Builder
	for _, command := range texts(run) {
		if text := d.references(command, "run", command.Text); changesShell(text) {
			script.WriteString("(" + text + ")\n")
		} else {
			script.WriteString(text + "\n")
		}
	}
	if script.Len() == 0 {
		d.lost(run, "run", "expected a command")
		return "true\n"
	}
	return script.String()
}

// changesShell reports whether a command may change the shell in which later ones run.
func changesShell(command string) bool {
	if strings.Contains(command, "\n") || strings.Contains(command, "#") {
		return false
	}
	for _, part := range strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(";&|()", c) }) {
		words := strings.Fields(part)
		for len(words) > 0 && (words[0] == "{" || words[0] == "!" || words[0] == "then" || words[0] == "do") {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "cd", "pushd", "popd", "export", "set", "unset", "exit", "exec", "source", ".", "shopt", "alias", "umask", "trap":
			return true
		}
		if name, _, assigns := strings.Cut(words[0], "="); assigns && len(words) == 1 && isVariable(name) {
			return true
		}
	}
	return false
}

// shellOf sets the shell of a step.
func (d *dagu) shellOf(n, with *node, s *step) {
	line, _, _ := strings.Cut(s.Run, "\n")
	command := get(n, "command")
	switch own := firstNode(get(with, "shell"), get(n, "shell")); {
	case own != nil:
		d.shell1(own, s, false)
	case get(n, "script") != nil && command.Scalar():
		d.shell1(command, s, false)
	case strings.HasPrefix(line, "#!") && strings.Contains(s.Run, "\n"):
		d.shell1(&node{Line: n.Line, Column: n.Column, Kind: strictyaml.String, Text: strings.TrimPrefix(strings.TrimSpace(line[2:]), "/usr/bin/env ")}, s, false)
		_, s.Run, _ = strings.Cut(s.Run, "\n")
	case d.shell != nil:
		d.shell1(d.shell, s, true)
	}
}

// shell1 sets the shell of a step to a program with arguments. strict adds -e to the shells that dagu starts with it.
func (d *dagu) shell1(n *node, s *step, strict bool) {
	var words []string
	for _, word := range texts(n) {
		words = append(words, strings.Fields(word.Text)...)
	}
	if len(words) == 0 {
		return
	}
	program, args := path.Base(words[0]), strings.Join(words[1:], " ")
	switch {
	case (program == "sh" || program == "dash" || program == "direct") && (args == "" && strict || args == "-e"):
		return
	case program == "bash" && (args == "-eo pipefail" || args == "-e -o pipefail" || args == "-euo pipefail" && false):
		s.Shell = pawl.Bash
	case (program == "python" || program == "python3") && args == "":
		s.Shell = pawl.Python
	case strict && args == "" && (program == "bash" || program == "zsh" || program == "ksh"):
		s.Shell = pawl.Shell(program + " -e {}")
	default:
		s.Shell = pawl.Shell(strings.TrimSpace(program+" "+args) + " {}")
	}
	if err := s.Shell.Check(); err != nil {
		d.lost(n, "shell", "%v", err)
		s.Shell = ""
	}
}

// prologue puts before a script what dagu does before it.
func (d *dagu) prologue(n *node, s *step, exports []export, leaf bool) {
	var before strings.Builder
	for _, stream := range []struct{ key, redirect string }{{"stdout", "exec >"}, {"stderr", "exec 2>"}} {
		switch file := get(n, stream.key); {
		case file.Scalar():
			before.WriteString(stream.redirect + "\"" + strings.ReplaceAll(d.references(file, stream.key, file.Text), `"`, `\"`) + "\"\n")
		case file != nil:
			d.lost(file, stream.key, "redirect the output in the script")
		}
	}
	if d.args > 0 && strings.Contains(s.Run, "$") {
		before.WriteString("set --")
		for i := range d.args {
			before.WriteString(" \"$PAWL_PARAM_ARG" + strconv.Itoa(i+1) + "\"")
		}
		before.WriteString("\n")
	}
	before.WriteString(d.conditions(n, s, leaf))
	all := append(append([]export{}, d.exports...), exports...)
	if text := before.String(); text != "" && !isPOSIX(s.Shell.Or(pawl.DefaultShell)) {
		d.lost(n, "run", "only a shell script can do this: %s", oneLine(text))
		return
	}
	d.setVariables(n, s, all, before.String())
}

// setVariables puts the variables that only a script can set before a script, and what comes after them.
func (d *dagu) setVariables(n *node, s *step, all []export, then string) {
	var before strings.Builder
	for _, e := range all {
		before.WriteString("export " + e.name + "=\"" + e.value + "\"\n")
	}
	if before.Len() > 0 && !isPOSIX(s.Shell.Or(pawl.DefaultShell)) {
		for _, e := range all {
			if strings.Contains(s.Run, e.name) {
				d.lost(n, "env", "only a shell script can set the variable %s", e.name)
				return
			}
		}
		d.note(n, "env", "the step does not get %s; only a shell script can set it", all[0].name)
		before.Reset()
	}
	s.Run = before.String() + then + s.Run
}
