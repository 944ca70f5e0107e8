package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/cli/background"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/helptext"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/liveview"
	"pawl/internal/cli/permission"
	"pawl/internal/cli/remotecmd"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/supply"
	"pawl/internal/engine"
	"pawl/internal/interop"
	"pawl/internal/oneline"
	"pawl/internal/planlint"
	"pawl/internal/project"
	"pawl/internal/rebuild"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/stepenv"
)

type resumeOptions struct {
	yes      bool
	dry      bool
	takeOver bool
	pull     bool
	wait     flags.Wait
	planHash string

	background bool
	handed     bool // this process was started by --background and got the lock
	handover   *background.Handover
	parallel   int
	mirror     flags.Mirror
	answers    flags.Bool
	given      supply.Flags
	output     liveview.OutputMode
	quiet      bool // the user has just seen the run
}

func (a *app) resumeCommand() *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume an interrupted, paused, stopped, waiting or failed run",
		Long: "Resume an interrupted, paused, stopped, waiting or failed run\n\nFinished steps and items do not rerun. Attempts that are still running are re-attached. For interrupted ones, pawl checks\n" +
			"their records and outputs, and decides by fixed rules whether they are done, continue or rerun (pawl explain --rules). If the\n" +
			"plan or an input changed, resume lists the finished steps that rerun and asks for confirmation. A failed run resumes after\n" +
			"pawl retry, skip or done, or after its plan changed.",
		Example: "  pawl resume --dry-run\n  pawl resume\n  pawl resume latest --yes",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if o.handed {
				o.handover = background.Inherited()
			}
			err := a.whenFree(c.Context(), o.wait, func(ctx context.Context) error { return a.resume(ctx, optional(args, 0), o) })
			if err != nil {
				o.handover.Answer(err)
			}
			return err
		},
	}
	yesFlag(c, &o.yes, "do not ask for confirmation; required without a terminal if resume asks. A plan that weakens a gate, check or limit needs --plan-hash")
	c.Flags().StringVar(&o.planHash, "plan-hash", "", "confirm exactly this changed plan, also one that weakens a gate, check or limit; `HASH` is the one that resume prints, or its first 12 or more digits")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "print what pawl found, how it judges interrupted steps and what resume would do with each step, and exit")
	c.Flags().BoolVar(&o.takeOver, "take-over", false, helptext.TakeOver)
	waitFlag(c, &o.wait)
	c.Flags().BoolVar(&o.pull, "pull", false, "for a run in a database whose engine worked on another host that is gone: fetch the files of its newest checkpoint from the remote first. What ran there counts as crashed")
	c.Flags().BoolVar(&o.background, "background", false, "resume the run in the background: print its id once it runs, and return")
	c.Flags().BoolVar(&o.handed, background.Flag, false, "the process that started this one passed on the lock of the project")
	_ = c.Flags().MarkHidden(background.Flag) // the flag exists
	numberVar(c, &o.parallel, "parallel", "", 0, 1, helptext.Parallel)
	c.Flags().Var(&o.mirror, "mirror", a.mirrorHelp())
	answersFlag(c, &o.answers)
	paramFlags(c, &o.given)
	outputFlag(c, &o.output)
	c.MarkFlagsMutuallyExclusive("dry-run", "take-over")
	c.MarkFlagsMutuallyExclusive("dry-run", "pull")
	c.MarkFlagsMutuallyExclusive("dry-run", "wait")
	c.MarkFlagsMutuallyExclusive("dry-run", "background")
	return a.eventsFlag(c)
}

func (a *app) resume(ctx context.Context, name string, o resumeOptions) error {
	imported, offers, err := a.offerImport(ctx, name, o)
	if err != nil {
		return err
	}
	name = cmp.Or(string(imported), name)
	p, err := a.project()
	if err != nil {
		return err
	}
	mirror, err := a.parts.Formats.NameMirror(p, string(o.mirror), o.dry)
	if err != nil {
		return err
	}
	if err := o.handover.Accept(p); err != nil {
		return err
	}
	notices := a.registerToResume(p, o.dry)
	if err := a.ensureNoEngine(ctx, p, o.takeOver); err != nil {
		return err
	}
	if o.pull {
		if name, err = remotecmd.PullFiles(ctx, p, name, a.author(), a.version, a.texts()); err != nil {
			return err
		}
	}
	r, err := runs.LoadNamedToContinue(ctx, p, name)
	if err != nil {
		return err // it names the offers
	}
	a.printNotes(offers)
	defer r.Log.Close()
	return a.resumeLoaded(ctx, p, r, mirror, notices, o)
}

// resumeLoaded examines a run, asks for what needs a confirmation, and runs it.
func (a *app) resumeLoaded(ctx context.Context, p *project.Project, r *runs.Run, mirror *interop.Mirror, notices []string, o resumeOptions) error {
	cfg, errConfig := a.engineConfig(p)
	if errConfig == nil && !o.dry && !o.background && !o.pull {
		a.ahead = engine.WalkAhead(ctx, cfg, r)
		defer a.ahead.Drop()
	}
	if err := rebuild.MayContinue(p, r, o.dry); err != nil {
		return err
	}
	o.given.Folder = a.folder
	values, notes, missing := supply.ForResume(p, r, o.given, o.dry, a.secretPrompt())
	a.printNotes(notes)
	change, err := a.diffForResume(ctx, p, r, mirror, values.New)
	if err = cmp.Or(err, missing, errConfig); err != nil { // a completed run needs no values
		return hints.For(ctx, p, r.State.Run, err)
	}
	if !o.quiet && !o.dry {
		resumeview.Resuming(a.texts(), r)
	}
	x, err := remotecmd.Examine(ctx, p, r, change, cfg.Snapshots, notices, o.pull)
	if err != nil {
		return err
	}
	if o.dry {
		cfg.LimitParallel(o.parallel)
		return errors.Join(r.VerifyCache(ctx), a.printExamination(p, r, change, x, cfg.ParallelOf(change.Plan()), hints.Namer(ctx, p, r.State.Run)))
	}
	left := slices.DeleteFunc(change.Plan().Steps(), func(step *pawl.Step) bool { return r.State.Steps[step.ID].Finished() })
	if missing := planlint.MissingFor(change.Plan(), left, os.Getenv("PATH")); missing != nil {
		return &pawl.Error{Kind: pawl.KindUsage, Err: missing}
	}
	if err := a.confirmAll(ctx, p, r, values, change, x, o); err != nil {
		if pawl.KindOf(err) == pawl.KindAtGate {
			cfg.Secrets = values.Secrets
			err = a.announce(ctx, cfg, r, err)
		}
		return hints.For(ctx, p, r.State.Run, err)
	}
	if o.background {
		choose := func() (pawl.RunID, error) { return r.State.Run, nil }
		return a.startInBackground(ctx, p, choose, values.Secrets, o.forEngine(change)...)
	}
	after := r.State.Seq
	cfg.Ahead = a.ahead
	return a.runEngine(ctx, p, engineStart{
		why: "resume", config: func(*project.Project) (engine.Config, error) { return cfg, nil }, output: o.output, parallel: o.parallel, mirror: o.mirror, secrets: values.Secrets, given: values.New, flags: o.given, adopt: func() *resume.PlanDiff { return change }, by: a.author(),
		examined: x, after: after, handover: o.handover, open: func(cfg engine.Config) (*engine.Engine, error) { return engine.Open(ctx, cfg, r) },
	})
}

// forEngine returns the flags of pawl resume that an engine in the background gets. The user has confirmed everything: exactly the
// changed plan that was shown.
func (o resumeOptions) forEngine(change *resume.PlanDiff) []string {
	args := append(runOptions{mirror: o.mirror, parallel: o.parallel}.forEngine(), "--yes")
	if change.Edited {
		args = append(args, "--plan-hash", change.PlanHash)
	}
	return append(args, o.given.Args()...)
}

// announce tells people of the gate at which a run waits, although no engine works on it: those whom the plan as run names, not
// those of a changed plan. It returns the error that says so.
func (a *app) announce(ctx context.Context, cfg engine.Config, r *runs.Run, waits error) error {
	cfg.Notice = func(text string) { fmt.Fprintf(a.Err, "pawl: %s\n", text) }
	notes, err := engine.Announce(ctx, cfg, r, a.author())
	a.printNotes(notes)
	if err != nil {
		return err
	}
	return waits
}

// registerToResume registers the project, unless it is a dry run, and returns the notices about its place, which it prints.
func (a *app) registerToResume(p *project.Project, dry bool) (notices []string) {
	if notices = p.MoveNotices(); !dry {
		notices = p.Register("", time.Now().UTC())
	}
	a.printNotes(notices)
	a.noteWithheld(p)
	return notices
}

// confirmAll prints what resuming a run would change, asks for confirmation, and records what the user said about mirrored answers.
func (a *app) confirmAll(ctx context.Context, p *project.Project, r *runs.Run, values stepenv.Collected, change *resume.PlanDiff, x *resume.Examination, o resumeOptions) error {
	resumeview.PlanDiff(a.texts(), change, true)
	resumeview.Findings(a.texts(), r.ItemNames(), x, false)
	if err := a.confirmValues(supply.Changes(a.texts(), values), o); err != nil {
		return err
	}
	if err := a.confirmPlan(ctx, p, r, change, o); err != nil {
		return err
	}
	if err := a.confirmResume(change, x, o); err != nil {
		return err
	}
	return a.setMirrorAnswers(ctx, p, r, o)
}

// confirmValues asks for confirmation that parameters or secrets changed.
func (a *app) confirmValues(changes []string, o resumeOptions) error {
	if len(changes) == 0 || o.yes {
		return nil
	}
	return a.confirm("the run began with other values ("+changes[0]+"): to keep both results, start a new run", "Continue with the changed values?")
}

// diffForResume returns what changed in the plan, its values, its inputs and outputs since a run stopped, or an error if the run
// cannot be resumed. mirror is the mirror that the user named, or nil.
func (a *app) diffForResume(ctx context.Context, p *project.Project, r *runs.Run, mirror *interop.Mirror, given pawl.GivenValues) (*resume.PlanDiff, error) {
	if r.State.Kind == pawl.SessionRun {
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("cannot resume run %s: it is a session without a plan", r.State.Run), Hint: "pawl runs"}
	}
	if err := cmp.Or(runs.RequireNoRollback(r.State), runs.RequireNoRestore(ctx, p)); err != nil {
		return nil, err
	}
	if mirror != nil {
		mirror, err := mirror.ForRun(p, r.State)
		if err != nil {
			return nil, err
		}
		if err := a.refuseExportOverwrite(ctx, p, *mirror, r, fmt.Sprintf("--mirror %s=ANOTHER-FOLDER", mirror.Format.Name)); err != nil {
			return nil, err
		}
	}
	change, err := resume.DiffPlan(p, r, given)
	if err != nil {
		return nil, err
	}
	return change, resumeview.CheckResumable(r, change)
}

// minPlanHash is the minimum length of a prefix of a plan's hash.
const minPlanHash = 12

// confirmPlan asks for confirmation that a changed plan is used: on a terminal at once, elsewhere with a gate. Plain --yes does not
// accept a plan that removes or weakens a gate, check or limit, and an agent cannot accept one.
func (a *app) confirmPlan(ctx context.Context, p *project.Project, r *runs.Run, change *resume.PlanDiff, o resumeOptions) error {
	if !change.Edited {
		return nil
	}
	gate, weaker, what := change.Gate(r.State.Plan.SHA256), len(change.Weakened) > 0, "the plan was changed"
	if weaker {
		what = "the plan was changed and weakened (" + change.Weakened[0] + ")"
	}
	answered := r.State.Gate(gate.ID)
	if answered != nil && answered.Answer != nil && answered.Answer.Answer == pawl.Approved {
		fmt.Fprintf(a.texts(), "  approved  the changed plan, by gate %s\n", gate.ID)
		return nil
	}
	if who, _ := a.caller(); o.planHash != "" && weaker && who.Kind != caller.Person {
		return permission.Refusal("%s: a person confirms that, and this process belongs to %s: %s", what, who, who.Evidence)
	}
	serverOnly, err := runs.ServerOnly(p)
	switch short := change.PlanHash[:minPlanHash]; {
	case err != nil:
		return err
	case serverOnly && weaker: // only through the gate
	case o.planHash != "" && len(o.planHash) >= minPlanHash && strings.HasPrefix(change.PlanHash, o.planHash):
		return nil
	case o.planHash != "":
		return usageError("", "the plan has the hash %[2]s, not %[1]s", o.planHash, short)
	case o.yes && !weaker:
		return nil
	case a.interactive():
		return a.confirm(what, "Use the changed plan?")
	case answered != nil && answered.Answer != nil:
		return usageError("", "%s, and gate %s rejected it (%s): change the plan file, or pass --plan-hash %s", what, gate.ID, answered.Answer.Why, short)
	}
	if err := r.Perform(ctx, p, a.author(), runs.OpenGate(gate)); err != nil {
		return err
	}
	a.refreshMirror(ctx, p, r)
	confirms := ", or pass --yes or --plan-hash " + change.PlanHash[:minPlanHash]
	if weaker {
		confirms = ", or pass --plan-hash " + change.PlanHash[:minPlanHash]
	}
	if serverOnly && weaker {
		confirms = " through a server"
	}
	return &pawl.Error{Kind: pawl.KindAtGate, Err: fmt.Errorf("%s: approve gate %s%s", what, gate.ID, confirms), Hint: "pawl gates"}
}

// confirmResume asks for confirmation before finished steps rerun, unless that was part of the question about a changed plan, and before resuming is unsafe.
func (a *app) confirmResume(change *resume.PlanDiff, x *resume.Examination, o resumeOptions) error {
	if o.yes {
		return nil
	}
	if asked := change.Edited && o.planHash == ""; change.HasReruns() && !asked {
		if err := a.confirm("resuming would rerun finished steps", "Resuming reruns finished steps. Continue?"); err != nil {
			return err
		}
	}
	unsafe := x.Unsafe()
	if len(unsafe) == 0 {
		return nil
	}
	if err := a.confirm("resuming is unsafe", "Resuming is unsafe. Continue anyway?"); err != nil {
		why := fmt.Errorf("resuming is unsafe: %s: %s", oneline.Path(unsafe[0].Where), unsafe[0].What)
		hint := "pawl resume --yes"
		if strings.HasPrefix(unsafe[0].Hint, "pawl resume") {
			hint = unsafe[0].Hint
		}
		return &pawl.Error{Kind: pawl.KindDamaged, Err: why, Hint: hint}
	}
	return nil
}

// printExamination prints findings, verdicts and the steps that would run.
func (a *app) printExamination(p *project.Project, r *runs.Run, change *resume.PlanDiff, x *resume.Examination, limit pawl.Parallel, onRun func(command string) string) error {
	a.printNotes(r.Notes)
	steps, err := resumeview.Steps(p, r, change, x.Verdicts, onRun)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(resumeview.Examined{Run: r.State.Run, PlanDiff: change, Examination: x, Parallel: limit, Steps: steps})
	}
	resumeview.Examination(a.Out, r, change, x, limit, steps)
	return nil
}
