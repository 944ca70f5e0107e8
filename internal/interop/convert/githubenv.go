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
		g.lostAt(f, "env."+f.Name, "expected a text")
		return v, "", "", false
	}
	parts := spans(f.Value.Text)
	var plan, fixed, script strings.Builder
	needsScript, mixed := false, []string(nil)
	for i, part := range parts {
		if i%2 == 0 {
			plan.WriteString(strings.ReplaceAll(part, "$", "$$"))
			fixed.WriteString(part)
			script.WriteString(doubleQuoted(part))
			continue
		}
		text := inside(part)
		if known, is := g.static(text, j); is {
			plan.WriteString(strings.ReplaceAll(known, "$", "$$"))
			fixed.WriteString(known)
			script.WriteString(doubleQuoted(known))
			continue
		}
		if name, secret, is := g.fromCaller(f, text); is {
			plan.WriteString("${" + name + "}")
			script.WriteString("${" + name + "}")
			fixed.WriteString("$") // not fixed
			v.Secret = v.Secret || secret
			continue
		}
		stands, is := g.atRuntime(text, j)
		if value, over := g.overParams(text, j); !is && over {
			plan.WriteString(value)
			fixed.WriteString("$")
			mixed = append(mixed, part)
			continue
		}
		if !is {
			g.lostAt(f, "env."+f.Name, "the expression "+part+" has no counterpart")
			return v, "", "", false
		}
		script.WriteString(stands)
		needsScript = true
	}
	if needsScript && len(mixed) > 0 {
		g.lostAt(f, "env."+f.Name, "the expression "+mixed[0]+" cannot be combined with what only the step knows")
		return v, "", "", false
	}
	if needsScript && v.Secret {
		g.lostAt(f, "env."+f.Name, "a value cannot combine a secret with what only the step knows")
		return v, "", "", false
	}
	v.Value = plan.String()
	if needsScript {
		return v, "", script.String(), true
	}
	return v, fixed.String(), "", true
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
	g.report(f.Line, f.Column, "env."+f.Name, false, "set the variable "+name+" in the environment of pawl run")
	return name, secret, true
}
