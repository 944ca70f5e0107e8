// Package planlint finds what a valid plan probably does not mean: failures that its shell does not notice, scripts for another
// shell, and shells that are not installed. It only warns about what it is sure of.
package planlint

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/stepenv"
	"pawl/internal/strictyaml"
)

// Warnings returns the warnings about a plan's scripts as [*strictyaml.Faults], nil if there are none.
func Warnings(name string, plan *pawl.Plan, file *strictyaml.File) error {
	l := linter{file.Without()}
	for _, step := range plan.Steps() {
		shell := step.Shell.Or(pawl.DefaultShell)
		l.pipe(&step.Run, "run", step.Run, shell)
		l.pipe(&step.Undo, "undo", step.Undo, shell)
		l.script(&step.Run, "run", step.Run, shell)
		l.script(&step.Undo, "undo", step.Undo, shell)
		l.expression(&step.Run, "run", step.Run)
		l.expression(&step.Undo, "undo", step.Undo)
		if step.Service != nil {
			l.script(&step.Service.Ready, "ready", step.Service.Ready, shell)
		}
		for _, check := range slices.Sorted(maps.Keys(step.Accept)) {
			at := strictyaml.Entry{Of: &step.Accept, Key: check}
			l.script(at, "check "+check, step.Accept[check], shell)
			l.expression(at, "check "+check, step.Accept[check])
		}
		if step.Agent != nil {
			l.expression(&step.Agent.Prompt, "prompt", step.Agent.Prompt)
		}
	}
	for _, h := range plan.Handlers() {
		at, shell := any(plan.OnSuccess), h.Shell.Or(pawl.DefaultShell)
		if h.ID == pawl.OnFailure {
			at = plan.OnFailure
		}
		l.pipe(at, string(h.ID), h.Run, shell)
		l.script(at, string(h.ID), h.Run, shell)
	}
	return l.Err(name)
}

type linter struct{ *strictyaml.File }

// pipe warns about a pipe. In a check the last command of a pipe decides, so checks may have pipes.
func (l *linter) pipe(at any, what, script string, shell pawl.Shell) {
	if shell != pawl.PlainSh && shell != pawl.StrictSh {
		return
	}
	from, to := pipe(commandsOf(script))
	if from == "" {
		return
	}
	instead := "use shell: bash, or write its output to a file first"
	if to == "head" || to == "grep" { // which may end first, which bash then takes for a failure
		instead = "write its output to a file first"
	}
	l.Errorf(at, "%s: in %q, sh ignores a failure of %s; %s", what, from+" … | "+to, from, instead)
}

func (l *linter) script(at any, what, script string, shell pawl.Shell) {
	if shell != pawl.PlainSh && shell != pawl.StrictSh && shell != pawl.Bash {
		return
	}
	commands, open := scan(script)
	if open != 0 {
		l.quote(at, what, script, open, shell)
	}
	if shell != pawl.Bash {
		if found, instead := bashOnly(script, commands); found != "" {
			l.Errorf(at, "%s: %q is not a command of POSIX sh and fails where /bin/sh is dash; %s", what, found, instead)
		}
	}
	if shell != pawl.PlainSh && readsStatus(commands) {
		l.Errorf(at, "%s: $? is always 0 here, because the script stops at a failed command; write: if COMMAND; then … else … fi, or use shell: sh", what)
	}
}

// quote warns about a quote that is not closed, if the shell says so too. With -n a shell reads a script and executes nothing.
func (l *linter) quote(at any, what, script string, open byte, shell pawl.Shell) {
	check := exec.Command(shell.Program(), "-n", "-c", script)
	check.Env = []string{"PATH=" + os.Getenv("PATH")} // not ENV or BASH_ENV, which name files
	if _, rejected := errors.AsType[*exec.ExitError](check.Run()); rejected {
		l.Errorf(at, "%s: a quote %c is not closed, and %s rejects the script", what, open, shell.Program())
	}
}

// expression warns about ${{ … }} in a script or prompt: only env, if and items have expressions, so that no value becomes part of a
// script.
func (l *linter) expression(at any, what, script string) {
	from := strings.Index(script, "${{")
	if from < 0 {
		return
	}
	instead := "set a variable in env to it, and read the variable"
	body, _, _ := strings.Cut(script[from+3:], "}}")
	if name, ok := strings.CutPrefix(strings.TrimSpace(body), "params."); ok && stepenv.IsName(name) {
		instead = "read $" + pawl.ParamVar(name)
	}
	l.ErrorWithin(at, utf8.RuneCountInString(script[:from]), "%s: pawl does not replace ${{ … }} here; %s", what, instead)
}

// harmless are commands whose failure in a pipe hides nothing.
var harmless = []string{"echo", "printf", "true", ":", "yes", "done", "fi", "esac", "}"}

// pipe returns the commands of the first pipe whose first one may fail unnoticed, "" for none.
func pipe(commands []command) (from, to string) {
	for i, c := range commands[:max(len(commands)-1, 0)] {
		next := commands[i+1]
		if next.after == "|" && !c.unsure && !next.unsure && !slices.Contains(harmless, c.words[0]) {
			return c.words[0], next.words[0]
		}
	}
	return "", ""
}

// bashOnly returns the first command that only bash has, and what to use instead; "" for none.
func bashOnly(script string, commands []command) (found, instead string) {
	for _, c := range commands {
		switch word := c.words[0]; word {
		case "source":
			if len(c.words) > 1 && !strings.Contains(script, "source()") {
				return "source " + c.words[1], fmt.Sprintf("write: . %s, or use shell: bash", dotPath(c.words[1]))
			}
		case "[[", "shopt", "declare", "pushd", "popd", "mapfile", "readarray":
			if !strings.Contains(script, word+"()") {
				return word, "use shell: bash"
			}
		case "set":
			if slices.Contains(c.words, "pipefail") {
				return "set -o pipefail", "use shell: bash, which sets it"
			}
		}
	}
	return "", ""
}

// dotPath returns a path that the command "." does not search in PATH.
func dotPath(path string) string {
	if strings.ContainsAny(path, "/$") {
		return path
	}
	return "./" + path
}

// readsStatus reports whether a script looks at $? after a command whose failure has ended it.
func readsStatus(commands []command) bool {
	for i, c := range commands {
		switch {
		case c.words[0] == "set" && len(c.words) > 1 && strings.HasPrefix(c.words[1], "+"), c.words[0] == "trap":
			return false
		case i == 0 || !c.status || c.unsure || c.after != ";" && c.after != "\n":
			continue
		}
		before := commands[i-1]
		ended := before.after == "" || before.after == ";" || before.after == "\n"
		if ended && !before.condition && !before.unsure && !slices.Contains(harmless, before.words[0]) {
			return true
		}
	}
	return false
}

// packages are the usual packages of programs whose package has another name.
var packages = map[string]string{"node": "nodejs", "Rscript": "r-base-core", "pwsh": "powershell", "php": "php-cli", "python": "python3"}

// Missing returns an error for each shell of a plan that is not installed, as [*strictyaml.Faults], nil if there are none. path
// is the PATH of steps that do not set their own.
func Missing(name string, plan *pawl.Plan, file *strictyaml.File, path string) error {
	l := linter{file.Without()}
	for _, step := range append(plan.Steps(), plan.Handlers()...) {
		shell := step.Shell.Or(pawl.DefaultShell)
		if !usesShell(step) || installed(shell.Program(), searchPath(plan, step, path)) {
			continue
		}
		at := any(&step.Shell)
		switch {
		case step.ID == pawl.OnSuccess && plan.OnSuccess != nil:
			at = &plan.OnSuccess.Shell
		case step.ID == pawl.OnFailure && plan.OnFailure != nil:
			at = &plan.OnFailure.Shell
		}
		if !l.Given(at) {
			at = &plan.Defaults.Shell
		}
		l.Errorf(at, "%s", missingText(shell))
	}
	return l.Err(name)
}

// MissingFor returns an error for the first of the steps whose shell is not installed, nil for none.
func MissingFor(plan *pawl.Plan, steps []*pawl.Step, path string) error {
	type search struct{ program, path string }
	found := map[search]bool{}
	for _, step := range steps {
		shell := step.Shell.Or(pawl.DefaultShell)
		s := search{shell.Program(), searchPath(plan, step, path)}
		if !usesShell(step) || found[s] {
			continue
		}
		if !installed(s.program, s.path) {
			return fmt.Errorf("step %s: %s", step.ID, missingText(shell))
		}
		found[s] = true
	}
	return nil
}

// usesShell reports whether this machine needs the shell of a step.
func usesShell(step *pawl.Step) bool {
	return step.Run != "" && dispatch.QueueOf(step) == "" || step.Undo != "" || len(step.Accept) > 0
}

// searchPath returns the PATH of a step.
func searchPath(plan *pawl.Plan, step *pawl.Step, path string) string {
	if own, set := plan.EnvOf(step)["PATH"]; set {
		return own.Value
	}
	return path
}

// missingText says what to install.
func missingText(shell pawl.Shell) string {
	program := shell.Program()
	pkg := packages[program]
	if pkg == "" {
		pkg = filepath.Base(program)
	}
	return fmt.Sprintf("%s, the program of shell %q, is not installed; install the package %s, or use another shell", program, shell, pkg)
}

// installed reports whether a program exists. What a step may still create counts as existing, and what
// is unknown here: a program in the project, in a relative folder of PATH, or in one with variables.
func installed(program, path string) bool {
	if strings.Contains(program, "/") {
		_, err := exec.LookPath(program)
		return err == nil || !filepath.IsAbs(program)
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) || strings.Contains(folder, "$") {
			return true
		}
		if _, err := exec.LookPath(filepath.Join(folder, program)); err == nil {
			return true
		}
	}
	return false
}
