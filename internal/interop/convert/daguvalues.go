package convert

import (
	"fmt"
	"maps"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// params makes parameters of those of a DAG, in any of their forms.
func (d *dagu) params(n *node) {
	switch {
	case n == nil:
	case n.Scalar():
		d.paramWords(n, n.Text)
	case n.Kind == strictyaml.List:
		for _, element := range n.List {
			switch {
			case element.Scalar():
				d.paramWords(element, element.Text)
			case element.Get("name") != nil && len(element.Fields) > 1:
				d.richParam(element)
			default:
				d.paramFields(element.Fields)
			}
		}
	case n.Get("schema") != nil:
		d.aside(n, "params.schema", "write the parameters of the schema in params")
		d.paramFields(fieldsOf(n.Get("values")))
	case n.Get("type").Scalar() && n.Get("type").Text == "object" && n.Get("properties") != nil:
		d.schemaParams(n)
	default:
		d.paramFields(n.Fields)
	}
}

// paramWords makes parameters of text such as: A=1 B="two words" three.
func (d *dagu) paramWords(n *node, text string) {
	for _, word := range words(text) {
		name, value, named := strings.Cut(word, "=")
		if named && isVariable(name) {
			d.paramFields([]strictyaml.Field{{Name: name, Line: n.Line, Column: n.Column, Value: &node{Line: n.Line, Column: n.Column, Kind: strictyaml.String, Text: value}}})
			continue
		}
		d.args++
		f := strictyaml.Field{Name: fmt.Sprintf("arg%d", d.args), Line: n.Line, Column: n.Column}
		d.param(f, pawl.Parameter{Default: paramValue(word)})
		d.report(n.Line, n.Column, "params", false, fmt.Sprintf("the parameter without a name becomes %s; scripts get it as $%d", f.Name, d.args))
	}
}

// words splits a text at spaces outside of quotes, and removes the quotes.
func words(text string) []string {
	var all []string
	var word strings.Builder
	var quote rune
	within := false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, within = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if within {
				all = append(all, word.String())
			}
			word.Reset()
			within = false
		default:
			word.WriteRune(c)
			within = true
		}
	}
	if within {
		all = append(all, word.String())
	}
	return all
}

func (d *dagu) paramFields(fields []strictyaml.Field) {
	for _, f := range fields {
		p := pawl.Parameter{}
		switch {
		case f.Value.Scalar() && strings.ContainsAny(f.Value.Text, "$`"):
			d.report(f.Line, f.Column, "params."+f.Name, true, "the default is computed; pass it with --param")
			p.Required = true
		case f.Value.Scalar():
			p.Default = paramValue(f.Value.Text)
		}
		d.named(f, p)
	}
}

// named adds a parameter, which scripts get as a variable of its name.
func (d *dagu) named(f strictyaml.Field, p pawl.Parameter) {
	d.names[f.Name] = d.param(f, p)
	if !isVariable(f.Name) {
		d.report(f.Line, f.Column, "params."+f.Name, true, "not the name of a variable; scripts have to use "+pawl.ParamVar(d.names[f.Name]))
		return
	}
	d.paramEnv[f.Name] = pawl.Variable{Value: "${{ params." + d.names[f.Name] + " }}"}
}

// typesInDagu are the types of parameters by dagu's word.
var typesInDagu = map[string]pawl.ParamType{"integer": pawl.IntParam, "number": pawl.NumberParam, "boolean": pawl.BoolParam}

func (d *dagu) richParam(n *node) {
	name := n.Get("name")
	p := pawl.Parameter{Type: typesInDagu[orEmpty(n.Get("type")).Text], Required: isTrue(n.Get("required")), Description: oneLine(orEmpty(n.Get("description")).Text)}
	for _, option := range texts(n.Get("enum")) {
		p.Type, p.Options = pawl.EnumParam, append(p.Options, option.Text)
	}
	if value := n.Get("default"); value.Scalar() {
		p.Default, p.Required = paramValue(value.Text), false
	}
	for _, key := range []string{"eval", "minimum", "maximum", "min_length", "max_length", "pattern"} {
		if n.Get(key) != nil {
			d.aside(n.Get(key), "params."+name.Text+"."+key, "let a step check or compute the value")
		}
	}
	if name.Scalar() {
		d.named(strictyaml.Field{Name: name.Text, Line: name.Line, Column: name.Column}, p)
	}
}

func (d *dagu) schemaParams(n *node) {
	required := map[string]bool{}
	for _, name := range texts(n.Get("required")) {
		required[name.Text] = true
	}
	for _, f := range fieldsOf(n.Get("properties")) {
		rich := &node{Line: f.Line, Column: f.Column, Kind: strictyaml.Mapping, Fields: append([]strictyaml.Field{}, fieldsOf(f.Value)...)}
		rich.Fields = append(rich.Fields, strictyaml.Field{Name: "name", Value: &node{Line: f.Line, Column: f.Column, Kind: strictyaml.String, Text: f.Name}})
		if required[f.Name] {
			rich.Fields = append(rich.Fields, strictyaml.Field{Name: "required", Value: &node{Line: f.Line, Column: f.Column, Kind: strictyaml.Bool, Text: "true"}})
		}
		d.richParam(rich)
	}
}

func (d *dagu) constants(n *node) {
	fields := fieldsOf(n)
	for _, element := range listOf(n) {
		fields = append(fields, element.Fields...)
	}
	for _, f := range fields {
		if f.Value.Scalar() && !strings.Contains(f.Value.Text, "${") {
			d.consts[f.Name] = f.Value.Text
		} else {
			d.report(f.Line, f.Column, "consts."+f.Name, true, "only fixed values are converted")
		}
	}
}

// entries returns the variables of an env, in any of its forms.
func (d *dagu) entries(n *node) []strictyaml.Field {
	fields := append([]strictyaml.Field{}, fieldsOf(n)...)
	for _, element := range listOf(n) {
		if name, value, ok := strings.Cut(element.Text, "="); ok && element.Kind == strictyaml.String {
			fields = append(fields, strictyaml.Field{Name: name, Line: element.Line, Column: element.Column,
				Value: &node{Line: element.Line, Column: element.Column, Kind: strictyaml.String, Text: value}})
		}
		fields = append(fields, element.Fields...)
	}
	return fields
}

// topEnv converts the variables, secrets and dotenv files of the DAG.
func (d *dagu) topEnv() {
	for _, file := range texts(get(d.root, "dotenv")) {
		if path, ok := plainPath(file.Text); ok && path != "" {
			d.plan.Dotenv = append(d.plan.Dotenv, path)
			d.note(file, "dotenv", "a missing file is an error")
		} else {
			d.aside(file, "dotenv", "%s is not a path inside the project", file.Text)
		}
	}
	env := maps.Clone(d.paramEnv)
	for _, secret := range listOf(d.root.Get("secrets")) {
		name, key := orEmpty(secret.Get("name")).Text, orEmpty(secret.Get("key")).Text
		if orEmpty(secret.Get("provider")).Text != "env" || !isVariable(name) || !isVariable(key) {
			d.aside(secret, "secrets."+name, "only secrets in the environment are converted; set %s in env", name)
			continue
		}
		env[name] = pawl.Variable{Value: "${" + key + "}", Secret: true}
		d.note(secret, "secrets."+name, "set the variable %s in the environment of pawl run", key)
	}
	d.exports = append(d.exports, d.variables(append(d.entries(get(d.root, "env")), d.entries(get(d.root.Get("defaults"), "env"))...), env, d.env)...)
	if len(env) > 0 {
		d.plan.Env = env
	}
}

// variables adds variables to an environment. It returns those that a script has to set.
func (d *dagu) variables(fields []strictyaml.Field, env pawl.Env, static map[string]string) []export {
	var exports []export
	runtime := map[string]bool{}
	for _, e := range d.exports {
		runtime[e.name] = true
	}
	for _, f := range fields {
		switch {
		case !isVariable(f.Name):
			d.lost(&node{Line: f.Line, Column: f.Column}, "env."+f.Name, "not the name of a variable that a plan may set")
			continue
		case !f.Value.Scalar():
			continue
		}
		text := d.references(f.Value, "env."+f.Name, f.Value.Text)
		if value, ok := d.planValue(text, static, runtime); ok {
			env[f.Name] = pawl.Variable{Value: value}
			delete(static, f.Name)
			if !strings.Contains(strings.ReplaceAll(value, "${{ params.", ""), "$") {
				static[f.Name] = value
			}
			continue
		}
		delete(env, f.Name)
		runtime[f.Name] = true
		if strings.ContainsAny(text, "`(") {
			d.report(f.Line, f.Column, "env."+f.Name, false, "each step computes the value for itself")
		}
		text = strings.NewReplacer(`"`, `\"`).Replace(text)
		if strings.Count(text, "`") == 2 { // dagu's command substitution
			text = strings.Replace(strings.Replace(text, "`", "$(", 1), "`", ")", 1)
			text = strings.ReplaceAll(text, `\"`, `"`)
		}
		exports = append(exports, export{f.Name, text})
	}
	return exports
}

// planValue returns a value as the env of a plan has it, false if only a script can compute it.
func (d *dagu) planValue(text string, static map[string]string, runtime map[string]bool) (string, bool) {
	if strings.ContainsAny(text, "`\\") || strings.Contains(text, "$(") {
		return "", !strings.ContainsAny(text, "$`\\")
	}
	ok := true
	var out strings.Builder
	for i := 0; i < len(text); {
		n, name := variableAt(text[i:])
		value, fixed := static[name]
		param, isParam := d.names[name]
		switch {
		case n == 0 && strings.HasPrefix(text[i:], "${"+pawl.ParamPrefix):
			part, _, _ := strings.Cut(text[i:], "}")
			inPlan, ok := d.inPlan(part + "}")
			if !ok {
				return "", false
			}
			out.WriteString(inPlan)
			n = len(part) + 1
		case n == 0 && text[i] == '$':
			return "", false
		case n == 0:
			out.WriteByte(text[i])
			n = 1
		case runtime[name]:
			ok = false
		case fixed:
			out.WriteString(value)
		case isParam:
			out.WriteString("${{ params." + param + " }}")
		default:
			out.WriteString("${" + name + ":-}")
		}
		i += n
	}
	return out.String(), ok
}

// variableAt returns the length and the name of a $NAME or ${NAME} at the beginning of text; 0 for none.
func variableAt(text string) (int, string) {
	if !strings.HasPrefix(text, "$") {
		return 0, ""
	}
	rest, closing := text[1:], 0
	if strings.HasPrefix(rest, "{") {
		rest, closing = rest[1:], 1
	}
	n := 0
	for n < len(rest) && (rest[n] == '_' || rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= 'A' && rest[n] <= 'Z' || n > 0 && rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	if n == 0 || closing == 1 && (n == len(rest) || rest[n] != '}') || !isVariable(rest[:n]) {
		return 0, ""
	}
	return 1 + closing + n + closing, rest[:n]
}

// references replaces ${params.NAME}, ${consts.NAME} and ${env.NAME} in a text. It reports other references of dagu.
func (d *dagu) references(n *node, key, text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		kind, name, length := referenceAt(text[i:])
		if length == 0 {
			out.WriteByte(text[i])
			i++
			continue
		}
		param, isParam := d.names[name]
		constant, isConst := d.consts[name]
		switch {
		case kind == "params" && isParam:
			out.WriteString("${" + pawl.ParamVar(param) + "}")
		case kind == "consts" && isConst:
			out.WriteString(constant)
		case kind == "env" && isVariable(name):
			out.WriteString("${" + name + "}")
		default:
			d.lost(n, key, "%s has no counterpart; write the value to a file, and read it in the later step", text[i:i+length])
			out.WriteString(text[i : i+length])
		}
		i += length
	}
	return out.String()
}

// maxReference is the length of the longest reference or expression that is recognized in a text.
const maxReference = 2000

// referenceAt takes ${KIND.NAME} apart; length is 0 for anything else.
func referenceAt(text string) (kind, name string, length int) {
	if !strings.HasPrefix(text, "${") {
		return "", "", 0
	}
	end := strings.IndexByte(text[:min(len(text), maxReference)], '}')
	if end < 0 {
		return "", "", 0
	}
	kind, name, dotted := strings.Cut(text[2:end], ".")
	if !dotted || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || kind == "" {
		return "", "", 0
	}
	return kind, name, end + 1
}
