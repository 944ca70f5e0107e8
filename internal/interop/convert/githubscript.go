package convert

import (
	"strings"

	"pawl"
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
	script := g.rewrite(run, j, s.Shell)
	if strings.TrimSpace(script) == "" {
		script = "true\n"
	}
	g.fileCommands(run)
	if len(exports) > 0 && !isPOSIX(s.Shell) {
		g.lost(run, "env", "%s: only a shell script can set the variable %s", s.Shell, exports[0].name)
		exports = nil
	}
	var prologue strings.Builder
	for _, e := range exports {
		prologue.WriteString("export " + e.name + "=\"" + e.value + "\"\n")
	}
	s.Run = prologue.String() + script
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
func (g *github) rewrite(run *node, j *githubJob, shell pawl.Shell) string {
	return rewriteScript(run.Text, findExpression, func(span string, q quoting) string {
		text := inside(span)
		if value, ok := g.static(text, j); ok {
			return value
		}
		stands, ok := g.atRuntime(text, j)
		switch {
		case !ok:
			g.lost(run, "run", "the expression %s has no counterpart in a script", span)
			return span
		case !isPOSIX(shell):
			g.lost(run, "run", "%s: only a shell script can have %s for it", span, stands)
			return span
		case inQuoting(stands, q) == "":
			g.lost(run, "run", "%s: it is in a here-document that replaces nothing; remove the quotes of the delimiter, and write %s", span, stands)
			return span
		}
		return inQuoting(stands, q)
	})
}

// fileCommands notes the files through which scripts talk to GitHub.
func (g *github) fileCommands(run *node) {
	for _, f := range []struct{ name, instead string }{
		{"GITHUB_OUTPUT", "write the value to a file in the project, and read it in the later step"},
		{"GITHUB_ENV", "write the variables to a file, and read it in the later step"},
		{"GITHUB_PATH", "set PATH in the env of the plan"},
		{"GITHUB_STEP_SUMMARY", "write to a file in the project, or use pawl learn"},
		{"::set-output", "write the value to a file in the project, and read it in the later step"},
	} {
		if strings.Contains(run.Text, f.name) {
			g.lost(run, "run", "%s: pawl has no such file; %s", f.name, f.instead)
		}
	}
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
		return "${" + matrixVar(axis) + "}", true
	}
	if variable, ok := strings.CutPrefix(name, "env."); ok && isVariable(e.text[len("env."):]) {
		return "${" + e.text[len(e.text)-len(variable):] + "}", true
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
func (g *github) inputOf(e *expression) (string, bool) {
	for _, prefix := range []string{"inputs.", "github.event.inputs."} {
		if len(e.text) > len(prefix) && strings.EqualFold(e.text[:len(prefix)], prefix) {
			param, ok := g.inputs[e.text[len(prefix):]]
			return param, ok
		}
	}
	return "", false
}
