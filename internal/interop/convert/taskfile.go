package convert

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// taskfile converts a task of a Taskfile with the tasks that it needs and calls.
type taskfile struct {
	*draft
	tasks   map[string]strictyaml.Field // by name and by alias
	globals scope
	exports []variable // variables of the environment that only a script can set
	made    map[string][]pawl.StepID
	calling []string
	calls   int
}

// maxCalls limits the calls of tasks that are converted.
const maxCalls = 1000

func (t *taskfile) convert(job string) error {
	if version := t.root.Get("version"); version.Scalar() && !strings.HasPrefix(version.Text, "3") {
		return usage("", "%s:%d:%d: version %s of Taskfiles is not supported; expected 3", t.file, version.Line, version.Column, version.Text)
	}
	if err := t.findTasks(); err != nil {
		return err
	}
	if job == "" {
		job = "default"
	}
	f, known := t.tasks[job]
	if !known {
		return usage("pawl plan convert --job TASK "+t.file, "%s: unknown task %q; %s", t.file, job, strictyaml.DidYouMean(job, t.taskNames()))
	}
	t.plan.Name = job
	if job == "default" {
		t.plan.Name = nameOf(t.file, nil)
	}
	t.made, t.globals = map[string][]pawl.StepID{}, scope{}
	for _, f := range t.root.Fields {
		t.topKey(f)
	}
	t.environment()
	t.globals.add(t, t.root.Get("vars"), true)
	t.call(f.Name, &node{Line: f.Line, Column: f.Column}, scope{}, []pawl.StepID{})
	if t.pending != nil && len(t.steps) > 0 {
		t.placeholder(t.id("edit"), "", []pawl.StepID{t.steps[len(t.steps)-1].ID}, "")
	}
	if t.calls > maxCalls {
		return usage("", "%s: task %s leads to more than %d calls of tasks", t.file, job, maxCalls)
	}
	return nil
}

// findTasks finds the tasks and their aliases.
func (t *taskfile) findTasks() error {
	tasks := t.root.Get("tasks")
	if tasks == nil || tasks.Kind != strictyaml.Mapping {
		return usage("", "%s: a Taskfile needs tasks", t.file)
	}
	t.tasks = map[string]strictyaml.Field{}
	for _, f := range tasks.Fields {
		t.tasks[f.Name] = f
	}
	for _, f := range tasks.Fields {
		for _, alias := range texts(f.Value.Get("aliases")) {
			if _, taken := t.tasks[alias.Text]; !taken {
				t.tasks[alias.Text] = f
			}
		}
	}
	return nil
}

func (t *taskfile) taskNames() []string {
	var names []string
	for name := range t.tasks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (t *taskfile) topKey(f strictyaml.Field) {
	switch f.Name {
	case "version", "tasks", "vars", "env", "set", "shopt", "silent", "output":
	case "dotenv":
		for _, file := range texts(f.Value) {
			if path, ok := plainPath(file.Text); ok && path != "" {
				t.plan.Dotenv = append(t.plan.Dotenv, path)
				t.note(file, f.Name, "a missing file is an error")
			} else {
				t.aside(file, f.Name, "%s is not a path inside the project", file.Text)
			}
		}
	case "includes":
		for _, include := range f.Value.Fields {
			t.report(include.Line, include.Column, "includes."+include.Name, false, "pawl reads one file; convert the included one too if its tasks are called")
		}
	case "method", "run", "interval":
		t.note(f.Value, f.Name, "not needed: a finished step runs again if its inputs or its definition change")
	default:
		t.aside(f.Value, f.Name, "unknown key of a Taskfile")
	}
}

// environment converts the variables of the environment of all tasks. Templates may use them too.
func (t *taskfile) environment() {
	env := pawl.Env{}
	for _, f := range fieldsOf(t.root.Get("env")) {
		v, ok := t.globals.value(t, f, false)
		switch {
		case !ok:
		case !isVariable(f.Name):
			t.report(f.Line, f.Column, "env."+f.Name, true, "not the name of a variable that a plan may set")
		case v.command == "" && v.runtime && t.envOf(env, v):
			t.globals[f.Name] = v
		case v.command != "" || v.runtime:
			v.export = true
			t.exports = append(t.exports, v)
		default:
			env[f.Name] = pawl.Variable{Value: strings.ReplaceAll(v.text, "$", "$$")}
			t.globals[f.Name] = v
		}
	}
	if len(env) > 0 {
		t.plan.Env = env
	}
}

// envOf puts a variable into an environment, and reports whether a plan can have its value.
func (t *taskfile) envOf(env pawl.Env, v variable) bool {
	value, ok := t.inPlan(v.text)
	if ok {
		env[v.name] = pawl.Variable{Value: value}
	}
	return ok
}

// call converts a call of a task after the steps in needs, and returns the steps after which it has ended.
func (t *taskfile) call(name string, at *node, vars scope, needs []pawl.StepID) []pawl.StepID {
	if t.calls++; t.calls > maxCalls {
		return needs
	}
	f, known := t.tasks[strings.TrimPrefix(name, ":")]
	if !known {
		t.lost(at, "task", "unknown task %q; convert the included Taskfile, and copy its steps here", name)
		s := t.placeholder(t.id(name), "", needs, "task: "+name)
		return []pawl.StepID{s.ID}
	}
	key := f.Name + "\x00" + vars.key()
	if ends, made := t.made[key]; made {
		return unique(append(append([]pawl.StepID{}, ends...), needs...))
	}
	if slices.Contains(t.calling, f.Name) {
		t.lost(at, "task", "task %q calls itself", f.Name)
		return needs
	}
	t.calling = append(t.calling, f.Name)
	defer func() { t.calling = t.calling[:len(t.calling)-1] }()
	b := &taskBuilder{taskfile: t, field: f, body: taskBody(f.Value), needs: needs, vars: t.globals.with(vars)}
	b.vars["TASK"] = variable{name: "TASK", text: f.Name, hasPath: true, path: f.Name}
	b.idText = strings.ReplaceAll(f.Name, ":", "-") + vars.suffix()
	ends := b.build()
	t.made[key] = ends
	return ends
}

// taskBody returns a task in its long form.
func taskBody(n *node) *node {
	if n.Kind == strictyaml.Mapping {
		return n
	}
	return &node{Line: n.Line, Column: n.Column, Kind: strictyaml.Mapping,
		Fields: []strictyaml.Field{{Name: "cmds", Line: n.Line, Column: n.Column, Value: n}}}
}

// taskBuilder makes the steps of one call of a task.
type taskBuilder struct {
	*taskfile
	field  strictyaml.Field
	body   *node
	idText string
	vars   scope
	needs  []pawl.StepID
	dir    string
	strict bool // bash is needed
	pipes  bool // set -o pipefail
	made   []*step

	script  strings.Builder
	options strings.Builder // set and shopt
	cleanup []string        // deferred commands
	used    []variable      // variables that the script needs, in order
	foreach []string
}

// build converts the task, and returns the steps after which it has ended.
func (b *taskBuilder) build() []pawl.StepID {
	for _, f := range b.body.Fields {
		b.key(f)
	}
	b.requires()
	b.vars.add(b.taskfile, b.body.Get("vars"), false)
	if dir := b.body.Get("dir"); dir.Scalar() {
		if text, ok := b.vars.path(b.taskfile, dir.Text); ok {
			b.dir = b.path(dir, "dir", text)
		} else {
			b.lost(dir, "dir", "%s is known only while the task runs", dir.Text)
		}
	}
	b.prompt()
	b.deps()
	b.shellOptions()
	b.commands()
	b.flush(true)
	return b.needs
}

// key handles the keys of a task that need no more than a word.
func (b *taskBuilder) key(f strictyaml.Field) {
	at := "tasks." + b.field.Name + "." + f.Name
	switch f.Name {
	case "cmds", "cmd", "deps", "vars", "env", "dir", "desc", "summary", "sources", "generates", "status", "preconditions", "if", "requires", "prompt",
		"dotenv", "set", "shopt", "platforms", "aliases", "label", "internal", "silent", "ignore_error", "prefix", "run":
	case "method", "use_gitignore", "failfast", "watch":
		b.note(f.Value, at, "not needed")
	case "interactive":
		if isTrue(f.Value) {
			b.note(f.Value, at, "a step has no terminal; use a gate for a question to a person")
		}
	default:
		b.lost(f.Value, at, "unknown key of a task")
	}
}

// requires makes parameters of variables that the caller has to set.
func (b *taskBuilder) requires() {
	for _, n := range listOf(b.body.Get("requires").Get("vars")) {
		name, p := n, pawl.Parameter{Required: true}
		if n.Kind == strictyaml.Mapping {
			name = orEmpty(n.Get("name"))
			for _, option := range texts(n.Get("enum")) {
				p.Type, p.Options = pawl.EnumParam, append(p.Options, option.Text)
			}
		}
		if _, set := b.vars[name.Text]; set || !name.Scalar() || name.Text == "" {
			continue
		}
		b.vars[name.Text] = b.paramVariable(strictyaml.Field{Name: name.Text, Line: n.Line, Column: n.Column}, p)
	}
}

// paramVariable adds a parameter, and returns the variable that stands for it.
func (t *taskfile) paramVariable(f strictyaml.Field, p pawl.Parameter) variable {
	param := t.param(f, p)
	v := variable{name: f.Name, text: "${" + pawl.ParamVar(param) + "}", runtime: true}
	if p.Default != nil {
		v.path, v.hasPath = string(*p.Default), true
	}
	return v
}

// prompt makes gates of the questions of a task.
func (b *taskBuilder) prompt() {
	for _, n := range texts(b.body.Get("prompt")) {
		s := b.add(&step{Step: pawl.Step{ID: b.id(b.idText + "-prompt"), Needs: b.needs, Gate: &pawl.GateAction{Type: pawl.HumanVerify, Ask: strings.TrimSpace(n.Text)}}})
		if s.Gate.Ask == "" {
			s.Gate.Ask = "Run " + b.field.Name + "?"
		}
		b.needs = []pawl.StepID{s.ID}
	}
}

// deps converts the tasks that run before, at the same time.
func (b *taskBuilder) deps() {
	var ends []pawl.StepID
	before := b.needs
	for _, n := range listOf(b.body.Get("deps")) {
		for _, c := range b.loop(n) {
			switch name := orEmpty(n.Get("task")); {
			case n.Scalar():
				ends = append(ends, b.callOf(n, n, nil, c, before)...)
			case name.Scalar() && name.Text != "":
				ends = append(ends, b.callOf(n, name, n.Get("vars"), c, before)...)
			default:
				b.lost(n, "deps", "expected a task")
			}
		}
	}
	if len(ends) > 0 {
		b.needs = unique(ends)
	}
}

// callOf converts a call with variables.
func (b *taskBuilder) callOf(at, name, vars *node, with scope, needs []pawl.StepID) []pawl.StepID {
	own := b.vars.with(with)
	text, ok := own.path(b.taskfile, name.Text)
	if !ok {
		b.lost(at, "task", "%s is known only while the task runs", name.Text)
		return needs
	}
	given := scope{}
	for _, f := range fieldsOf(vars) {
		v, ok := own.value(b.taskfile, f, false)
		if v.command != "" || !ok || slices.ContainsFunc(own.dynamicIn(f.Value), func(d variable) bool { return d.command != "" }) {
			b.lost(f.Value, "vars."+f.Name, "only fixed values are passed to a task")
			continue
		}
		given[f.Name] = v
	}
	return b.taskfile.call(text, at, given, needs)
}

// flush makes a step of the commands so far. last is whether they are the last ones of the task.
func (b *taskBuilder) flush(last bool) {
	if strings.TrimSpace(b.script.String()) == "" && b.pending == nil {
		return
	}
	s := &step{Step: pawl.Step{ID: b.id(b.idText), Needs: b.needs, Dir: b.dir}}
	if about := b.body.Get("desc"); about.Scalar() {
		s.Name = oneLine(about.Text)
	}
	if about := b.body.Get("summary"); about.Scalar() {
		s.Goal = strings.TrimSpace(about.Text)
	}
	b.files(s, last)
	env := b.environmentOf(s)
	script := b.beginning() + b.script.String()
	if strings.TrimSpace(b.script.String()) == "" {
		script += "true\n"
	}
	s.Run = b.options.String() + b.definitions(env) + script
	switch {
	case b.pipes:
		s.Shell = pawl.Bash
	case b.strict || bashOnly(s.Run):
		s.Shell = githubShell
	}
	if len(b.foreach) > 0 {
		s.Foreach, s.Parallel = &pawl.Foreach{Items: b.foreach}, 1
	}
	b.add(s)
	b.made = append(b.made, s)
	b.needs = []pawl.StepID{s.ID}
	b.script.Reset()
	b.cleanup, b.used, b.foreach = nil, nil, nil
}

// bashOnly reports whether a script has what only bash understands.
func bashOnly(script string) bool {
	for _, mark := range []string{"[[", "<<<", "source ", "<(", ">(", "&>", "=(", "pushd ", "popd", "declare ", "shopt ", "pipefail", "$'"} {
		if strings.Contains(script, mark) {
			return true
		}
	}
	return false
}

// definitions returns the commands that set the variables of a script.
func (b *taskBuilder) definitions(env []variable) string {
	var text strings.Builder
	for _, v := range slices.Concat(b.used, b.exports, env) {
		value := v.text
		if v.command != "" {
			value = "$(" + v.command + ")"
			if v.global && b.dir != "" {
				value = "$(cd \"$PAWL_PROJECT\" && " + v.command + ")"
			}
		}
		if v.export {
			text.WriteString("export ")
		}
		fmt.Fprintf(&text, "%s=\"%s\"\n", v.name, value)
	}
	return text.String()
}
