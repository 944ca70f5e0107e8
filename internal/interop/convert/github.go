package convert

import (
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// github converts a workflow of GitHub Actions.
type github struct {
	*draft
	jobs   []*githubJob
	inputs map[string]string // name of an input → name of the parameter
	env    map[string]string // static variables of the workflow
	shell  *node             // of defaults
	dir    *node
	tests  []string // commands that end the script of a step for combinations that its condition excludes
}

// githubJob is a job of a workflow.
type githubJob struct {
	name    string
	key     strictyaml.Field
	body    *node
	needs   []string
	ends    []pawl.StepID // the steps after which a job that needs this one begins
	all     []pawl.StepID
	steps   map[string]pawl.StepID // by GitHub's id
	outputs map[pawl.StepID]bool   // steps that write outputs
	env     map[string]string      // static variables
	export  []export               // variables that scripts have to set
	when    string                 // condition
	status  bool                   // the condition asks for the status of other jobs
	unknown bool                   // the condition is not converted, so whether the job runs is unknown
	unsure  bool                   // a condition of it, or of a job that it needs, is not converted
	system  string                 // runner.os
	matrix  *matrix
	shell   *node
	dir     *node
	prefix  string
}

// export is a variable whose value only a script can set.
type export struct{ name, value string }

func (g *github) convert(only string) error {
	if err := g.findJobs(only); err != nil {
		return err
	}
	g.plan.Name = nameOf(g.file, g.root.Get("name"))
	g.inputs = map[string]string{}
	for _, f := range g.root.Fields {
		g.topKey(f)
	}
	g.env = g.planEnv(g.root.Get("env"), nil)
	for _, j := range g.jobs {
		g.job(j)
	}
	if g.pending != nil { // of a job without steps
		g.placeholder(g.id("edit"), "", nil, "")
	}
	g.sideBySide()
	return nil
}

// findJobs finds the jobs to convert, in an order in which each comes after those that it needs.
func (g *github) findJobs(only string) error {
	jobs := g.root.Get("jobs")
	if jobs == nil || jobs.Kind != strictyaml.Mapping || len(jobs.Fields) == 0 {
		return usage("", "%s: a workflow needs jobs", g.file)
	}
	byName := map[string]*githubJob{}
	var names []string
	for _, f := range jobs.Fields {
		j := &githubJob{name: f.Name, key: f, body: f.Value, steps: map[string]pawl.StepID{}, outputs: map[pawl.StepID]bool{}}
		for _, need := range texts(f.Value.Get("needs")) {
			j.needs = append(j.needs, need.Text)
		}
		byName[f.Name] = j
		names = append(names, f.Name)
	}
	if only != "" && byName[only] == nil {
		return usage("", "%s: unknown job %q; %s", g.file, only, strictyaml.DidYouMean(only, names))
	}
	begun, done := map[string]bool{}, map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		j := byName[name]
		if done[name] {
			return nil
		}
		if begun[name] {
			return usage("", "%s:%d:%d: job %q needs itself", g.file, j.key.Line, j.key.Column, name)
		}
		begun[name] = true
		for _, need := range j.needs {
			if byName[need] == nil {
				return usage("", "%s:%d:%d: job %q needs unknown job %q", g.file, j.key.Line, j.key.Column, name, need)
			}
			if err := visit(need); err != nil {
				return err
			}
		}
		done[name] = true
		g.jobs = append(g.jobs, j)
		return nil
	}
	for _, name := range names {
		if only == "" || name == only {
			if err := visit(name); err != nil {
				return err
			}
		}
	}
	if len(g.jobs) > 1 {
		for _, j := range g.jobs {
			j.prefix = slugOf(j.name)[:min(len(slugOf(j.name)), 24)] + "."
		}
	}
	return nil
}

// sideBySide notes jobs that may run at the same time, because they share a folder.
func (g *github) sideBySide() {
	for i, j := range g.jobs[1:] {
		if !slices.Contains(j.needs, g.jobs[i].name) {
			g.report(j.key.Line, j.key.Column, "jobs", false, "jobs that do not need each other run at the same time, in the same folder")
			return
		}
	}
}

// topKey handles a key of the workflow.
func (g *github) topKey(f strictyaml.Field) {
	switch f.Name {
	case "name", "jobs", "env":
	case "on", "true":
		g.triggers(f.Value)
	case "defaults":
		g.shell, g.dir = g.defaults(f.Value)
	case "run-name":
		g.note(f.Value, f.Name, "not needed: a run is named after the plan")
	case "permissions":
		g.note(f.Value, f.Name, "not needed: steps have your own permissions")
	case "concurrency":
		g.note(f.Value, f.Name, "not needed: pawl runs one run of a project at a time")
	default:
		g.aside(f.Value, f.Name, "unknown key of a workflow")
	}
}

// defaults returns the shell and the folder in "defaults".
func (g *github) defaults(n *node) (shell, dir *node) {
	for _, f := range n.Fields {
		if f.Name != "run" {
			g.aside(f.Value, "defaults."+f.Name, "unknown key")
		}
	}
	return n.Get("run").Get("shell"), n.Get("run").Get("working-directory")
}

func (g *github) triggers(n *node) {
	var events []string
	for _, e := range texts(n) {
		events = append(events, e.Text)
	}
	for _, f := range n.Fields {
		switch f.Name {
		case "workflow_dispatch", "workflow_call":
			g.params(f.Value.Get("inputs"))
			for _, secret := range fieldsOf(f.Value.Get("secrets")) {
				g.note(&node{Line: secret.Line, Column: secret.Column}, "secrets."+secret.Name, "set the variable %s in the environment of pawl run", secret.Name)
			}
		case "schedule":
			for _, element := range f.Value.List {
				if cron := element.Get("cron"); cron.Scalar() {
					g.note(cron, "schedule", "a plan has no schedule; install one: pawl run --schedule %q --install", cron.Text)
				}
			}
		default:
			events = append(events, f.Name)
		}
	}
	if events = slices.DeleteFunc(events, func(e string) bool { return e == "workflow_dispatch" || e == "workflow_call" }); len(events) > 0 {
		g.note(n, "on", "a run starts with pawl run, not on %s", strings.Join(events, ", "))
	}
}

// fieldsOf returns the fields of a mapping, none of anything else.
func fieldsOf(n *node) []strictyaml.Field {
	if n == nil {
		return nil
	}
	return n.Fields
}

// params makes parameters of inputs.
func (g *github) params(inputs *node) {
	for _, f := range fieldsOf(inputs) {
		p := pawl.Parameter{Required: isTrue(f.Value.Get("required"))}
		if about := f.Value.Get("description"); about.Scalar() {
			p.Description = oneLine(about.Text)
		}
		switch kind := f.Value.Get("type"); {
		case !kind.Scalar() || kind.Text == "string" || kind.Text == "environment":
		case kind.Text == "boolean":
			p.Type = pawl.BoolParam
		case kind.Text == "number":
			p.Type = pawl.NumberParam
		case kind.Text == "choice":
			p.Type = pawl.EnumParam
		default:
			g.aside(kind, "inputs."+f.Name, "unknown type %s", kind.Text)
		}
		for _, option := range texts(f.Value.Get("options")) {
			p.Options = append(p.Options, option.Text)
		}
		if value := f.Value.Get("default"); value.Scalar() {
			p.Default, p.Required = paramValue(value.Text), false
		}
		g.inputs[f.Name] = g.param(f, p)
	}
}

// param adds a parameter to the plan, and returns its name.
func (d *draft) param(f strictyaml.Field, p pawl.Parameter) string {
	name := paramName(f.Name)
	for other := range d.plan.Params {
		if strings.EqualFold(other, name) {
			return other
		}
	}
	if p.Default != nil {
		if _, err := p.Parse(string(*p.Default)); err != nil || strings.Contains(string(*p.Default), "${{") {
			d.report(f.Line, f.Column, f.Name, true, "the default "+strconv.Quote(string(*p.Default))+" is not a value of its type")
			p.Default = nil
		}
	}
	if p.Type == pawl.EnumParam && len(p.Options) == 0 {
		p.Type = ""
	}
	if d.plan.Params == nil {
		d.plan.Params = map[string]pawl.Parameter{}
	}
	d.plan.Params[name] = p
	return name
}

func paramValue(text string) *pawl.ParamValue {
	v := pawl.ParamValue(text)
	return &v
}

// planEnv adds variables to the environment of the plan, and returns those with a fixed value.
func (g *github) planEnv(n *node, j *githubJob) map[string]string {
	static := map[string]string{}
	for _, f := range fieldsOf(n) {
		v, value, runtime, ok := g.envValue(f, j)
		if text, plain := g.inPlan(runtime); ok && runtime != "" && plain {
			v, value, runtime = pawl.Variable{Value: text}, "$", ""
		}
		switch {
		case !ok:
		case runtime != "":
			for _, each := range g.jobs {
				if j == nil || j == each {
					each.export = append(each.export, export{f.Name, runtime})
				}
			}
		default:
			if g.plan.Env == nil {
				g.plan.Env = pawl.Env{}
			}
			g.plan.Env[f.Name] = v
			static[f.Name] = value
		}
	}
	return static
}
