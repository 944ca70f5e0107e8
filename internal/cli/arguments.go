package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
)

// argument is a positional argument as error messages name it.
type argument struct {
	name string // as in the usage line, such as GATE
	// candidates returns the values that the user can choose from, as "open gates: a, b". Empty: none are known. May be nil.
	candidates func(*cobra.Command) string
	hint       string // a command that lists the candidates
}

// exactArgs accepts exactly the given arguments. Its error names the first one that is missing, and lists its candidates.
func exactArgs(wanted ...argument) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(wanted) {
			return missingArgument(c, wanted[len(args)])
		}
		return tooMany(c, args, len(wanted))
	}
}

// atLeastOne accepts one or more arguments.
func atLeastOne(first argument) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return missingArgument(c, first)
		}
		return nil
	}
}

// oneOrTwo accepts a required and an optional argument.
func oneOrTwo(first argument) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return missingArgument(c, first)
		}
		return tooMany(c, args, 2)
	}
}

func noArgs(c *cobra.Command, args []string) error { return tooMany(c, args, 0) }

func atMostOne(c *cobra.Command, args []string) error { return tooMany(c, args, 1) }

func tooMany(c *cobra.Command, args []string, limit int) error {
	switch {
	case len(args) <= limit:
		return nil
	case limit == 0:
		return fmt.Errorf("%s takes no arguments, got %q", c.Name(), args[0])
	}
	return fmt.Errorf("%s takes at most %s, got %d", c.Name(), layout.Count(limit, "argument"), len(args))
}

func missingArgument(c *cobra.Command, wanted argument) error {
	article := "a"
	if strings.ContainsAny(wanted.name[:1], "AEIO") {
		article = "an"
	}
	text := fmt.Sprintf("%s needs %s %s", c.Name(), article, wanted.name)
	if wanted.candidates != nil {
		if list := wanted.candidates(c); list != "" {
			text += "; " + list
		}
	}
	if wanted.hint == "" {
		return fmt.Errorf("%s", text)
	}
	if strings.HasSuffix(wanted.hint, "--help") {
		return usageError(c.CommandPath()+" --help", "%s", text)
	}
	return usageError(wanted.hint, "%s", text)
}

// gateArgument is GATE. Its candidates are the open gates of the run that --run names.
func (a *app) gateArgument() argument {
	return argument{name: "GATE", hint: "pawl gates", candidates: func(c *cobra.Command) string {
		_, r, err := a.loadRun(c.Context(), flagValue(c, "run"))
		if err != nil {
			return ""
		}
		defer r.Log.Close()
		return layout.OpenGates(r.State)
	}}
}

// stepArgument is STEP. Its candidates are the steps of the run that --run names.
func (a *app) stepArgument() argument {
	return argument{name: "STEP", hint: "pawl status", candidates: func(c *cobra.Command) string {
		_, r, err := a.loadRun(c.Context(), flagValue(c, "run"))
		if err != nil {
			return ""
		}
		defer r.Log.Close()
		var ids []pawl.StepID
		for _, step := range append(r.Plan.Steps(), r.Plan.Handlers()...) {
			ids = append(ids, step.ID)
		}
		return layout.Candidates("steps", ids)
	}}
}

// checkpointArgument is CHECKPOINT. Its candidates are the newest checkpoints of the current run.
func (a *app) checkpointArgument() argument {
	return argument{name: "CHECKPOINT", hint: "pawl checkpoints --all", candidates: func(c *cobra.Command) string {
		var list string
		err := a.withCheckpoints(c.Context(), true, func(t *checkpointAccess) error {
			ids, err := t.runs(c.Context(), "", false)
			if err != nil {
				return err
			}
			found, err := history.Checkpoints(c.Context(), t.project, t.store, ids...)
			var newest []pawl.CheckpointID
			for _, saved := range slices.Backward(found) {
				newest = append(newest, saved.ID)
			}
			list = layout.Candidates("newest checkpoints", newest)
			return err
		})
		if err != nil {
			return ""
		}
		return list
	}}
}

// systemArgument is SYSTEM. Its candidates are the systems whose files pawl reads and writes.
func (a *app) systemArgument() argument {
	return argument{name: "SYSTEM", hint: "pawl import --help", candidates: func(*cobra.Command) string { return "systems: " + a.systems() }}
}

// numberVar adds a flag that takes a whole number of at least min.
func numberVar(c *cobra.Command, value *int, name, short string, byDefault, min int, usage string) {
	c.Flags().VarP(flags.Number(value, name, byDefault, min), name, short, usage)
}

// givenFlags returns those of some flags that the command line has, each with its dashes.
func givenFlags(c *cobra.Command, names ...string) []string {
	var given []string
	for _, name := range names {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// flagValue returns the value of a flag; empty if the command has no such flag.
func flagValue(c *cobra.Command, name string) string {
	if f := c.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// yesFlag adds --yes.
func yesFlag(c *cobra.Command, yes *bool, usage string) {
	c.Flags().BoolVarP(yes, "yes", "y", false, usage)
}

// textFlag adds a flag with a text, which the usage calls placeholder. The default is the present value of text.
func textFlag(c *cobra.Command, text *string, name, placeholder, usage string) {
	c.Flags().StringVar(text, name, *text, usage)
	setPlaceholder(c, name, placeholder)
}

func runFlag(c *cobra.Command, run *string) {
	textFlag(c, run, "run", "RUN", helptext.Run)
}

func messageFlag(c *cobra.Command, text *string, usage string) {
	c.Flags().StringVarP(text, "message", "m", "", usage)
	setPlaceholder(c, "message", "TEXT")
}

// setPlaceholder sets the name of a flag's value in the usage. A description with the name in backquotes needs no placeholder.
func setPlaceholder(c *cobra.Command, name, placeholder string) {
	f := c.Flags().Lookup(name)
	f.Value = flags.Named{Value: f.Value, Name: placeholder}
	if f.DefValue == "[]" {
		f.DefValue = "" // pflag prints the empty list of a type that it does not know
	}
}

// requireFlags marks flags as required.
func requireFlags(c *cobra.Command, names ...string) {
	for _, name := range names {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// requiredFlags returns an error that names the required flags that are missing, each with its value: "review needs --by NAME".
func requiredFlags(c *cobra.Command) error {
	err := c.ValidateRequiredFlags()
	if err == nil {
		return nil
	}
	var missing []string
	for i, name := range strings.Split(err.Error(), `"`) { // cobra's error has the names in quotes
		if f := c.Flags().Lookup(name); i%2 == 1 && f != nil {
			value := f.Value.Type()
			if quoted := strings.Split(f.Usage, "`"); len(quoted) == 3 {
				value = quoted[1]
			} else if value == "bool" {
				value = ""
			}
			missing = append(missing, strings.TrimSpace("--"+name+" "+value))
		}
	}
	return fmt.Errorf("%s needs %s", c.Name(), strings.Join(missing, " and "))
}
