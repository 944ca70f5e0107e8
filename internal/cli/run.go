package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/background"
	"pawl/internal/cli/eventstream"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/gateprompt"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/holder"
	"pawl/internal/cli/kernelcmd"
	"pawl/internal/cli/liveview"
	"pawl/internal/cli/permission"
	"pawl/internal/cli/queuecheck"
	"pawl/internal/cli/remotecmd"
	"pawl/internal/cli/scheduling"
	"pawl/internal/cli/signals"
	"pawl/internal/cli/supply"
	"pawl/internal/cli/updateview"
	"pawl/internal/cli/userfile"
	"pawl/internal/engine"
	"pawl/internal/planfile"
	"pawl/internal/planlint"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
	"pawl/internal/supervise"
	"pawl/internal/transfer"

	"github.com/spf13/cobra"
	"pawl/internal/shellwords"
)

type runOptions struct {
	parallel   int
	background bool
	fresh      bool
	takeOver   bool
	wait       flags.Wait
	mirror     flags.Mirror
	answers    flags.Bool
	given      supply.Flags
	output     liveview.OutputMode
	update     bool
	dry        bool
	resume     bool
	schedule   scheduling.Flags
	items      bool
	request    string
	path       string // of the plan, as the user wrote it
	write      []byte // the plan of a notebook: pawl writes its file once nothing refuses the run
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:                   "run PLAN [flags]\n  pawl run [flags] -- COMMAND…",
		DisableFlagsInUseLine: true,
		Short:                 "Start a run and follow it live",
		Long: "Start a run and follow it live\n\nrun executes the steps of a plan, or one command given after --, in the project's root folder. If a run of the same\n" +
			"plan is unfinished, run starts nothing; use pawl resume, or --new to start over. With --update, the new run reuses the steps and\n" +
			"items that are up to date: their definition, inputs and outputs are the same as in the newest run of this plan. It runs the rest.",
		Example: "  pawl run plan.yaml\n  pawl run --update plan.yaml\n  pawl run --background plan.yaml\n  pawl run -- make test",
		Args:    atLeastOne(argument{name: "PLAN file, or a command after --", hint: "pawl run --help"}),
		RunE: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() == 0 {
				if given := givenFlags(c, "update", "resume", "schedule", "install", "uninstall", "crontab"); len(given) > 0 {
					return usageError("pawl run --help", "%s a PLAN", flags.Need(given))
				}
				return a.whenFree(c.Context(), o.wait, func(ctx context.Context) error { return a.runPlan(ctx, runs.CommandPlan(args), o) })
			}
			if len(args) > 1 {
				hint := "pawl run --"
				for _, arg := range args {
					hint += " " + shellwords.Word(arg)
				}
				if strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml") {
					hint = "pawl run " + shellwords.Word(args[0])
				}
				return usageError(hint, "run takes one PLAN; put a command after --")
			}
			if given := givenFlags(c, "background", "take-over", "dry-run", "mirror-answers"); o.schedule.Given() && len(given) > 0 {
				with := givenFlags(c, "schedule", "install", "uninstall", "crontab")
				return usageError("", "%s cannot be combined with %s", with[0], strings.Join(given, ", "))
			}
			return a.runFile(c.Context(), args[0], o)
		},
	}
	c.Flags().BoolVar(&o.update, "update", false, "reuse what is up to date in the newest run of this plan, and run the rest")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "with --update: print what would run and why, and exit")
	c.Flags().BoolVar(&o.resume, "resume", false, "if a run of this plan is unfinished, resume it instead of starting a new one")
	textFlag(c, &o.schedule.Expression, "schedule", "CRON", "print a systemd timer that runs PLAN at these local times, such as \"0 6 * * *\", or resumes its unfinished run; the command itself starts no run")
	c.Flags().BoolVar(&o.schedule.Install, "install", false, "with --schedule: install the timer for this user's systemd")
	c.Flags().BoolVar(&o.schedule.Uninstall, "uninstall", false, "remove the timer of PLAN; starts no run")
	c.Flags().BoolVar(&o.schedule.Crontab, "crontab", false, "with --schedule: print a crontab line instead of systemd units")
	numberVar(c, &o.parallel, "parallel", "", 0, 1, helptext.Parallel)
	c.Flags().BoolVar(&o.background, "background", false, "start the run in the background: print its id once it runs, and return")
	c.Flags().BoolVar(&o.fresh, "new", false, "archive the unfinished run of this plan and start over")
	c.Flags().BoolVar(&o.takeOver, "take-over", false, helptext.TakeOver)
	waitFlag(c, &o.wait)
	c.Flags().Var(&o.mirror, "mirror", a.mirrorHelp())
	answersFlag(c, &o.answers)
	paramFlags(c, &o.given)
	outputFlag(c, &o.output)
	textFlag(c, &o.request, background.RequestFlag, "NAME", "name of the request of a client of pawl serve")
	_ = c.Flags().MarkHidden(background.RequestFlag) // the flag exists
	return a.eventsFlag(c)
}

// outputFlag adds the flag that says what a live view shows of the output of steps.
func outputFlag(c *cobra.Command, mode *liveview.OutputMode) {
	c.Flags().Var(mode, "output", "how to show the output of steps: stream (all lines), fold (the last lines, redrawn; the default on a terminal) or none (the default in a pipe; for pawl run -- COMMAND, stream)")
}

// eventsFlag adds --json to a command that works on a run.
func (a *app) eventsFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "output the events of the run as JSON lines while it runs, and its outcome as the last line")
	return c
}

// waitFlag adds --wait.
func waitFlag(c *cobra.Command, wait *flags.Wait) {
	c.Flags().Var(wait, "wait", "if another pawl process holds the project, wait until it releases it; with =DURATION, give up after that time")
	c.Flags().Lookup("wait").NoOptDefVal = flags.Forever
	c.MarkFlagsMutuallyExclusive("wait", "take-over")
}

// whenFree starts work in a project. If an engine holds the project and the user wants to wait, it starts when the project is free.
func (a *app) whenFree(ctx context.Context, wait flags.Wait, start func(context.Context) error) error {
	defer eventstream.SurviveClosedReaders()()
	if !wait.Given {
		return start(ctx)
	}
	notice := func(text string) { fmt.Fprintf(a.Err, "pawl: %s\n", text) }
	return holder.Queue{Project: a.project, Deadline: wait.Deadline(time.Now()), Notice: notice}.Start(ctx, start)
}

func (a *app) runFile(ctx context.Context, path string, o runOptions) error {
	path = a.planPath(path)
	if o.schedule.Given() {
		return a.schedule(ctx, path, o)
	}
	data, err := userfile.Plan(path)
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	o.path = path
	n := runs.CreateOptions{Kind: pawl.PlanRun, Data: data, Source: absolute}
	switch {
	case o.dry && !o.update:
		return usageError("pawl run --update --dry-run "+shellwords.Word(path), "--dry-run needs --update")
	case o.dry:
		return a.whyUpdate(ctx, n, o)
	}
	err = a.whenFree(ctx, o.wait, func(ctx context.Context) error { return a.runPlan(ctx, n, o) })
	if nothing, ok := errors.AsType[updateview.NothingToDo](err); ok {
		fmt.Fprintln(a.texts(), nothing)
		a.printNotes(nothing.Notes())
		return nil
	}
	return err
}

// schedule shows, installs or removes the schedule of a plan.
func (a *app) schedule(ctx context.Context, path string, o runOptions) error {
	find := a.projectOrInit
	if o.schedule.Uninstall {
		find = a.project
	}
	o.given.Folder = a.folder
	kept := scheduling.Options{New: o.fresh, Update: o.update, Parallel: o.parallel, Mirror: string(o.mirror), Given: o.given}
	return scheduling.Request{Flags: o.schedule, Path: path, Project: find, Options: kept}.Do(ctx, a.Out)
}

// whyUpdate prints what pawl run --update would run, and why.
func (a *app) whyUpdate(ctx context.Context, n runs.CreateOptions, o runOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	o.given.Folder = a.folder
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	cfg.LimitParallel(o.parallel)
	report, err := updateview.Forecast(ctx, p, n, o.given, cfg.ParallelOf)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	report.Print(a.Out, o.items)
	return nil
}

// planPath returns the path of a plan file that the user named, relative to the folder that -C names.
func (a *app) planPath(path string) string {
	if a.folder != "" && !filepath.IsAbs(path) {
		return filepath.Join(a.folder, path)
	}
	return path
}

// loadPlan reads a plan and what it includes from the project, or from the folder that becomes one.
func (a *app) loadPlan(name string, n runs.CreateOptions) (*planfile.Loaded, error) {
	root, err := a.planRoot()
	if err != nil {
		return nil, err
	}
	return planfile.Load(name, n.Data, runs.Includes(root, cmp.Or(n.Source, name)))
}

// planRoot returns the root of the project, or the folder that becomes one.
func (a *app) planRoot() (string, error) {
	here, err := a.here()
	if err != nil {
		return "", err
	}
	if p, err := project.Find(here); err == nil {
		return p.Root, nil
	}
	return here, nil // where the project itself is wrong, whatever opens it says so
}

func (a *app) runPlan(ctx context.Context, n runs.CreateOptions, o runOptions) error {
	name := cmp.Or(o.path, "command") // errors name the file as the user did
	loaded, err := a.loadPlan(name, n)
	if err != nil {
		return err
	}
	plan, file := loaded.Plan, loaded.File
	n.Data = loaded.Data
	if missing := planlint.Missing(name, plan, file, os.Getenv("PATH")); missing != nil {
		return planfile.EditError(name, missing)
	}
	n.Plan, n.Version, n.By = plan, a.version, a.author()
	o.given.Folder = a.folder
	p, err := a.projectFor(ctx, name, loaded)
	if err != nil {
		return err
	}
	if n.Mirrored, err = a.mirrored(p, o); err != nil {
		return err
	}
	if resumed, err := a.unfinished(ctx, p, n, o); err != nil || resumed {
		return err
	}
	values, err := supply.Collect(supply.Request{Project: p, Plan: plan, Name: name, File: file, Flags: o.given, Ask: a.secretPrompt()})
	if err != nil {
		return err
	}
	n.Given, n.Request = values.New, o.request
	update := &updateview.Update{Project: p, Source: n.Source, Text: plan, Given: n.Given}
	if o.update {
		n.Adopt = update.Adopt(ctx)
	}
	if err := a.ensureNoEngine(ctx, p, o.takeOver); err != nil {
		return err
	}
	if err := kernelcmd.WritePlan(o.path, o.write); err != nil {
		return err
	}
	if n.Kind == pawl.PlanRun { // a command gets the whole environment
		a.printNotes(supply.Withheld(plan, func(step *pawl.Step) []string { return engine.Credentials(a.parts.Executors, step) }))
	}
	if n.Kind == pawl.PlanRun && o.fresh {
		if n.Replaces, err = runs.FindReplaceable(ctx, p, n.Source); err != nil {
			return err
		}
	}
	if o.background {
		return a.startInBackground(ctx, p, func() (pawl.RunID, error) { return a.create(ctx, p, n) }, values.Secrets, o.forEngine()...)
	}
	return a.runEngine(ctx, p, engineStart{why: "run", config: a.engineConfig, output: o.output, parallel: o.parallel, mirror: o.mirror, secrets: values.Secrets, flags: o.given, adopt: update.Diff, open: func(cfg engine.Config) (*engine.Engine, error) {
		e, err := engine.OpenNew(ctx, cfg, n)
		if err == nil && n.Replaces != "" {
			fmt.Fprintf(a.texts(), "archived the unfinished run %s\n", n.Replaces)
		}
		update.PrintReasons(a.texts())
		return e, err
	}})
}

// projectFor returns the project for a new run of a plan.
func (a *app) projectFor(ctx context.Context, name string, plan *planfile.Loaded) (*project.Project, error) {
	if err := (queuecheck.Requirement{Name: name, Loaded: plan, Project: a.project, Temporal: a.parts.Temporal, Getenv: os.Getenv}).Check(ctx); err != nil {
		return nil, err
	}
	p, err := a.projectOrInit()
	if err != nil {
		return nil, err
	}
	a.register(p)
	a.noteWithheld(p)
	return p, nil
}

// create creates a run for an engine in the background.
func (a *app) create(ctx context.Context, p *project.Project, n runs.CreateOptions) (pawl.RunID, error) {
	run, err := runs.Create(ctx, p, n)
	if err == nil && n.Replaces != "" {
		fmt.Fprintf(a.Err, "pawl: note: archived the unfinished run %s\n", n.Replaces)
	}
	return run, err
}

// forEngine returns the flags of pawl resume that an engine in the background gets.
func (o runOptions) forEngine() []string {
	args := []string{"--mirror", string(o.mirror)}
	if o.parallel > 0 {
		args = append(args, "--parallel", strconv.Itoa(o.parallel))
	}
	return args
}

// secretPrompt returns a function that asks for a secret on the terminal, once for each; nil without a terminal.
func (a *app) secretPrompt() func(question string) (string, error) {
	if a.secrets == nil {
		a.secrets = supply.Once(supply.Prompt(a.In, a.Out), func() { a.ahead.Drop() })
	}
	return a.secrets
}

// unfinished handles unfinished runs of a plan, and unfinished work of other systems: it resumes them or returns an error.
func (a *app) unfinished(ctx context.Context, p *project.Project, n runs.CreateOptions, o runOptions) (resumed bool, err error) {
	if o.resume {
		if run, err := runs.FindUnfinished(ctx, p, n.Source); err == nil && run != "" { // below, an error is explained
			return true, a.resume(ctx, string(run), resumeOptions{parallel: o.parallel, background: o.background, mirror: o.mirror, given: o.given, output: o.output})
		}
	}
	if n.Kind == pawl.PlanRun && !o.fresh {
		if err := a.refuseUnfinished(ctx, p, n, o.takeOver); err != nil {
			return false, err
		}
		if !o.update {
			a.printNotes(updateview.Again(ctx, p, n.Source, o.path))
		}
	}
	return a.resolveUnfinishedWork(ctx, p, n.Plan, o)
}

// paramFlags adds the flags for the parameters of a plan.
func paramFlags(c *cobra.Command, f *supply.Flags) {
	c.Flags().Var(&f.Params, "param", "set a parameter of the plan; can be repeated. For a secret, prefer the environment variable PAWL_PARAM_NAME, or --params")
	textFlag(c, &f.File, "params", "FILE", "set the parameters in this YAML or JSON file")
}

// refuseUnfinished returns an error if a run of this plan is unfinished: one that an engine works on is followed, not resumed.
func (a *app) refuseUnfinished(ctx context.Context, p *project.Project, n runs.CreateOptions, takeOver bool) error {
	run, err := runs.FindUnfinished(ctx, p, n.Source)
	if pawl.KindOf(err) == pawl.KindDamaged {
		why := fmt.Errorf("cannot read an older run, which may be an unfinished run of this plan: %w", err)
		return &pawl.Error{Kind: pawl.KindDamaged, Err: why, Hint: fmt.Sprintf("pawl verify, or pawl run --new %s", shellwords.Word(n.Source))}
	}
	if err != nil || run == "" {
		return err
	}
	if held, alive := p.EngineHolder(); alive && held.Run == run && !takeOver {
		if err := p.RequireNoEngine(); err != nil {
			return holder.Running(held, err)
		}
	}
	return runs.UnfinishedError(ctx, p, run)
}

// startInBackground starts an engine process for the run that choose returns, with arguments for pawl resume.
func (a *app) startInBackground(ctx context.Context, p *project.Project, choose func() (pawl.RunID, error), secrets stepenv.Secrets, args ...string) error {
	started, err := background.Start(ctx, p, choose, secrets, args...)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(started)
	}
	fmt.Fprintf(a.Out, "%s\n", started.Run)
	fmt.Fprintf(a.Err, "pawl: started in background (pid %d); follow with pawl watch\n", started.PID)
	return nil
}

// engineStart says how to start an engine.
type engineStart struct {
	open     func(engine.Config) (*engine.Engine, error)
	config   func(*project.Project) (engine.Config, error)
	why      string
	parallel int
	adopt    func() *resume.PlanDiff // called once the run is open
	by       pawl.Author             // who confirmed it
	examined *resume.Examination
	secrets  stepenv.Secrets
	given    pawl.GivenValues // to record before the run resumes
	mirror   flags.Mirror     // SYSTEM or SYSTEM=PATH; empty: as recorded in the run
	after    pawl.Seq         // the last event before this command
	handover *background.Handover
	flags    supply.Flags // that they came from
	output   liveview.OutputMode
}

// runEngine runs an engine until the run ends or stops, and shows it live. If it stops at a gate and a person is at the terminal, it
// asks them and, once they have answered, resumes the run.
func (a *app) runEngine(ctx context.Context, p *project.Project, s engineStart) error {
	run, err := a.runOnce(ctx, p, s)
	if pawl.KindOf(err) != pawl.KindAtGate || !a.mayAnswer() {
		return err
	}
	answered, promptErr := gateprompt.Prompter{In: a.In, Out: a.Out, Project: p, Perform: func(act runs.Act) error {
		_, r, err := a.perform(ctx, string(run), act)
		if err != nil {
			return err
		}
		return r.Log.Close()
	}}.Ask(ctx, run)
	if promptErr != nil || !answered {
		return cmp.Or(promptErr, err)
	}
	return a.resume(ctx, string(run), resumeOptions{parallel: s.parallel, mirror: s.mirror, given: s.flags, output: s.output, quiet: true})
}

// mayAnswer reports whether a person is at the terminal.
func (a *app) mayAnswer() bool {
	who, root := a.caller()
	return a.interactive() && !a.json && permission.Verb{Name: "approve", ForPerson: true}.Check(who, root) == nil
}

// runOnce runs an engine until the run ends or stops, and shows it live.
func (a *app) runOnce(ctx context.Context, p *project.Project, s engineStart) (pawl.RunID, error) {
	cfg, err := s.config(p)
	if err != nil {
		return "", err
	}
	cfg.LimitParallel(s.parallel)
	cfg.Mirror, cfg.Secrets, cfg.Given = a.mirrorWith(p, s.mirror), s.secrets, s.given
	if a.json {
		return "", a.streamEngine(ctx, p, cfg, s)
	}
	show := liveview.New(a.Out, a.Err, p, s.output)
	cfg.Notify, cfg.Notice = show.Notify, show.Notice
	state, _, err := a.operate(ctx, p, cfg, s, operation{
		begin: func(e *engine.Engine) error { show.Begin(e.State(), e.Plan()); return nil },
		end:   func(e *engine.Engine, err error) error { return show.End(ctx, e.State(), e.Plan(), err) },
	})
	if state == nil {
		return "", err
	}
	return state.Run, err
}

// streamEngine is runOnce that prints the events as JSON. It prints the last ones when the project is free again, because their
// reader may be slow.
func (a *app) streamEngine(ctx context.Context, p *project.Project, cfg engine.Config, s engineStart) error {
	stream := eventstream.New(a.Out, a.Err, p, s.after)
	cfg.Notify, cfg.Notice = stream.Notify, stream.Notice
	state, plan, err := a.operate(ctx, p, cfg, s, operation{
		begin: func(e *engine.Engine) error { return stream.Begin(e.State().Run) },
		end:   func(_ *engine.Engine, err error) error { return err },
	})
	if state != nil {
		stream.End(ctx, state, plan, err)
	}
	return err
}

// operation shows the progress of an engine.
type operation struct {
	begin func(*engine.Engine) error
	end   func(*engine.Engine, error) error // returns the error of the command
}

// operate opens the engine, runs it and closes it. It returns the last state of the run, nil if the engine did not open.
func (a *app) operate(ctx context.Context, p *project.Project, cfg engine.Config, s engineStart, show operation) (*pawl.State, *pawl.Plan, error) {
	push := remotecmd.NewAutoPush(&cfg)
	e, err := s.open(cfg)
	if err != nil {
		return nil, nil, err
	}
	supervise.AdoptOrphans() // what a killed supervisor leaves behind stays below an engine
	soft, leave, release := signals.Contexts(ctx)
	defer release()
	if err := show.begin(e); err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	err = push.Begin(ctx, p, e.State().Run, s.examined, transfer.PushOptions{By: a.author(), Version: a.version})
	s.handover.Answer(err)
	if s.examined != nil {
		e.Examined(s.examined)
	}
	e.Supply(s.by)
	if diff := s.adopt(); err == nil && diff != nil {
		err = e.Adopt(soft, diff, s.by)
	}
	if err == nil {
		err = e.Run(soft, leave, s.why)
	}
	push.End(ctx)
	err = show.end(e, err)
	a.printNotes(e.Notes())
	state, plan := e.State(), e.Plan()
	status := state.StatusNow(false)
	if closeErr := e.Close(); closeErr != nil {
		return state, plan, errors.Join(err, closeErr)
	}
	if moved := (*project.MovedError)(nil); errors.As(err, &moved) {
		return state, plan, err
	}
	p.Register(status, time.Now().UTC()) // notes were printed at the start
	return state, plan, hints.For(ctx, p, state.Run, err)
}

// ensureNoEngine returns an error if an engine holds the project. With takeOver it kills that engine instead.
func (a *app) ensureNoEngine(ctx context.Context, p *project.Project, takeOver bool) error {
	if !takeOver {
		return p.RequireNoEngine()
	}
	killed, err := runs.TakeOver(ctx, p)
	if err == nil && killed.PID != 0 {
		fmt.Fprintf(a.Err, "pawl: killed the engine that held this project (%s)\n", killed)
	}
	return err
}
