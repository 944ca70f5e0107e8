// Package cli is pawl's command line: one file per command, each a thin layer over runs, history, resume and engine.
//
// Commands print progress bars on a terminal, plain lines to a pipe, and typed data with --json. They prompt only on a
// terminal. An error is printed as "pawl: error: …", followed by "pawl: hint: <command>" if a command helps. A run that
// waits for a person, or that the user interrupted, is not an error: it is printed without "error:".
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/cli/failure"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/holder"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/permission"
	"pawl/internal/cli/quick"
	"pawl/internal/cli/remote"
	"pawl/internal/cli/remotecmd"
	"pawl/internal/cli/storecmd"
	"pawl/internal/cli/workercmd"
	"pawl/internal/cli/worktrees"
	"pawl/internal/config"
	"pawl/internal/discover"
	"pawl/internal/engine"
	"pawl/internal/httpaccess"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/version"
)

// IO has the streams that a command reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}

// app holds what all commands share.
type app struct {
	IO
	version     string
	parts       Parts
	args        []string                              // the command line
	folder      string                                // value of -C
	command     string                                // name of the command, without its subcommands
	json        bool                                  // value of --json
	permitted   *caller.Caller                        // who was permitted to use the command; nil if anybody may
	permittedIn string                                // root of the project in which permitted was found out; "" for none
	found       *project.Project                      // the trusted project that a check of the command has found
	reads       bool                                  // the command only reads, so it works in an untrusted project
	untrusted   bool                                  // the project is untrusted: what the command prints is quoted
	server      remote.Flags                          // values of --server and --server-project
	remote      bool                                  // a server does the command
	mayWait     bool                                  // the command has --wait
	printed     []pawl.Finding                        // findings that printProblems has printed
	secrets     func(question string) (string, error) // see secretPrompt
	ahead       *engine.Ahead                         // the walk that began before its engine, until a person is asked
}

// Parts are the adapters that main passes in.
type Parts struct {
	Executors []engine.Executor
	Temporal  func(config.Temporal) engine.Executor                  // does the steps on the queues that the user has given to a server
	Adviser   func(c config.Evaluator, root string) engine.Evaluator // the evaluator that a project has configured; nil if none
	Agents    func(ctx context.Context, s Serving) error             // runs the MCP server
	Formats   interop.Formats                                        // formats of other systems
	Send      func(context.Context, pawl.Delivery) (tries int, err error)
	Tracer    func(config.Traces) engine.Tracer                                         // nil if the user has configured no collector
	Serve     func(ctx context.Context, s httpaccess.Service, out, log io.Writer) error // runs the daemon of all projects
}

// Run executes one command line. Report maps its error to an exit code.
func Run(ctx context.Context, args []string, streams IO, build string, parts Parts) error {
	caller.Prepare()
	colours := layout.ColourModeOf(args)
	streams.Out, streams.Err = layout.Coloured(streams.Out, colours), layout.Coloured(streams.Err, colours)
	a := &app{IO: streams, version: build, parts: parts, args: args}
	root := a.called()
	root.SetArgs(args)
	return a.finish(ctx, root.ExecuteContext(ctx))
}

// finish returns the error of a command with all that Report prints of it.
func (a *app) finish(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if a.remote {
		return a.asWanted(err)
	}
	if here, hereErr := a.here(); hereErr == nil {
		if p, findErr := project.FindOrMain(here); findErr == nil && p.Trust.Trusted() {
			err = holder.Describe(ctx, p, err, a.mayWait)
		}
	}
	if i := hints.NthWord(a.args, 0); i >= 0 {
		err = hints.Elsewhere(a.args[i], err)
	}
	return a.asWanted(a.reachableHint(hints.OrImport(err, a.command, func() []discover.Found { return a.unimported(ctx) })))
}

// asWanted returns an error that Report prints as the command line asks for.
func (a *app) asWanted(err error) error {
	if a.wantsJSON() {
		return failure.InJSON(err)
	}
	return err
}

// wantsJSON reports whether the command line has --json: also if parsing it failed before that flag.
func (a *app) wantsJSON() bool {
	flags := a.args
	if end := slices.Index(flags, "--"); end >= 0 {
		flags = flags[:end]
	}
	return a.json || slices.Contains(flags, "--json")
}

// Report prints an error and its hint, and returns the exit code.
func Report(w io.Writer, err error) int {
	if _, filtered := w.(*layout.Filter); !filtered {
		w = layout.Coloured(w, layout.ColourAuto)
	}
	return failure.Report(w, err)
}

// Coloured returns a writer for Report with the colors that a command line asks for.
func Coloured(w io.Writer, args []string) io.Writer {
	return layout.Coloured(w, layout.ColourModeOf(args))
}

// Commands returns all commands, for their manual.
func Commands(parts Parts) *cobra.Command { return (&app{parts: parts}).root("") }

// called returns the root command with the command that the command line names. If it names none, the root command has all commands.
func (a *app) called() *cobra.Command {
	if i := hints.NthWord(a.args, 0); i >= 0 {
		root := a.root(a.args[i])
		if c, _, err := root.Find(a.args); err == nil && c.HasParent() {
			return root
		}
	}
	return a.root("")
}

// root returns the root command with one command, or with all commands if name is empty.
func (a *app) root(name string) *cobra.Command {
	root := &cobra.Command{
		Use:               "pawl",
		Short:             "Keeps agent work from slipping back",
		Long:              "pawl runs multi-step plans, journals every step, and resumes exactly where it stopped after a crash.",
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.check(c) },
	}
	root.PersistentFlags().StringVarP(&a.folder, "directory", "C", "", "run as if started in `FOLDER`")
	a.server.Add(root)
	colours := layout.ColourAuto
	root.PersistentFlags().Var(&colours, "color", "color pawl's own texts: auto (on a terminal, unless NO_COLOR is set), always or never")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if unknown := a.unknownCommand(c); unknown != nil {
			return unknown
		}
		return usageError(c.CommandPath()+" --help", "%v", flags.Plain(err, c.Flags().FlagUsages()))
	})
	for _, g := range a.groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for called, build := range g.commands {
			if name == "" || name == called {
				c := build()
				c.GroupID = g.title
				root.AddCommand(c)
			}
		}
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	if root.CompletionOptions.DisableDefaultCmd = name != ""; name == "" {
		root.Version = version.Read().String()
		root.AddCommand(a.hookCommand())
		root.InitDefaultCompletionCmd()
	}
	setHelp(root)
	a.setCompletions(root)
	a.wrapArgs(root)
	return root
}

// check returns an error for a command line that must not run.
func (a *app) check(c *cobra.Command) error {
	if err := errors.Join(requiredFlags(c), c.ValidateFlagGroups()); err != nil {
		return wrongUsage(c, err)
	}
	if info, err := os.Stat(a.folder); a.folder != "" && (err != nil || !info.IsDir()) {
		return usageError("", "-C: %s is not a folder", a.folder)
	}
	a.mayWait = c.Flags().Lookup("wait") != nil
	a.command = topLevel(c).Name()
	quick.Prepare(a.command)
	a.reads = permission.ReadsOnly(a.command, c.Flags().Changed)
	if err := a.permit(c); err != nil {
		return err
	}
	if redirected, err := a.redirect(c); redirected || err != nil {
		return err
	}
	return a.requireTrust(c)
}

// redirect has a server do the command, if the command line or the environment names one.
func (a *app) redirect(c *cobra.Command) (redirected bool, err error) {
	here, err := a.here()
	if err != nil {
		return false, err
	}
	a.remote, err = remote.Command{
		Flags: a.server, Out: a.Out, Err: a.Err, Folder: here, JSON: flagValue(c, "json") == "true", Interactive: a.interactive(), Getenv: os.Getenv,
	}.Redirect(c)
	return a.remote, err
}

// builders make commands, by name.
type builders = map[string]func() *cobra.Command

// group is a titled set of commands in the help.
type group struct {
	title    string
	commands builders
}

const maintenance = "Maintenance:"

func (a *app) groups() []group {
	others := &remotecmd.Commands{
		Out: a.Out, Find: a.project, Path: a.absolutePath, Author: a.author, Version: a.version, Worker: (&workercmd.Command{Out: a.Out, Getenv: os.Getenv}).New,
	}
	return []group{
		{"Running plans:", builders{"init": a.initCommand, "run": a.runCommand, "resume": a.resumeCommand, "pause": a.pauseCommand, "stop": a.stopCommand, "retry": a.retryCommand, "skip": a.skipCommand, "done": a.doneCommand, "plan": a.planCommand}},
		{"Status and output:", builders{
			"status": a.statusCommand, "brief": a.briefCommand, "watch": a.watchCommand, "runs": a.runsCommand, "output": a.outputCommand, "log": a.logCommand, "stats": a.statsCommand, "why": a.whyCommand, "explain": a.explainCommand,
		}},
		{"Gates and reviews:", builders{"gates": a.gatesCommand, "approve": a.approveCommand, "reject": a.rejectCommand, "answer": a.answerCommand, "ask": a.askCommand, "review": a.reviewCommand}},
		{"Checkpoints:", builders{
			"checkpoint": a.checkpointCommand, "checkpoints": a.checkpointsCommand, "show": a.showCommand, "diff": a.diffCommand, "restore": a.restoreCommand, "fork": a.forkCommand, "rollback": a.rollbackCommand,
		}},
		{"Notes (for the current run, or from inside a step):", builders{
			"progress": a.progressCommand, "learn": a.learnCommand, "decide": a.decideCommand, "block": a.blockCommand, "unblock": a.unblockCommand, "settle": a.settleCommand, "memory": a.memoryCommand,
		}},
		{"Coding agents:", builders{"attach": a.attachCommand, "detach": a.detachCommand, "mcp": a.mcpCommand}},
		{"Kernels and notebooks:", builders{"notebook": a.notebookCommand, "kernel": a.kernelCommand}},
		{"Many projects:", builders{"serve": a.serveCommand}},
		{"Other machines:", others.All()},
		{"Other systems:", builders{"import": a.importCommand, "export": a.exportCommand}},
		{"Trust:", builders{"trust": a.trustCommand, "adopt": a.adoptCommand}},
		{maintenance, builders{
			"processes": a.processesCommand, "verify": a.verifyCommand, "recover": a.recoverCommand, "prune": a.pruneCommand, "archive": a.archiveCommand, "store": func() *cobra.Command { return storecmd.New(a.project, a.Out) }, "doctor": a.doctorCommand, "schema": a.schemaCommand, "version": a.versionCommand,
		}},
	}
}

// wrapArgs turns errors about arguments into errors of KindUsage that show the usage line.
func (a *app) wrapArgs(c *cobra.Command) {
	if run := c.RunE; c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if run != nil && len(args) == 0 {
				return run(c, args)
			}
			if unknown := a.unknownCommand(c); unknown != nil {
				return unknown
			}
			if c.HasParent() {
				return usageError(c.CommandPath()+" --help", "%s needs a command: %s", c.Name(), strings.Join(namesBelow(c), ", "))
			}
			return c.Help()
		}
	} else if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return wrongUsage(c, err)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		a.wrapArgs(sub)
	}
}

// unknownCommand returns an error if c has commands below it, and the command line names another one there. The hint is the command
// line that the user probably meant.
func (a *app) unknownCommand(c *cobra.Command) error {
	at := 0
	for parent := c; parent.HasParent(); parent = parent.Parent() {
		at++
	}
	i := hints.NthWord(a.args, at)
	if !c.HasSubCommands() || i < 0 {
		return nil
	}
	hint := "pawl help all"
	if c.HasParent() {
		hint = c.CommandPath() + " --help"
	}
	if meant := hints.Meant(a.args[i], namesBelow(c)); meant != "" {
		hint = hints.Replace(a.args, i, meant)
	}
	return usageError(hint, "unknown command %q", a.args[i])
}

// wrongUsage adds the usage line to an error that has no hint.
func wrongUsage(c *cobra.Command, err error) error {
	if pawl.HintOf(err) != "" {
		return err
	}
	return usageError(c.CommandPath()+" --help", "%v; usage: %s", err, usageLine(c))
}

// usageLine returns the usage of a command in one line, without the word [flags].
func usageLine(c *cobra.Command) string {
	return strings.ReplaceAll(strings.ReplaceAll(c.UseLine(), " [flags]", ""), "\n  ", " | ")
}

func (a *app) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "output JSON")
	return c
}

// here returns the current folder, or the one that -C names.
func (a *app) here() (string, error) {
	return filepath.Abs(a.folder)
}

// locate returns the project of the current folder, also an untrusted one. It takes the one that a check has just found.
func (a *app) locate() (p *project.Project, err error) {
	if p, a.found = a.found, nil; p != nil {
		return p, nil
	}
	here, err := a.here()
	if err == nil {
		p, err = worktrees.Find(a.command, here)
	}
	return p, err
}

// project returns the project of the current folder. It refuses an untrusted one, unless the command only reads: then it marks what
// the command prints as unverified.
func (a *app) project() (*project.Project, error) {
	p, err := a.locate()
	if err != nil || p.Trust.Trusted() {
		return p, err
	}
	if !a.reads {
		return nil, p.Trusted()
	}
	a.untrusted = true
	a.quote(p.Trusted(), "to trust it: pawl trust")
	return p, nil
}

// projectOrInit returns the project of the current folder, and creates it if there is none.
func (a *app) projectOrInit() (*project.Project, error) {
	p, err := a.project()
	if !errors.Is(err, pawl.ErrNoProject) {
		return p, err
	}
	here, err := a.here()
	if err != nil {
		return nil, err
	}
	notes := worktrees.NewProjectNotes(here)
	p, err = project.Init(here)
	if err != nil {
		return nil, err
	}
	a.printNotes(notes)
	return p, p.Trusted()
}

// loadNamedRun loads a run by id, unique prefix of an id, or "latest". An empty name means the current run.
func (a *app) loadNamedRun(ctx context.Context, p *project.Project, name string) (*runs.Run, error) {
	r, err := runs.LoadNamed(ctx, p, name)
	if err == nil && a.reads && p.Trust.Trusted() {
		a.printNotes(r.Notes)
		if r.RequireOwn(p) != nil {
			a.quoteForeignRun(p, r.State.Run)
		}
	}
	return r, err
}

// perform applies a user's act to a run.
func (a *app) perform(ctx context.Context, name string, act runs.Act) (*project.Project, *runs.Run, error) {
	p, err := a.project()
	if err != nil {
		return nil, nil, err
	}
	run, err := runs.FindRun(ctx, p, name)
	if err != nil {
		return nil, nil, err
	}
	r, err := runs.Perform(ctx, p, run, a.author(), act)
	if err != nil {
		return p, nil, hints.For(ctx, p, run, err)
	}
	a.printNotes(r.Notes)
	a.refreshMirror(ctx, p, r)
	return p, r, nil
}

// printNotes prints notes to standard error.
func (a *app) printNotes(notes []string) {
	for _, note := range notes {
		fmt.Fprintf(a.Err, "pawl: note: %s\n", strings.ReplaceAll(note, "\n", "\n      "))
	}
}

// permit returns an error if this process may not use a command.
func (a *app) permit(c *cobra.Command) error {
	if c.Parent() == nil {
		return nil
	}
	verb, known := permission.Of(topLevel(c).Name(), flagValue(c, "dry-run") == "true", c.Flags().Changed)
	if !known {
		return nil
	}
	who, root := a.caller()
	a.permitted, a.permittedIn = &who, root
	return verb.Check(who, root)
}

// caller returns who runs this process, and the root of the project that it names, "" for none.
func (a *app) caller() (who caller.Caller, root string) {
	if a.permitted != nil && a.permittedIn != "" {
		return *a.permitted, a.permittedIn
	}
	if here, err := a.here(); err == nil {
		if p, err := project.FindOrMain(here); err == nil {
			if root = p.Root; a.permitted == nil && p.Trust.Trusted() && p.Linked == "" {
				a.found = p
			}
		}
	}
	return caller.Under(os.Environ(), root), root
}

// author returns the author of what this command records: the person, the agent or the step that runs it.
func (a *app) author() pawl.Author {
	who, _ := a.caller()
	return who.Author(caller.Login())
}

// engineConfig returns the engine configuration of a project.
func (a *app) engineConfig(p *project.Project) (engine.Config, error) {
	c, err := config.Of(p)
	if err != nil {
		return engine.Config{}, err
	}
	return engine.Config{
		Project: p, Executors: append([]engine.Executor{a.parts.Temporal(c.Temporal)}, a.parts.Executors...), Parallel: c.Parallel, OutputCap: int64(c.OutputCap), PIDNamespace: c.PIDNamespace,
		Snapshots: c.Snapshots,
		Mirror:    a.mirrorWith(p, ""),
		Watchdog: engine.Watchdog{
			Heartbeat: time.Duration(c.Heartbeat), Warning: time.Duration(c.Warning), Stalled: time.Duration(c.Stalled),
		},
		Evaluator: a.parts.Adviser(c.Evaluator, p.Root),
		Receivers: c.Notify, Send: a.parts.Send, Tracer: a.parts.Tracer(c.Traces),
		Gates: c.Gates, RunAs: c.RunAs,
	}, nil
}

// texts returns where a command prints texts for people: with --json, standard output has data only.
func (a *app) texts() io.Writer {
	if a.json {
		return a.Err
	}
	return a.Out
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// confirm asks a yes-or-no question on a terminal. Elsewhere it fails: effect says what would happen, and the error asks
// for --yes.
func (a *app) confirm(effect, question string) error {
	if !a.interactive() {
		return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New(effect + "; not a terminal: pass --yes to confirm")}
	}
	a.ahead.Drop()
	if yes, err := layout.AskYesNo(a.In, a.Out, question, false); err != nil || !yes {
		return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("canceled; nothing was changed")}
	}
	return nil
}

// interactive reports whether both input and output are a terminal.
func (a *app) interactive() bool {
	in, ok := a.In.(*os.File)
	return ok && !a.json && term.IsTerminal(int(in.Fd())) && layout.IsTerminal(a.Out)
}

func usageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// optional returns the argument at i, or "".
func optional(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
