package convert

import (
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/shellwords"
	"pawl/internal/strictyaml"
)

// commands converts the commands of a task.
func (b *taskBuilder) commands() {
	list := listOf(b.body.Get("cmds"))
	for _, key := range []string{"cmd", "cmds"} {
		if one := b.body.Get(key); one.Scalar() || key == "cmd" && one != nil && one.Kind == strictyaml.Mapping {
			list = []*node{one}
		}
	}
	if len(list) == 1 && b.asForeach(list[0]) {
		return
	}
	for _, n := range list {
		for _, c := range b.loop(n) {
			b.command(n, c, len(list) > 1)
		}
	}
}

// command converts a command or a call of a task.
func (b *taskBuilder) command(n *node, with scope, several bool) {
	text, call, deferred := n, n.Get("task"), n.Get("defer")
	if n.Kind == strictyaml.Mapping {
		text = n.Get("cmd")
	}
	switch {
	case deferred.Scalar():
		if script, ok := b.vars.with(with).script(b.taskfile, deferred, "defer", deferred.Text, b.use); ok {
			b.cleanup = append(b.cleanup, script)
		}
	case deferred != nil:
		b.lost(deferred, "defer", "a deferred call of a task is not converted; write the commands of the task here")
	case call.Scalar():
		for _, key := range []string{"if", "ignore_error", "platforms", "timeout"} {
			if v := n.Get(key); v != nil && v.Text != "false" {
				b.lost(v, key, "a call of a task has no such key in a plan")
			}
		}
		b.flush(false)
		b.needs = b.callOf(n, call, n.Get("vars"), with, b.needs)
	case text.Scalar():
		b.shellCommand(n, text, with, several)
	default:
		b.lost(n, "cmds", "expected a command")
	}
}

// use notes a variable that the script needs.
func (b *taskBuilder) use(v variable) {
	if !slices.ContainsFunc(b.used, func(u variable) bool { return u.name == v.name }) {
		b.used = append(b.used, v)
	}
}

// shellCommand adds a command to the script.
func (b *taskBuilder) shellCommand(n, text *node, with scope, several bool) {
	script, _ := b.vars.with(with).script(b.taskfile, text, "cmds", strings.TrimRight(text.Text, "\n"), b.use)
	if strings.TrimSpace(script) == "" {
		return
	}
	for _, f := range fieldsOf(n) {
		switch f.Name {
		case "cmd", "silent", "for", "if", "ignore_error", "platforms":
		case "set", "shopt":
			script = b.optionsOf(f.Value, f.Name) + script
			several = true
		case "timeout":
			if _, err := time.ParseDuration(f.Value.Text); err != nil || several {
				b.lost(f.Value, f.Name, "the limit is for one of several commands; set timeout of the step")
			} else {
				b.note(f.Value, f.Name, "the step has a limit of its own; write timeout: %s", f.Value.Text)
			}
		default:
			b.lost(f.Value, f.Name, "unknown key of a command")
		}
	}
	if several && (changesShell(script) || strings.Contains(script, "\n")) {
		script = "(\n" + script + "\n)"
	}
	if isTrue(n.Get("ignore_error")) || isTrue(b.body.Get("ignore_error")) {
		script = grouped(script) + " || true"
	}
	if when := n.Get("if"); when.Scalar() {
		condition, _ := b.vars.with(with).script(b.taskfile, when, "if", strings.TrimSpace(when.Text), b.use)
		script = "if " + condition + "; then\n" + script + "\nfi"
	}
	b.script.WriteString(onPlatforms(n.Get("platforms"), script) + "\n")
}

// systems are the names of systems that uname prints, by those of Go.
var systems = map[string]string{"linux": "Linux", "darwin": "Darwin", "freebsd": "FreeBSD", "openbsd": "OpenBSD", "netbsd": "NetBSD", "windows": "MINGW*"}

// onPlatforms returns a script that does nothing on other systems.
func onPlatforms(platforms *node, script string) string {
	var names []string
	for _, p := range texts(platforms) {
		system, _, _ := strings.Cut(p.Text, "/")
		name := systems[system]
		if name == "" {
			name = "*" // an architecture
		}
		names = append(names, name)
	}
	if len(names) == 0 || slices.Contains(names, "*") {
		return script
	}
	return "case \"$(uname -s)\" in " + strings.Join(names, "|") + ")\n" + script + "\n;; esac"
}

// grouped returns a script as one command.
func grouped(script string) string {
	if strings.ContainsAny(script, "\n#\\") || strings.HasSuffix(script, "&") {
		return "{\n" + script + "\n}"
	}
	return "{ " + strings.TrimRight(script, "; \t") + "; }"
}

// loop returns the variables of each turn of a command with "for"; one turn for others.
func (b *taskBuilder) loop(n *node) []scope {
	over := n.Get("for")
	if over == nil {
		return []scope{{}}
	}
	name := "ITEM"
	if as := over.Get("as"); as.Scalar() {
		name = as.Text
	}
	items, ok := b.items(over)
	if !ok {
		b.lost(over, "for", "only a list of fixed values is converted; write a loop in the command")
		return nil
	}
	var turns []scope
	for _, item := range items[:min(len(items), maxCalls)] {
		turns = append(turns, scope{name: variable{name: name, text: item}})
	}
	return turns
}

// items returns the values of a loop.
func (b *taskBuilder) items(over *node) (items []string, ok bool) {
	if over.Kind == strictyaml.List {
		for _, element := range over.List {
			text, known := b.vars.path(b.taskfile, element.Text)
			if !element.Scalar() || !known {
				return nil, false
			}
			items = append(items, text)
		}
		return items, true
	}
	of := over.Get("var")
	v, set := b.vars[orEmpty(of).Text]
	switch {
	case !of.Scalar() || !set || v.runtime:
		return nil, false
	case v.list != nil:
		return v.list, true
	case over.Get("split").Scalar() && over.Get("split").Text != "":
		return strings.Split(v.text, over.Get("split").Text), true
	}
	return strings.Fields(v.text), true
}

// asForeach makes the only command of a task, if it has a loop, a step with foreach. It reports whether it did.
func (b *taskBuilder) asForeach(n *node) bool {
	over, text := n.Get("for"), n.Get("cmd")
	if over == nil || !text.Scalar() || over.Get("as") != nil {
		return false
	}
	for _, key := range []string{"generates", "status", "if", "preconditions"} {
		if b.body.Get(key) != nil {
			return false
		}
	}
	items, ok := b.items(over)
	seen := map[string]bool{}
	for _, item := range items {
		if seen[item] || strings.TrimSpace(item) == "" {
			return false
		}
		seen[item] = true
	}
	if !ok || len(items) < 2 {
		return false
	}
	b.foreach = items
	b.shellCommand(n, text, scope{"ITEM": variable{name: "ITEM", text: "${PAWL_ITEM}", runtime: true}}, false)
	return true
}

// shellOptions converts set and shopt.
func (b *taskBuilder) shellOptions() {
	for _, key := range []string{"set", "shopt"} {
		for _, from := range []*node{b.root.Get(key), b.body.Get(key)} {
			b.options.WriteString(b.optionsOf(from, key))
		}
	}
}

func (b *taskBuilder) optionsOf(n *node, key string) string {
	text := ""
	for _, option := range texts(n) {
		switch name := option.Text; {
		case key == "set" && name == "pipefail":
			b.pipes = true
		case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" || name == "":
			b.lost(option, key, "unknown option")
		case key == "shopt":
			text, b.strict = text+"shopt -s "+name+"\n", true
		case name == "e" || name == "errexit":
		case len(name) == 1:
			text += "set -" + name + "\n"
		default:
			text += "set -o " + name + "\n"
		}
	}
	return text
}

// beginning returns what a script does before its commands: checks, and what happens at its end.
func (b *taskBuilder) beginning() string {
	var script strings.Builder
	checks := map[string]*node{}
	for _, key := range []string{"status", "if", "platforms"} {
		checks[key] = b.body.Get(key)
		if b.calls0() && checks[key] != nil {
			b.note(checks[key], key, "only the commands of the task are skipped, not the tasks that it calls")
		}
	}
	for _, file := range texts(b.body.Get("dotenv")) {
		path := shellwords.Word("./" + file.Text)
		script.WriteString("if [ -f " + path + " ]; then set -a; . " + path + "; set +a; fi\n")
	}
	if n := checks["platforms"]; len(texts(n)) > 0 {
		if test := onPlatforms(n, ":"); test != ":" {
			script.WriteString(strings.Replace(test, "\n;; esac", "\n;; *) exit 0 ;; esac", 1) + "\n")
		}
	}
	if n := checks["if"]; n.Scalar() {
		text, _ := b.vars.script(b.taskfile, n, "if", strings.TrimSpace(n.Text), b.use)
		script.WriteString("if ! " + grouped(text) + "; then exit 0; fi\n")
	}
	b.preconditions(&script)
	if status := texts(checks["status"]); len(status) > 0 {
		script.WriteString("if ")
		for i, n := range status {
			if i > 0 {
				script.WriteString(" && ")
			}
			text, _ := b.vars.script(b.taskfile, n, "status", strings.TrimSpace(n.Text), b.use)
			script.WriteString(grouped(text))
		}
		script.WriteString("; then exit 0; fi\n")
	}
	if len(b.cleanup) > 0 {
		slices.Reverse(b.cleanup)
		script.WriteString("at_exit() {\n" + strings.Join(b.cleanup, "\n") + "\n}\ntrap at_exit EXIT\n")
	}
	return script.String()
}

// calls0 reports whether the task calls other tasks.
func (b *taskBuilder) calls0() bool {
	return slices.ContainsFunc(listOf(b.body.Get("cmds")), func(n *node) bool { return n.Get("task") != nil })
}

func (b *taskBuilder) preconditions(script *strings.Builder) {
	for _, n := range listOf(b.body.Get("preconditions")) {
		check, message := n, "a precondition of task "+b.field.Name+" does not hold"
		if n.Kind == strictyaml.Mapping {
			check = n.Get("sh")
			if msg := n.Get("msg"); msg.Scalar() && !strings.Contains(msg.Text, "{{") {
				message = oneLine(msg.Text)
			}
		}
		if !check.Scalar() {
			b.lost(n, "preconditions", "expected a command")
			continue
		}
		text, _ := b.vars.script(b.taskfile, check, "preconditions", strings.TrimSpace(check.Text), b.use)
		script.WriteString(grouped(text) + " || { echo " + shellwords.Word(message) + " >&2; exit 1; }\n")
	}
}

// environmentOf sets the environment of a step. It returns the variables that only a script can set.
func (b *taskBuilder) environmentOf(s *step) []variable {
	var exports []variable
	own := pawl.Env{}
	for _, f := range fieldsOf(b.body.Get("env")) {
		v, ok := b.vars.value(b.taskfile, f, false)
		switch {
		case !ok:
		case !isVariable(f.Name):
			b.lost(f.Value, "env."+f.Name, "not the name of a variable that a plan may set")
		case v.runtime && v.command == "" && len(b.vars.dynamicIn(f.Value)) == 0 && b.envOf(own, v):
		case v.runtime:
			v.export = true
			for _, d := range b.vars.dynamicIn(f.Value) {
				b.use(d)
			}
			exports = append(exports, v)
		default:
			own[f.Name] = pawl.Variable{Value: strings.ReplaceAll(v.text, "$", "$$")}
		}
	}
	if len(own) > 0 {
		s.Env = own
	}
	return exports
}

// files sets the inputs and outputs of a step.
func (b *taskBuilder) files(s *step, last bool) {
	s.Inputs = b.paths(b.body.Get("sources"), "sources")
	if last && len(b.foreach) == 0 {
		s.Outputs = b.paths(b.body.Get("generates"), "generates")
	}
	s.Inputs = slices.DeleteFunc(s.Inputs, func(input string) bool {
		has := slices.ContainsFunc(s.Outputs, func(output string) bool { return output == input || strings.HasPrefix(output, input+"/") })
		if has {
			b.aside(b.body.Get("sources"), "sources", "%s contains an output of the step, so the step would change its own input; list the files instead", input)
		}
		return has
	})
}

// paths returns paths and patterns as plans have them. A plan has no **: the folder before it stands for all that is in it.
func (b *taskBuilder) paths(n *node, key string) []string {
	var all []string
	for _, element := range listOf(n) {
		if exclude := element.Get("exclude"); exclude != nil {
			b.note(exclude, key, "a plan cannot exclude files; list folders that do not contain them")
			continue
		}
		text, ok := b.vars.path(b.taskfile, element.Text)
		path, inside := plainPath(text)
		if b.dir != "" && path != "" {
			path = b.dir + "/" + path
		}
		if folder, _, recursive := strings.Cut(path, "**"); recursive {
			if path = strings.TrimSuffix(folder, "/"); !strings.HasSuffix(folder, "/") {
				path = ""
			}
			if path != "" && !strings.HasSuffix(text, "**") && !strings.HasSuffix(text, "**/*") {
				b.note(element, key, "%s: all files in %s count", element.Text, path)
			}
		}
		switch {
		case !element.Scalar() || !ok || !inside || path == "" || path == ".pawl" || strings.HasPrefix(path, ".pawl/") || strings.Contains(path, "{"):
			b.aside(element, key, "%s: list files or folders of the project", oneLine(element.Text))
		case !slices.Contains(all, path):
			all = append(all, path)
		}
	}
	return all
}
