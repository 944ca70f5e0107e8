// Package cli is pawl's command line: one file a command, each a thin skin over package engine.
//
// Reading commands print for people on a terminal, plain lines in a pipe, and with --json typed data. Without a
// terminal nothing prompts. Errors are one line "pawl: error: …" and, where there is one, "pawl: hint: <command>".
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/engine"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/version"
)

// IO is where a command reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is what all commands share.
type app struct {
	IO
	version string
	parts   Parts
	folder  string // -C
	json    bool
	told    []pawl.Finding // that printWorst has printed
}

// Parts are the adapters that main wires in.
type Parts struct {
	Executors []engine.Executor
	Adviser   func(c config.Evaluator, root string) engine.Adviser // whom a project asks; nil for nobody
	Agents    func(ctx context.Context, s Serving) error           // serves them
	Formats    interop.Formats                                       // of other systems
}

// Run carries out one command line. The error says which exit code it deserves.
func Run(ctx context.Context, args []string, streams IO, build string, parts Parts) error {
	a := &app{IO: streams, version: build, parts: parts}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	return root.ExecuteContext(ctx)
}

// Report prints an error as people and scripts expect it, and returns the exit code.
func Report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	text := strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n", "\n       ")
	fmt.Fprintf(w, "pawl: error: %s\n", text)
	if hint := pawl.HintOf(err); hint != "" {
		fmt.Fprintf(w, "pawl: hint: %s\n", hint)
	}
	return exitCodes[pawl.KindOf(err)]
}

// exitCodes is the one place that maps kinds of errors to exit codes.
var exitCodes = map[pawl.Kind]int{
	pawl.KindInternal: 1, pawl.KindUsage: 2, pawl.KindAtGate: 3, pawl.KindRunFailed: 4,
	pawl.KindDamaged: 5, pawl.KindHeld: 6, pawl.KindNothing: 7, pawl.KindInterrupted: 130,
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "pawl",
		Short:         "Keeps agent work from slipping back",
		Long:          "pawl runs plans, records durably what was meant and done, and goes on from the exact stopping point after any death.",
		Version:       version.Read().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(c.ValidateRequiredFlags(), c.ValidateFlagGroups()); err != nil {
				return wrongUsage(c, err)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVarP(&a.folder, "directory", "C", "", "work as if started in this folder")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError(c.CommandPath()+" --help", "%v", err) })
	root.AddGroup(
		&cobra.Group{ID: "work", Title: "Work:"},
		&cobra.Group{ID: "look", Title: "Look:"},
		&cobra.Group{ID: "person", Title: "A person's part:"},
		&cobra.Group{ID: "travel", Title: "Travel in time:"},
		&cobra.Group{ID: "tell", Title: "Tell:"},
		&cobra.Group{ID: "agents", Title: "Agents:"},
		&cobra.Group{ID: "other", Title: "Other systems:"},
		&cobra.Group{ID: "care", Title: "Care:"},
	)
	groups := map[string][]*cobra.Command{
		"work":   {a.initCommand(), a.runCommand(), a.resumeCommand(), a.pauseCommand(), a.stopCommand(), a.retryCommand(), a.skipCommand()},
		"look":   {a.statusCommand(), a.briefCommand(), a.watchCommand(), a.runsCommand(), a.outputCommand(), a.logCommand(), a.statsCommand(), a.planCommand(), a.whyCommand(), a.explainCommand()},
		"person": {a.gatesCommand(), a.approveCommand(), a.rejectCommand(), a.answerCommand(), a.askCommand(), a.reviewCommand()},
		"travel": {a.checkpointCommand(), a.checkpointsCommand(), a.showCommand(), a.diffCommand(), a.restoreCommand(), a.forkCommand(), a.rollbackCommand()},
		"tell":   {a.progressCommand(), a.learnCommand(), a.decideCommand(), a.blockCommand(), a.unblockCommand(), a.memoryCommand()},
		"agents": {a.attachCommand(), a.detachCommand(), a.mcpCommand(), a.hookCommand()},
		"other":  {a.importCommand(), a.exportCommand()},
		"care":   {a.processesCommand(), a.verifyCommand(), a.recoverCommand(), a.pruneCommand(), a.archiveCommand(), a.doctorCommand(), a.versionCommand()},
	}
	for id, commands := range groups {
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	wrapArgs(root)
	return root
}

// wrapArgs makes wrong arguments an error of KindUsage that says how the command is used.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return wrongUsage(c, err)
			}
			return nil
		}
	} else if c.HasSubCommands() {
		c.Args, c.SuggestionsMinimumDistance = cobra.ArbitraryArgs, 2
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return usageError(didYouMean(c, args[0]), "no command %q", args[0])
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// didYouMean returns a command that is there and resembles name, or else how to find one.
func didYouMean(c *cobra.Command, name string) string {
	if near := c.SuggestionsFor(name); len(near) > 0 {
		return c.CommandPath() + " " + near[0]
	}
	return c.CommandPath() + " --help"
}

// wrongUsage adds to an error how the command is used, unless it says itself what to do.
func wrongUsage(c *cobra.Command, err error) error {
	if pawl.HintOf(err) != "" {
		return err
	}
	return usageError(c.CommandPath()+" --help", "%v; usage: %s", err, c.UseLine())
}

func (a *app) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "print typed JSON")
	return c
}

// here returns the folder that the user stands in, -C considered.
func (a *app) here() (string, error) {
	return filepath.Abs(a.folder)
}

// project returns the project that the user stands in.
func (a *app) project() (*project.Project, error) {
	here, err := a.here()
	if err != nil {
		return nil, err
	}
	return project.Find(here)
}

// projectOrInit returns the project that the user stands in, making one of the current folder where there is none.
func (a *app) projectOrInit() (*project.Project, error) {
	p, err := a.project()
	if !errors.Is(err, pawl.ErrNoProject) {
		return p, err
	}
	here, err := a.here()
	if err != nil {
		return nil, err
	}
	return project.Init(here)
}

// open loads a run by its name: an id, a unique prefix of one, "latest"; empty for the current one.
func (a *app) open(ctx context.Context, p *project.Project, name string) (*runs.Run, error) {
	run, err := runs.FindRun(ctx, p, name)
	if err != nil {
		return nil, err
	}
	return runs.Load(ctx, p, run)
}

// perform has a person do something to a run.
func (a *app) perform(ctx context.Context, name string, act runs.Act) (*project.Project, *runs.Run, error) {
	p, err := a.project()
	if err != nil {
		return nil, nil, err
	}
	run, err := runs.FindRun(ctx, p, name)
	if err != nil {
		return nil, nil, err
	}
	r, err := runs.Perform(ctx, p, run, me(), act)
	if err != nil {
		return p, nil, err
	}
	a.sayNotes(r.Notes)
	a.refreshMirror(ctx, p, r)
	return p, r, nil
}

// sayNotes says what people should know that is no error.
func (a *app) sayNotes(notes []string) {
	for _, note := range notes {
		fmt.Fprintf(a.Err, "pawl: note: %s\n", strings.ReplaceAll(note, "\n", "\n      "))
	}
}

// me is the person at the keyboard, or the agent that says so.
func me() pawl.Author {
	by := pawl.Author{Kind: pawl.ByPerson, Name: os.Getenv("USER")}
	if by.Name == "" {
		if u, err := user.Current(); err == nil {
			by.Name = u.Username
		}
	}
	return by
}

// engineConfig returns what engines of this project are told.
func (a *app) engineConfig(p *project.Project) (engine.Config, error) {
	c, err := config.Read(p.Config())
	if err != nil {
		return engine.Config{}, err
	}
	return engine.Config{
		Project: p, Executors: a.parts.Executors, Parallel: c.Parallel, OutputCap: int64(c.OutputCap), PIDNamespace: c.PIDNamespace,
		Snapshots: c.Snapshots,
		Mirror:    a.mirrorWith(p, ""),
		Watchdog: engine.Watchdog{
			Heartbeat: time.Duration(c.Heartbeat), Warning: time.Duration(c.Warning), Stalled: time.Duration(c.Stalled),
		},
		Adviser: a.parts.Adviser(c.Evaluator, p.Root),
	}, nil
}

// printJSON prints a typed value.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// onTerminal reports whether w is a terminal that redraws.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// confirm asks a yes-or-no question on a terminal. Without one the answer is an error that names --yes.
func (a *app) confirm(question string) error {
	if !a.hasPerson() {
		return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New(question + " Nobody is here to ask: say --yes")}
	}
	if yes, err := a.ask(question, false); err != nil || !yes {
		return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("nothing was done")}
	}
	return nil
}

// hasPerson reports whether somebody sits at a terminal who can be asked.
func (a *app) hasPerson() bool {
	in, ok := a.In.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && onTerminal(a.Out)
}

// ask asks a yes-or-no question of who sits there; standard is the answer of one who only presses return, or says
// something else. An end of the input is no answer.
func (a *app) ask(question string, standard bool) (yes bool, err error) {
	choice := "[y/N]"
	if standard {
		choice = "[Y/n]"
	}
	fmt.Fprintf(a.Out, "%s %s ", question, choice)
	var reply string
	if _, err := fmt.Fscanln(a.In, &reply); errors.Is(err, io.EOF) {
		return false, &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("nothing was done")}
	}
	switch strings.ToLower(reply) {
	case "y", "yes":
		return true, nil
	case "n", "no":
		return false, nil
	}
	return standard, nil
}

func usageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// optional returns the argument at i, empty where there is none.
func optional(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
