// Package supply collects the values that a run gets from the process that starts or resumes it: parameters, variables that the
// plan names, and secrets. It says what differs from the values that the run began with.
package supply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/userfile"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/expression"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
	"pawl/internal/strictyaml"
)

// Flags are --param and --params of a command.
type Flags struct {
	Params ParamList
	File   string // YAML or JSON
	Folder string // that File is relative to; empty: the current one
}

// ParamList is the value of the repeatable flag --param NAME=VALUE.
type ParamList []string

// Set adds a parameter.
func (l *ParamList) Set(text string) error {
	name, _, given := strings.Cut(text, "=")
	if !given || name == "" {
		return errors.New("use the form NAME=VALUE")
	}
	*l = append(*l, text)
	return nil
}

// String returns nothing: help shows no default, and a value may be a secret.
func (l *ParamList) String() string { return "" }

// Type is what help prints as the name of the value.
func (l *ParamList) Type() string { return "NAME=VALUE" }

// Args returns the flags for another command in the same process environment.
func (f Flags) Args() []string {
	var args []string
	for _, param := range f.Params {
		args = append(args, "--param", param)
	}
	if f.File != "" {
		path := f.File
		if f.Folder != "" && !filepath.IsAbs(path) {
			path = filepath.Join(f.Folder, path)
		}
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		args = append(args, "--params", path)
	}
	return args
}

// maxParamFile is the maximum size of a file of parameters.
const maxParamFile = disk.ConfigLimit

// values returns the parameters, of the types that are declared. --param replaces what the file has.
func (f Flags) values(declared map[string]pawl.Parameter) (map[string]string, error) {
	values := map[string]string{}
	if f.File != "" {
		if f.Folder != "" && !filepath.IsAbs(f.File) {
			f.File = filepath.Join(f.Folder, f.File)
		}
		data, err := userfile.Read(f.File, "parameter", maxParamFile)
		if err != nil {
			return nil, err
		}
		if values, err = planfile.ReadParams(f.File, data, declared); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, text := range f.Params {
		name, value, _ := strings.Cut(text, "=")
		if seen[name] {
			return nil, usageError("parameter %s is given twice", name)
		}
		seen[name], values[name] = true, value
	}
	return values, nil
}

// Request says for what values are collected.
type Request struct {
	Project  *project.Project
	Plan     *pawl.Plan       // as written
	Name     string           // of the plan's file, for errors
	File     *strictyaml.File // positions in the plan's file; nil: errors have no position
	Recorded pawl.GivenValues // what the run has
	Run      pawl.RunID       // empty for a new run
	Flags    Flags
	Ask      func(question string) (string, error) // nil: no terminal
}

// Collect collects the values. The errors that it returns contain no value of a secret. From then on, this process redacts the
// secrets in what it stores.
func Collect(r Request) (stepenv.Collected, error) {
	if r.Plan == nil {
		return stepenv.Collected{}, nil
	}
	params, err := r.Flags.values(r.Plan.Params)
	if err != nil {
		return stepenv.Collected{}, err
	}
	source := stepenv.Source{
		Environ: os.Environ(), Params: params, Evaluate: expression.Evaluate, Key: r.Project.SecretKey, Ask: r.Ask, Resuming: r.Run != "",
		Read: func(file string) ([]byte, error) {
			return disk.ReadBelow(r.Project.Root, filepath.FromSlash(file), stepenv.MaxDotenv)
		},
	}
	c, err := source.Collect(r.Plan, r.Recorded)
	redact.Learn(c.Secrets.ByVariable())
	if err != nil {
		return c, r.explain(err)
	}
	return c, nil
}

// explain adds positions and a hint to an error of Collect.
func (r Request) explain(err error) error {
	missing, isMissing := errors.AsType[*stepenv.MissingError](err)
	if isMissing && r.File != nil && r.Run == "" {
		err = r.locate(err, missing)
	}
	var hint string
	switch {
	case isMissing && r.Run != "":
		hint = "run the command again with the variable set: " + missing.Variables[0] + "=… pawl resume " + string(r.Run)
	case isMissing:
		hint = "set the variable, or write ${" + missing.Variables[0] + ":-default} in the plan"
	}
	return &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: hint}
}

// locate replaces the error about missing variables by one with their positions in the plan.
func (r Request) locate(err error, missing *stepenv.MissingError) error {
	at := planfile.MissingVariables(r.Name, r.Plan, r.File, missing.Variables)
	joined, ok := err.(interface{ Unwrap() []error })
	if at == nil || !ok {
		return err
	}
	all := slices.Clone(joined.Unwrap())
	for i := range all {
		if all[i] == error(missing) {
			all[i] = at
		}
	}
	return errors.Join(all...)
}

// Withheld returns a note that names the variables of this process that no step of the plan gets, because they may hold secrets;
// nothing if there are none. credentials returns those that a step gets by itself.
func Withheld(plan *pawl.Plan, credentials func(*pawl.Step) []string) []string {
	_, names := stepenv.Inherited(os.Environ())
	if len(names) == 0 {
		return nil
	}
	used := stepenv.References(plan)
	for _, step := range plan.Steps() {
		used = append(used, credentials(step)...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == config.PostgresVariable || slices.Contains(used, name) })
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("steps do not get variables that may hold secrets: %s; to pass one on, name it in the plan: env: {%s: $%s}",
		listed(names), names[0], names[0])}
}

// maxListed is the maximum number of variables in a note.
const maxListed = 10

func listed(names []string) string {
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

// ForResume collects the values for a run that resumes, and returns notes for the user. A dry run asks for nothing, and notes
// what is missing.
func ForResume(p *project.Project, r *runs.Run, flags Flags, dry bool, ask func(string) (string, error)) (c stepenv.Collected, notes []string, err error) {
	text, err := resume.PlanText(p, r)
	if err != nil || text == nil {
		return c, nil, err
	}
	if dry {
		ask = nil
	}
	c, err = Collect(Request{Project: p, Plan: text, Recorded: r.State.Given, Run: r.State.Run, Flags: flags, Ask: ask})
	if len(c.Differs) > 0 {
		notes = append(notes, "the run keeps the values that it began with; these variables differ now: "+listed(c.Differs))
	}
	if err != nil {
		c = stepenv.Collected{}
	}
	if len(c.Unknown) > 0 {
		notes = append(notes, "the run was made elsewhere: pawl cannot compare these secrets with those that it began with, and uses the present values: "+listed(c.Unknown))
	}
	if dry && err != nil {
		return c, append(notes, "pawl resume would fail: "+err.Error()), nil
	}
	return c, notes, err
}

// ForWhy collects the values that --param and --params give a run, and returns notes for the user. Without these flags there are none.
func ForWhy(p *project.Project, r *runs.Run, flags Flags) (pawl.GivenValues, []string, error) {
	if len(flags.Params) == 0 && flags.File == "" {
		return pawl.GivenValues{}, nil, nil
	}
	c, notes, err := ForResume(p, r, flags, false, nil)
	return c.New, notes, err
}

// ForRollback returns the secrets of a run for its undo commands.
func ForRollback(ctx context.Context, p *project.Project, run pawl.RunID, ask func(string) (string, error)) (stepenv.Secrets, error) {
	r, err := runs.Load(ctx, p, run)
	if err != nil {
		return stepenv.Secrets{}, err
	}
	defer r.Log.Close()
	c, err := Collect(Request{Project: p, Plan: r.Text, Recorded: r.State.Given, Run: run, Ask: ask})
	return c.Secrets, err
}

// Changes prints and returns what a resume changes in the values of a run, which needs a confirmation.
func Changes(w io.Writer, c stepenv.Collected) []string {
	var lines []string
	for _, change := range c.Changed {
		lines = append(lines, "parameter "+change)
	}
	for _, name := range c.Replaced {
		lines = append(lines, "secret "+name+" is not the one that the run began with")
	}
	for _, line := range lines {
		fmt.Fprintf(w, "  changed  %s\n", line)
	}
	return lines
}

// Prompt returns a function that asks for a secret on the terminal, without echo; nil without a terminal.
func Prompt(in io.Reader, out io.Writer) func(question string) (string, error) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || !layout.IsTerminal(out) {
		return nil
	}
	return func(question string) (string, error) {
		before, err := term.MakeRaw(int(file.Fd())) // what is typed or pasted at once is not echoed either
		if err != nil {
			return "", err
		}
		defer term.Restore(int(file.Fd()), before)
		fmt.Fprintf(out, "Value of %s: ", question)
		value, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprint(out, "\r\n")
		return string(value), err
	}
}

// Once returns a function that asks each question once, after before, and then remembers the reply; nil for nil.
func Once(ask func(question string) (string, error), before func()) func(question string) (string, error) {
	if ask == nil {
		return nil
	}
	replies := map[string]string{}
	return func(question string) (string, error) {
		if reply, known := replies[question]; known {
			return reply, nil
		}
		before()
		reply, err := ask(question)
		if err == nil {
			replies[question] = reply
		}
		return reply, err
	}
}

func usageError(format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...)}
}
