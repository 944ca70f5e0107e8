package convert

import (
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// envValue converts a variable. Either v is its value in a plan, and value the same if that is fixed, or runtime is what a
// script sets it to, in double quotes.
func (g *github) envValue(f strictyaml.Field, j *githubJob) (v pawl.Variable, value, runtime string, ok bool) {
	switch {
	case !isVariable(f.Name):
		g.lostAt(f, "env."+f.Name, "not the name of a variable that a plan may set")
		return v, "", "", false
	case f.Value.Kind == strictyaml.NoValue:
		return v, "", "", true
	case !f.Value.Scalar():
		g.lostAt(f, "env."+f.Name, "expected a string")
		return v, "", "", false
	}
	e := envText{github: g, field: f, job: j}
	for i, part := range spans(f.Value.Text) {
		if i%2 == 0 {
			e.literal(part)
		} else if !e.expression(part) {
			g.lostAt(f, "env."+f.Name, "the expression "+part+" has no counterpart; "+insteadOf(inside(part)))
			return v, "", "", false
		}
	}
	switch {
	case e.inScript && (e.inPlan != "" || e.secret):
		g.lostAt(f, "env."+f.Name, "a value cannot combine a secret or an expression with what only the step knows")
		return v, "", "", false
	case e.inScript:
		return v, "", e.script.String(), true
	}
	return pawl.Variable{Value: e.plan.String(), Secret: e.secret}, e.fixed.String(), "", true
}

// envText is the value of a variable in the making.
type envText struct {
	*github
	field    strictyaml.Field
	job      *githubJob
	plan     strings.Builder // as the env of a plan has it
	fixed    strings.Builder // with a $ for what is not fixed
	script   strings.Builder // within double quotes of a shell
	secret   bool
	inScript bool   // a part is known to the script only
	inPlan   string // a part that only a plan can have
}

func (e *envText) literal(text string) {
	e.plan.WriteString(strings.ReplaceAll(text, "$", "$$"))
	e.fixed.WriteString(text)
	e.script.WriteString(doubleQuoted(text))
}

// expression adds the value of ${{ … }}, and reports whether there is one.
func (e *envText) expression(span string) bool {
	text := inside(span)
	if known, is := e.static(text, e.job); is {
		e.literal(known)
		return true
	}
	e.fixed.WriteString("$")
	if name, secret, is := e.fromCaller(e.field, text); is {
		e.plan.WriteString("${" + name + "}")
		e.script.WriteString("${" + name + "}")
		e.secret = e.secret || secret
		return true
	}
	if stands, is := e.atRuntime(text, e.job); is {
		e.script.WriteString(stands)
		e.inScript = true
		return true
	}
	value, is := e.overParams(text, e.job)
	if is {
		e.plan.WriteString(value)
		e.inPlan = span
	}
	return is
}

func (g *github) lostAt(f strictyaml.Field, key, text string) {
	g.lost(&node{Line: f.Line, Column: f.Column}, key, "%s", text)
}

// fromCaller returns the variable of the caller that stands for a secret or a variable of the repository.
func (g *github) fromCaller(f strictyaml.Field, text string) (name string, secret, ok bool) {
	e, err := parseExpression(text)
	if err != nil || e.op != "name" {
		return "", false, false
	}
	switch lower := strings.ToLower(e.text); {
	case lower == "github.token":
		name, secret = "GITHUB_TOKEN", true
	case strings.HasPrefix(lower, "secrets."):
		name, secret = e.text[len("secrets."):], true
	case strings.HasPrefix(lower, "vars."):
		name = e.text[len("vars."):]
	default:
		return "", false, false
	}
	if !isVariable(name) {
		return "", false, false
	}
	key := "env." + f.Name
	if f.Name == "run" {
		key = f.Name
	}
	g.report(f.Line, f.Column, key, false, "set the variable "+name+" in the environment of pawl run")
	return name, secret, true
}
