package convert

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/expression"
	"pawl/internal/strictyaml"
)

// githubShell is the shell of steps that set none: bash without pipefail.
const githubShell = pawl.Shell("bash -e {}")

// script sets the script of a step, its shell and its environment.
func (g *github) script(j *githubJob, n, run *node, s *step) {
	s.Shell = githubShell
	if shell := firstNode(n.Get("shell"), j.shell); shell.Scalar() {
		s.Shell = g.shellOf(shell)
	}
	static := map[string]string{}
	for name, value := range j.env {
		static[name] = value
	}
	exports := append([]export{}, j.export...)
	for _, env := range []*node{g.jobEnv(j), n.Get("env")} {
		for _, f := range fieldsOf(env) {
			v, value, runtime, ok := g.envValue(f, j)
			if text, plain := g.inPlan(runtime); ok && runtime != "" && plain {
				v, value, runtime = pawl.Variable{Value: text}, "$", ""
			}
			switch {
			case !ok:
			case runtime != "":
				exports = append(exports, export{f.Name, runtime})
				delete(s.Env, f.Name)
			default:
				if s.Env == nil {
					s.Env = pawl.Env{}
				}
				s.Env[f.Name] = v
				static[f.Name] = value
			}
		}
	}
	script := g.rewrite(run, j, s)
	if strings.TrimSpace(script) == "" {
		script = "true\n"
	}
	files := g.fileCommands(j, n, run, s)
	if len(exports) > 0 && !isPOSIX(s.Shell) {
		g.lost(run, "env", "%s: only a shell script can set the variable %s", s.Shell, exports[0].name)
		exports = nil
	}
	var prologue strings.Builder
	if len(g.tests) > 0 && !isPOSIX(s.Shell) {
		g.lost(run, "if", "only a shell script can test the combination")
		g.tests = nil
	}
	for _, test := range g.tests {
		prologue.WriteString(test + "\n")
	}
	for _, e := range exports {
		prologue.WriteString("export " + e.name + "=\"" + e.value + "\"\n")
	}
	s.Run = files + prologue.String() + script
}

// jobEnv returns the variables of a job that are not in the plan's.
func (g *github) jobEnv(j *githubJob) *node {
	if len(g.jobs) == 1 {
		return nil
	}
	return j.body.Get("env")
}

// shellOf returns a shell as plans have it.
func (g *github) shellOf(n *node) pawl.Shell {
	switch text := strings.TrimSpace(n.Text); text {
	case "bash":
		return pawl.Bash
	case "sh":
		return pawl.StrictSh
	case "python":
		return pawl.Python
	case "pwsh", "powershell", "cmd":
		g.lost(n, "shell", "%s: pawl has no such shell; write the commands for sh or bash", text)
		return "cat {}"
	default:
		shell := pawl.Shell(strings.ReplaceAll(text, "{0}", "{}"))
		if err := shell.Check(); err != nil {
			g.lost(n, "shell", "%v", err)
			return pawl.StrictSh
		}
		return shell
	}
}

// rewrite returns a script in which variables stand for the expressions.
func (g *github) rewrite(run *node, j *githubJob, s *step) string {
	return rewriteScript(run.Text, findExpression, func(span string, q quoting) string {
		text := inside(span)
		if value, ok := g.static(text, j); ok {
			return value
		}
		stands, ok := g.atRuntime(text, j)
		if !ok {
			stands, ok = g.callers(run, text, s)
		}
		if !ok {
			stands, ok = g.computed(text, j, s)
		}
		switch at := lineOf(run, span); {
		case !ok:
			g.lost(at, "run", "the expression %s has no counterpart in a script; %s", span, insteadOf(text))
			return span
		case !isPOSIX(s.Shell):
			g.lost(at, "run", "%s: only a shell script can use %s instead", span, stands)
			return span
		case inQuoting(stands, q) == "":
			g.lost(at, "run", "%s: the delimiter of the here-document has quotes, so the shell replaces nothing in it; remove them, and write %s", span, stands)
			return span
		}
		return inQuoting(stands, q)
	})
}

// lineOf returns the place of the first occurrence of a text in a script: its line, if the script has several.
func lineOf(run *node, text string) *node {
	at := &node{Line: run.Line, Column: run.Column}
	if before, _, found := strings.Cut(run.Text, text); found && strings.Contains(run.Text, "\n") {
		at.Line, at.Column = run.Line+1+strings.Count(before, "\n"), 1
	}
	return at
}

// callers gives a step a variable with a secret or a variable of the repository, which the caller of pawl has to set, and returns what
// stands for it.
func (g *github) callers(run *node, text string, s *step) (string, bool) {
	at := lineOf(run, text)
	caller, secret, ok := g.fromCaller(strictyaml.Field{Name: "run", Line: at.Line, Column: at.Column}, text)
	if !ok {
		return "", false
	}
	v := pawl.Variable{Value: "${" + caller + "}", Secret: secret}
	for _, name := range []string{caller, "CALLER_" + caller} {
		if other, taken := s.Env[name]; taken && other != v {
			continue
		}
		if other, taken := g.plan.Env[name]; taken && other != v {
			continue
		}
		if s.Env == nil {
			s.Env = pawl.Env{}
		}
		s.Env[name] = v
		return "${" + name + "}", true
	}
	return "", false
}

// insteadOf says what to write in place of an expression without a counterpart.
func insteadOf(text string) string {
	switch name := strings.ToLower(strings.TrimSpace(text)); {
	case strings.HasPrefix(name, "github.event"), strings.HasPrefix(name, "github.head_ref"), strings.HasPrefix(name, "github.base_ref"):
		return "pawl has no events; add a parameter, and read $PAWL_PARAM_NAME"
	case strings.HasPrefix(name, "github."):
		return "add a parameter, or write a command that prints it"
	case strings.HasPrefix(name, "needs."), strings.HasPrefix(name, "steps."):
		return "write the value to a file in the project in that step, and read it here"
	case strings.HasPrefix(name, "matrix."):
		return "the job has no such axis; write the value"
	case strings.HasPrefix(name, "secrets."), strings.HasPrefix(name, "vars."):
		return "name it in the env of the step, as NAME: $NAME, and read the variable"
	case strings.HasPrefix(name, "env."):
		return "read the variable"
	}
	return "write a command that prints it, or add a parameter"
}

// computed gives a step a variable with the value of an expression over parameters, and returns what stands for it.
func (g *github) computed(text string, j *githubJob, s *step) (string, bool) {
	value, ok := g.overParams(text, j)
	if !ok {
		return "", false
	}
	if s.Env == nil {
		s.Env = pawl.Env{}
	}
	for i := 1; ; i++ {
		name := fmt.Sprintf("EXPRESSION_%d", i)
		if old, taken := s.Env[name]; !taken || old.Value == value {
			s.Env[name] = pawl.Variable{Value: value}
			return "${" + name + "}", true
		}
	}
}

// overParams returns an expression over parameters as the value of a variable in a plan.
func (g *github) overParams(text string, j *githubJob) (string, bool) {
	e, err := parseExpression(text)
	if err != nil {
		return "", false
	}
	c := &conditions{github: g, job: j, values: true}
	text, _ = c.emit(e)
	text = outerless(text)
	if c.missing != "" || c.status || strings.Contains(text, "}}") {
		return "", false
	}
	if _, err := (expression.Language{}).CheckValue(text, &g.plan, false); err != nil {
		return "", false
	}
	return "${{ " + text + " }}", true
}

// fileCommands notes the files through which scripts talk to GitHub. It returns commands that set those of them that a plan
// can have.
func (g *github) fileCommands(j *githubJob, n, run *node, s *step) string {
	for _, f := range []struct{ name, instead string }{
		{"GITHUB_ENV", "write the variables to a file, and read it in the later step"},
		{"GITHUB_PATH", "set PATH in the env of the plan"},
		{"::set-output", "write the value to a file in the project, and read it in the later step"},
	} {
		if strings.Contains(run.Text, f.name) {
			g.lost(run, "run", "%s: pawl has no such file; %s", f.name, f.instead)
		}
	}
	commands := ""
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
		switch {
		case !strings.Contains(run.Text, name):
		case !isPOSIX(s.Shell) || j.matrix != nil:
			g.lost(run, "run", "%s: pawl has no such file; write to a file in the project", name)
		default:
			commands += name + "=\"$PAWL_OUT/" + name + "\"; mkdir -p \"$PAWL_OUT\"; : > \"$" + name + "\"; export " + name + "\n"
			g.note(run, "run", "%s becomes a file in PAWL_OUT, the folder of the step's artifacts", name)
		}
	}
	g.variablesOfGitHub(run)
	return commands
}

// outputOf returns the command that prints an output of a step, for steps.ID.outputs.NAME and needs.JOB.outputs.NAME.
func (g *github) outputOf(e *formula, j *githubJob) (string, bool) {
	parts := strings.Split(e.text, ".")
	if len(parts) != 4 || j == nil || !strings.EqualFold(parts[2], "outputs") || paramName(strings.ReplaceAll(parts[3], "-", "_")) != strings.ReplaceAll(parts[3], "-", "_") {
		return "", false
	}
	if strings.EqualFold(parts[0], "needs") {
		for _, other := range g.jobs {
			if source := other.body.Get("outputs").Get(parts[3]); other.name == parts[1] && source.Scalar() && findExpression(source.Text) == len(source.Text) {
				if inner, err := parseExpression(inside(source.Text)); err == nil && inner.op == "name" && strings.HasPrefix(inner.text, "steps.") {
					return g.outputOf(inner, other)
				}
			}
		}
		return "", false
	}
	id, known := j.steps[parts[1]]
	if !known || !strings.EqualFold(parts[0], "steps") || j.matrix != nil || !j.outputs[id] {
		return "", false
	}
	return "$(sed -n 's/^" + parts[3] + "=//p' \"${PAWL_OUT%/*}/" + string(id) + "/GITHUB_OUTPUT\" | tail -n 1)", true
}

// variablesOfGitHub notes variables that GitHub sets.
func (g *github) variablesOfGitHub(run *node) {
	for _, f := range []struct{ name, instead string }{
		{"GITHUB_WORKSPACE", "use PAWL_PROJECT"}, {"GITHUB_SHA", "use git rev-parse HEAD"}, {"GITHUB_REF", "use git symbolic-ref HEAD"},
		{"GITHUB_TOKEN", "name it in env: {GITHUB_TOKEN: $GITHUB_TOKEN}"}, {"RUNNER_TEMP", "use TMPDIR"}, {"GITHUB_EVENT", "pawl has no events"},
		{"GITHUB_REPOSITORY", "use git remote get-url origin"}, {"GITHUB_RUN_ID", "use PAWL_RUN"},
	} {
		if strings.Contains(run.Text, "$"+f.name) || strings.Contains(run.Text, "${"+f.name) {
			g.note(run, "run", "pawl does not set %s; %s", f.name, f.instead)
		}
	}
}

// static returns the value of an expression that is known now.
func (g *github) static(text string, j *githubJob) (string, bool) {
	e, err := parseExpression(text)
	if err != nil {
		return "", false
	}
	if e.op == "value" {
		return e.text, true
	}
	if e.op != "name" {
		return "", false
	}
	switch name := strings.ToLower(e.text); {
	case strings.HasPrefix(name, "env.") && j != nil:
		value, ok := j.env[e.text[len("env."):]]
		return value, ok && !strings.ContainsAny(value, "$`\"'\\\n")
	case name == "github.workflow":
		return g.plan.Name, true
	case name == "github.job" && j != nil:
		return j.name, true
	case name == "runner.os" && j != nil && j.system != "":
		return j.system, true
	}
	return "", false
}

// atRuntime returns what stands for an expression in a shell script.
func (g *github) atRuntime(text string, j *githubJob) (string, bool) {
	e, err := parseExpression(text)
	if err != nil || e.op != "name" {
		return "", false
	}
	name := strings.ToLower(e.text)
	if param, ok := g.inputOf(e); ok {
		return "${" + pawl.ParamVar(param) + "}", true
	}
	if axis, ok := strings.CutPrefix(name, "matrix."); ok && j != nil && j.matrix.has(axis) {
		return "${" + pawl.MatrixVar(axis) + "}", true
	}
	if variable, ok := strings.CutPrefix(name, "env."); ok && isVariable(e.text[len("env."):]) {
		return "${" + e.text[len(e.text)-len(variable):] + "}", true
	}
	if output, ok := g.outputOf(e, j); ok {
		return output, true
	}
	switch name {
	case "github.workspace":
		return "${PAWL_PROJECT}", true
	case "github.sha":
		return "$(git rev-parse HEAD)", true
	case "github.ref_name":
		return "$(git rev-parse --abbrev-ref HEAD)", true
	case "github.ref":
		return "$(git symbolic-ref HEAD)", true
	case "github.run_id":
		return "${PAWL_RUN}", true
	case "github.run_attempt":
		return "${PAWL_ATTEMPT}", true
	case "runner.temp":
		return "${TMPDIR:-/tmp}", true
	}
	return "", false
}

// inputOf returns the parameter for an input.
func (g *github) inputOf(e *formula) (string, bool) {
	for _, prefix := range []string{"inputs.", "github.event.inputs."} {
		if len(e.text) > len(prefix) && strings.EqualFold(e.text[:len(prefix)], prefix) {
			param, ok := g.inputs[e.text[len(prefix):]]
			return param, ok
		}
	}
	return "", false
}
