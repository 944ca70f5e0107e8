package convert

import (
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/shellwords"
	"pawl/internal/strictyaml"
)

// variable is a variable of a Taskfile.
type variable struct {
	name    string
	text    string   // value; if it is runtime, a text within double quotes of a shell
	runtime bool     // only a script knows the value
	path    string   // value of a runtime variable where a path needs one
	hasPath bool     // path is set
	simple  bool     // it may become a parameter
	command string   // the value is the output of this command
	list    []string // elements of a list
	global  bool
	export  bool
}

// scope has the variables that templates may use.
type scope map[string]variable

// with returns the scope with more variables.
func (s scope) with(more scope) scope {
	all := maps.Clone(s)
	maps.Copy(all, more)
	return all
}

// key returns a text that differs for scopes that differ.
func (s scope) key() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		text.WriteString(name + "\x00" + s[name].text + "\x00" + strings.Join(s[name].list, "\x01") + "\x00")
	}
	return text.String()
}

// suffix returns what distinguishes calls with these variables, for ids.
func (s scope) suffix() string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if value := s[name].text; !s[name].runtime && len(value) <= 20 && value != "" {
			text += "-" + value
		}
	}
	return text[:min(len(text), 24)]
}

// add adds variables in their order. Simple ones of the Taskfile become parameters.
func (s scope) add(t *taskfile, vars *node, global bool) {
	for _, f := range fieldsOf(vars) {
		if _, given := s[f.Name]; given && !global && s[f.Name].runtime && strings.Contains(f.Value.Text, "."+f.Name) {
			if v, ok := s.value(t, f, false); ok {
				s[f.Name] = v
			}
			continue
		}
		v, ok := s.value(t, f, global)
		if !ok {
			delete(s, f.Name)
			continue
		}
		s[f.Name] = v
	}
}

// value returns a variable. ok is false for a value that is not converted, which is reported.
func (s scope) value(t *taskfile, f strictyaml.Field, global bool) (v variable, ok bool) {
	v = variable{name: f.Name, global: global}
	n := f.Value
	if n.Kind == strictyaml.Mapping && n.Get("value") != nil {
		n = n.Get("value")
	}
	switch {
	case n.Kind == strictyaml.NoValue:
		return v, true
	case n.Kind == strictyaml.List:
		list, ok := scalars(n)
		v.list = list
		v.text = "[" + strings.Join(list, " ") + "]"
		return v, ok || t.report2(f, "only a list of strings and numbers is converted")
	case n.Kind == strictyaml.Mapping && n.Get("sh").Scalar():
		command, ok := s.script(t, n.Get("sh"), "vars."+f.Name, n.Get("sh").Text, nil)
		v.command, v.runtime, v.text = strings.TrimSpace(command), true, "${"+f.Name+"}"
		return v, (ok && isVariable(f.Name) && v.command != "") || t.report2(f, "the command is not converted")
	case n.Kind == strictyaml.Mapping:
		return v, t.report2(f, "only strings, lists and commands are converted")
	}
	if simple := global && n.Text != "" && strings.Trim(n.Text, simpleText) == ""; simple && paramName(f.Name) == f.Name {
		v.simple, v.hasPath, v.path, v.text = true, true, n.Text, n.Text
		return v, true
	}
	v.text, v.path, v.runtime, v.hasPath, ok = s.expand(t, n.Text)
	return v, ok || t.report2(f, "the template is not converted")
}

// simpleText are the characters of values that a shell takes for themselves.
const simpleText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@%+,"

// report2 reports a variable that is not converted. It returns false.
func (t *taskfile) report2(f strictyaml.Field, text string) bool {
	t.report(f.Line, f.Column, "vars."+f.Name, true, text)
	return false
}

// expand replaces the templates in a text. The result is for double quotes of a shell if it is runtime; path is the
// result for a path, if there is one.
func (s scope) expand(t *taskfile, text string) (value, path string, runtime, hasPath, ok bool) {
	hasPath, ok = true, true
	type piece struct {
		text    string
		runtime bool
	}
	var pieces []piece
	var paths strings.Builder
	for _, part := range templates(text) {
		if !strings.HasPrefix(part, "{{") {
			pieces = append(pieces, piece{part, false})
			paths.WriteString(part)
			continue
		}
		v, known := s.template(t, part)
		if !known {
			return "", "", false, false, false
		}
		pieces = append(pieces, piece{v.text, v.runtime})
		runtime = runtime || v.runtime
		hasPath = hasPath && (!v.runtime || v.hasPath)
		if v.runtime {
			paths.WriteString(v.path)
		} else {
			paths.WriteString(v.text)
		}
	}
	var all strings.Builder
	for _, p := range pieces {
		if runtime && !p.runtime {
			p.text = doubleQuoted(p.text)
		}
		all.WriteString(p.text)
	}
	return all.String(), paths.String(), runtime, hasPath, ok
}

// path expands a text that a plan needs now.
func (s scope) path(t *taskfile, text string) (string, bool) {
	_, path, _, has, ok := s.expand(t, text)
	return path, ok && has
}

// templates splits a text at its templates, which begin with {{.
func templates(text string) []string {
	var parts []string
	for text != "" {
		n := findTemplate(text)
		if n == 0 {
			if n = strings.Index(text[1:], "{{") + 1; n == 0 {
				n = len(text)
			}
			if len(parts) > 0 && !strings.HasPrefix(parts[len(parts)-1], "{{") {
				parts[len(parts)-1] += text[:n]
				text = text[n:]
				continue
			}
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return parts
}

// findTemplate returns the length of the template at the beginning of text, 0 for none.
func findTemplate(text string) int {
	if !strings.HasPrefix(text, "{{") {
		return 0
	}
	var quote byte
	for i := 2; i < min(len(text), maxReference); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\' && quote == '"':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`':
			quote = c
		case strings.HasPrefix(text[i:], "}}"):
			return i + len("}}")
		}
	}
	return 0
}

// template returns the value of a template such as {{.NAME | default "x"}}.
func (s scope) template(t *taskfile, template string) (variable, bool) {
	inner := strings.TrimSpace(strings.Trim(strings.TrimSpace(template[2:len(template)-2]), "-"))
	parts := strings.Split(inner, "|")
	defaulted := len(parts) > 1 && strings.HasPrefix(strings.TrimSpace(parts[1]), "default ")
	v, ok := s.operand(t, strings.TrimSpace(parts[0]), defaulted)
	if name := strings.TrimPrefix(strings.TrimSpace(parts[0]), "."); len(parts) > 1 && !defaulted && s[name].simple {
		v = s[name] // a function needs the value
	}
	for _, part := range parts[1:] {
		if !ok {
			return v, false
		}
		v, ok = s.pipe(t, v, strings.TrimSpace(part))
	}
	return v, ok
}

// operand returns the value of a variable, a literal or a function without arguments. defaulted is whether a default follows.
func (s scope) operand(t *taskfile, text string, defaulted bool) (variable, bool) {
	if literal, ok := literalOf(text); ok {
		return variable{text: literal}, true
	}
	if rest, is := strings.CutPrefix(text, "default "); is {
		literal, name, _ := cutLast(rest)
		v, ok := s.operand(t, name, true)
		if !ok {
			return v, false
		}
		return s.pipe(t, v, "default "+literal)
	}
	switch text {
	case "exeExt":
		return variable{}, true
	case "numCPU":
		return variable{text: "$(nproc)", runtime: true}, true
	case ".TASKFILE_DIR", ".ROOT_DIR", ".USER_WORKING_DIR":
		return variable{text: "${PAWL_PROJECT}", runtime: true, hasPath: true, path: "."}, true
	case ".CLI_ARGS":
		f := strictyaml.Field{Name: "CLI_ARGS", Line: t.root.Line, Column: t.root.Column}
		return t.paramVariable(f, pawl.Parameter{Default: paramValue(""), Description: "arguments after --"}), true
	}
	name, isName := strings.CutPrefix(text, ".")
	if !isName || paramName(name) != name {
		return variable{}, false
	}
	if v, set := s[name]; set {
		return s.asParam(t, v), true
	}
	switch {
	case defaulted:
		return variable{name: name, hasPath: true}, true
	case !isVariable(name):
		return variable{}, false
	case slices.Contains(ofTheSystem, name):
		return variable{text: "${" + name + ":-}", runtime: true}, true
	}
	t.report(1, 1, "vars."+name, false, "the Taskfile does not set it; it becomes a parameter")
	return t.paramVariable(strictyaml.Field{Name: name, Line: 1, Column: 1}, pawl.Parameter{}), true
}

// ofTheSystem are variables of the environment that everybody has. Templates may use them.
var ofTheSystem = []string{"HOME", "USER", "PATH", "PWD", "SHELL", "TMPDIR", "LANG", "HOSTNAME", "CI", "EDITOR"}

// asParam makes a parameter of a simple variable of the Taskfile, because task NAME=VALUE may set it.
func (s scope) asParam(t *taskfile, v variable) variable {
	if v.simple {
		return t.paramVariable(strictyaml.Field{Name: v.name, Line: 1, Column: 1}, pawl.Parameter{Default: paramValue(v.path)})
	}
	return v
}

// literalOf returns the text of a literal.
func literalOf(text string) (string, bool) {
	if len(text) >= 2 && (text[0] == '"' && text[len(text)-1] == '"' || text[0] == '`' && text[len(text)-1] == '`') && !strings.ContainsAny(text[1:len(text)-1], "\"\\`") {
		return text[1 : len(text)-1], true
	}
	if text != "" && strings.Trim(text, "0123456789") == "" {
		return text, true
	}
	return "", false
}

// cutLast splits a text at its last space.
func cutLast(text string) (before, last string, ok bool) {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		return strings.TrimSpace(text[:i]), text[i+1:], true
	}
	return "", text, false
}

// pipe applies a function to a value.
func (s scope) pipe(t *taskfile, v variable, function string) (variable, bool) {
	if argument, is := strings.CutPrefix(function, "default "); is {
		literal, ok := literalOf(strings.TrimSpace(argument))
		_, set := s[v.name]
		switch {
		case set && (v.runtime || v.text != ""):
			return v, true
		case !ok:
			return v, false
		case set || v.name == "" || paramName(v.name) != v.name:
			return variable{text: literal}, true
		}
		return t.paramVariable(strictyaml.Field{Name: v.name, Line: 1, Column: 1}, pawl.Parameter{Default: paramValue(literal)}), true
	}
	if v.runtime {
		return v, false
	}
	switch function {
	case "upper":
		v.text = strings.ToUpper(v.text)
	case "lower":
		v.text = strings.ToLower(v.text)
	case "trim", "trimSpace":
		v.text = strings.TrimSpace(v.text)
	case "shellQuote", "q":
		v.text = shellwords.Word(v.text)
	default:
		return v, false
	}
	return v, true
}

// dynamicIn returns the variables in a text whose value is the output of a command.
func (s scope) dynamicIn(n *node) []variable {
	var all []variable
	for _, part := range templates(n.Text) {
		if name, is := strings.CutPrefix(strings.TrimSpace(strings.Trim(part, "{}- ")), "."); is && strings.HasPrefix(part, "{{") && s[name].command != "" {
			all = append(all, s[name])
		}
	}
	return all
}

// script replaces the templates in a script. use is called for each variable whose value is the output of a command.
func (s scope) script(t *taskfile, n *node, key, script string, use func(variable)) (string, bool) {
	ok := true
	script = rewriteScript(script, findTemplate, func(span string, q quoting) string {
		v, known := s.template(t, span)
		switch {
		case !known:
			t.lost(n, key, "the template %s has no counterpart", span)
			ok = false
			return span
		case !v.runtime:
			return v.text
		case inQuoting(v.text, q) == "":
			t.lost(n, key, "%s: the delimiter of the here-document has quotes, so the shell replaces nothing in it; remove them", span)
			ok = false
			return span
		}
		if use != nil {
			s.uses(v, use)
		}
		return inQuoting(v.text, q)
	})
	return script, ok
}

// uses calls use for the variables that are set by commands in a value.
func (s scope) uses(v variable, use func(variable)) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if d := s[name]; d.command != "" && strings.Contains(v.text, "${"+name+"}") {
			for _, other := range slices.Sorted(maps.Keys(s)) {
				if o := s[other]; other != name && o.command != "" && strings.Contains(d.command, "${"+other+"}") {
					use(o)
				}
			}
			use(d)
		}
	}
}
