package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/permission"
	"pawl/internal/engine"
	"pawl/internal/interop"
	"pawl/internal/project"
	"pawl/internal/rebuild"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

type resumeOptions struct {
	yes      bool
	dry      bool
	takeOver bool
	planHash string
	parallel int
	mirror   mirrorFlag
}

func (a *app) resumeCommand() *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume an interrupted, paused or failed run",
		Long: "Resume an interrupted, paused or failed run\n\nFinished steps and items do not rerun. Attempts that are still running are re-attached. For interrupted ones, pawl checks\n" +
			"their records and outputs, and decides by fixed rules (pawl explain --rules). If the plan or an\n" +
			"input changed, resume lists the finished steps that rerun and asks for confirmation.",
		Example: "  pawl resume --dry-run\n  pawl resume\n  pawl resume latest --yes",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			return a.resume(c.Context(), optional(args, 0), o)
		},
	}
	c.Flags().BoolVar(&o.yes, "yes", false, "assume yes: rerun finished steps because the plan or inputs changed, and continue despite warnings")
	c.Flags().StringVar(&o.planHash, "plan-hash", "", "confirm the changed plan; `HASH` is the one that resume prints, or its first 12 or more digits")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "print findings, verdicts and the steps that would run, and exit")
	c.Flags().BoolVar(&o.takeOver, "take-over", false, takeOverHelp)
	numberVar(c, &o.parallel, "parallel", "", 0, 1, "at most `N` concurrent attempts (default: as the plan says)")
	c.Flags().Var(&o.mirror, "mirror", a.mirrorHelp())
	c.MarkFlagsMutuallyExclusive("dry-run", "take-over")
	return a.jsonFlag(c)
}

func (a *app) resume(ctx context.Context, name string, o resumeOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	mirror, err := a.parts.Formats.ParseMirror(p, string(o.mirror))
	if err != nil {
		return err
	}
	notices := p.Register("", time.Now().UTC())
	a.printNotes(notices)
	if err := a.ensureNoEngine(ctx, p, o.takeOver); err != nil {
		return err
	}
	run, err := runs.FindRun(ctx, p, name)
	if err != nil {
		return err
	}
	r, err := runs.LoadToContinue(ctx, p, run)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	change, err := a.diffForResume(ctx, p, r, mirror)
	if err != nil {
		return hints.For(ctx, p, r.State.Run, err)
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	x, err := resume.Examine(ctx, p, r, change, cfg.Snapshots, notices)
	if err != nil {
		return err
	}
	if o.dry {
		a.printNotes(r.Notes)
		return a.printExamination(r, change, x)
	}
	a.printResuming(r)
	a.printPlanDiff(change, true)
	a.printExaminedFindings(x, false)
	if err := a.confirmPlan(change, o); err != nil {
		return hints.For(ctx, p, r.State.Run, err)
	}
	if err := a.confirmResume(change, x, o); err != nil {
		return hints.For(ctx, p, r.State.Run, err)
	}
	return a.runEngine(ctx, p, engineStart{why: "resume", parallel: o.parallel, mirror: o.mirror, adopt: change, by: a.author(), examined: x, open: func(cfg engine.Config) (*engine.Engine, error) {
		return engine.Open(ctx, cfg, r.State.Run)
	}})
}

// diffForResume returns what changed in the plan, its inputs and outputs since a run stopped, or an error if the run cannot be
// resumed. mirror is the mirror that the user named, or nil.
func (a *app) diffForResume(ctx context.Context, p *project.Project, r *runs.Run, mirror *interop.Mirror) (*resume.PlanDiff, error) {
	if r.State.Kind == pawl.SessionRun {
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("cannot resume run %s: it is a session without a plan", r.State.Run), Hint: "pawl runs"}
	}
	if err := errors.Join(rebuild.CheckTruncated(p, r), runs.RequireNoRollback(r.State)); err != nil {
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
	change, err := resume.DiffPlan(p, r)
	if err != nil {
		return nil, err
	}
	return change, checkResumable(r, change)
}

// minPlanHash is the minimum length of a prefix of a plan's hash.
const minPlanHash = 12

// confirmPlan asks for confirmation that a changed plan is used. Plain --yes does not accept a plan that removes or weakens a gate,
// check or limit, and an agent cannot accept one.
func (a *app) confirmPlan(change *resume.PlanDiff, o resumeOptions) error {
	if !change.Edited {
		return nil
	}
	weaker := len(change.Weakened) > 0
	if weaker {
		if who, _ := a.caller(); who.Kind != caller.Person {
			return permission.Refusal("the plan was changed and weakened (%s): a person confirms that, and this process belongs to %s: %s", change.Weakened[0], who, who.Evidence)
		}
	}
	short := change.PlanHash[:minPlanHash]
	switch {
	case o.planHash != "" && len(o.planHash) >= minPlanHash && strings.HasPrefix(change.PlanHash, o.planHash):
		return nil
	case o.planHash != "":
		return usageError("", "the plan is not the one with hash %s; its hash is %s", o.planHash, short)
	case o.yes && !weaker:
		return nil
	case weaker:
		return a.confirmWith("the plan was changed and weakened ("+change.Weakened[0]+")", "Use the changed plan?", "--plan-hash "+short)
	}
	return a.confirmWith("the plan was changed", "Use the changed plan?", "--yes or --plan-hash "+short)
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
		why := fmt.Errorf("resuming is unsafe: %s: %s", unsafe[0].Where, unsafe[0].What)
		return &pawl.Error{Kind: pawl.KindDamaged, Err: why, Hint: "pawl resume --yes"}
	}
	return nil
}

// examined is what `pawl resume --dry-run --json` prints.
type examined struct {
	Run pawl.RunID `json:"run"`
	*resume.PlanDiff
	*resume.Examination
	Steps []whyStep `json:"steps"`
}

// printExamination prints findings, verdicts and the steps that would run.
func (a *app) printExamination(r *runs.Run, change *resume.PlanDiff, x *resume.Examination) error {
	steps := whySteps(r, change)
	if a.json {
		return a.printJSON(examined{Run: r.State.Run, PlanDiff: change, Examination: x, Steps: steps})
	}
	a.printResuming(r)
	a.printPlanDiff(change, false)
	fmt.Fprintln(a.Out, "\nFindings:")
	a.printExaminedFindings(x, true)
	fmt.Fprintln(a.Out, "\nVerdicts:")
	for _, j := range x.Verdicts {
		a.printVerdict(pawl.AttemptRef{Step: j.Step, Item: j.Item, Attempt: j.Attempt}, j.Verdict)
	}
	if len(x.Verdicts) == 0 {
		fmt.Fprintln(a.Out, "  none: no attempt was interrupted")
	}
	if r.State.Import.Next != "" && !hasAttempts(r.State) {
		fmt.Fprintf(a.Out, "  imported from %s: %s\n", r.State.Import.System, r.State.Import.Next)
	}
	fmt.Fprintln(a.Out, "\nWould run:")
	for _, s := range steps {
		if s.Runs {
			fmt.Fprintf(a.Out, "  %-20s %s\n", s.Step, s.Why)
		}
	}
	return nil
}

// hasAttempts reports whether any step was started.
func hasAttempts(s *pawl.State) bool {
	for _, st := range s.Steps {
		if st.Attempts > 0 {
			return true
		}
	}
	return false
}

// printExaminedFindings prints all findings, or only those that are not ok.
func (a *app) printExaminedFindings(x *resume.Examination, all bool) {
	for _, f := range x.Findings {
		if all || f.Level != pawl.OK {
			fmt.Fprint(a.Out, "  ")
			a.printFinding(f)
		}
	}
}

// verdictText says what a verdict means for the attempt.
func verdictText(word pawl.VerdictWord) string {
	switch word {
	case pawl.Next:
		return "accept as done"
	case pawl.Continue:
		return "continue"
	case pawl.Restart:
		return "rerun"
	case pawl.HumanReview:
		return "needs your decision"
	}
	return string(word)
}

func (a *app) printVerdict(ref pawl.AttemptRef, v pawl.Verdict) {
	fmt.Fprintf(a.Out, "  %-20s attempt %d: %s (rule: %s): %s\n", ref.Name(), ref.Attempt, verdictText(v.Word), v.Rule, strings.Join(v.Reasons, "; "))
	if v.By != "" {
		fmt.Fprintf(a.Out, "  %-20s chosen by %s\n", "", v.By)
	}
	if v.Doubt != "" {
		fmt.Fprintf(a.Out, "  %-20s the evaluator's answer was rejected: %s\n", "", v.Doubt)
	}
}

// checkResumable returns an error if a run has ended and its changed plan reopens no step.
func checkResumable(r *runs.Run, change *resume.PlanDiff) error {
	s := r.State
	if !s.Ended() || change.Reopens() {
		return nil
	}
	if s.Status == pawl.StatusCompleted {
		return nothingToDo{&pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("nothing to do: run %s is already complete", s.Run), Hint: "pawl status"}}
	}
	for _, step := range r.Plan.Steps() {
		if st := s.Steps[step.ID]; st != nil && st.Status == pawl.FailedForGood {
			return &pawl.Error{
				Kind: pawl.KindRunFailed, Hint: "pawl retry " + string(step.ID),
				Err: fmt.Errorf("run %s failed at step %s: %s", s.Run, step.ID, st.Why),
			}
		}
	}
	return &pawl.Error{Kind: pawl.KindRunFailed, Err: fmt.Errorf("run %s failed: %s", s.Run, s.Why), Hint: "pawl status"}
}

// printResuming prints the run, its phase, its last activity and what is finished.
func (a *app) printResuming(r *runs.Run) {
	s, pos := r.State, r.State.Position(r.Plan)
	fmt.Fprintf(a.Out, "Resuming %s\n", s.Run)
	if s.Goal != "" {
		fmt.Fprintf(a.Out, "  goal           %s\n", s.Goal)
	}
	fmt.Fprintf(a.Out, "  phase          %d of %d (%s)\n", pos.Phase, pos.PhaseTotal, pos.PhaseName)
	fmt.Fprintf(a.Out, "  last activity  %s\n", layout.UTCWithZone(s.LastActive()))
	var finished, live []string
	for _, step := range r.Plan.Steps() {
		if s.Steps[step.ID].Finished() {
			finished = append(finished, string(step.ID))
		}
	}
	for _, l := range s.Live() {
		live = append(live, fmt.Sprintf("%s (attempt %d)", l.Name(), l.Attempt))
	}
	fmt.Fprintf(a.Out, "  finished       %d of %s%s, %d%%\n", len(finished), layout.Count(pos.StepTotal, "step"), nameList(finished), s.Percent(r.Plan))
	if pos.ItemTotal > 0 {
		fmt.Fprintf(a.Out, "  items of %-5s %d of %d finished\n", pos.StepID, s.Steps[pos.StepID].Items.Count, pos.ItemTotal)
	}
	if len(live) > 0 {
		fmt.Fprintf(a.Out, "  checking       interrupted attempts: %s\n", strings.Join(live, ", "))
	}
}

func nameList(names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 8:
		return fmt.Sprintf(" (…, %s)", strings.Join(names[len(names)-7:], ", "))
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// printPlanDiff prints what changed in the plan, inputs and outputs, and which steps rerun because of it.
// resuming says that the resume is about to use it.
func (a *app) printPlanDiff(c *resume.PlanDiff, resuming bool) {
	switch {
	case c.Edited && resuming:
		fmt.Fprintln(a.Out, "The plan has changed since the last run:")
	case c.Edited:
		fmt.Fprintln(a.Out, "The plan has changed since the last run; resume will use the new version.")
	}
	for line := range strings.Lines(c.Patch) {
		fmt.Fprintf(a.Out, "  %s", line)
	}
	for _, text := range c.Weakened {
		fmt.Fprintf(a.Out, "  weaker   %s\n", text)
	}
	for _, x := range c.Rerun {
		what := "step " + string(x.Step)
		if len(x.Items) > 0 {
			what = fmt.Sprintf("%s of step %s", layout.Count(len(x.Items), "item"), x.Step)
		}
		fmt.Fprintf(a.Out, "  rerun    %s (%s); downstream steps rerun if its outputs change\n", what, strings.Join(x.Why, "; "))
	}
	for _, id := range c.Recheck {
		fmt.Fprintf(a.Out, "  recheck  step %s (acceptance checks changed)\n", id)
	}
	for _, id := range c.Reset {
		fmt.Fprintf(a.Out, "  rerun    step %s (definition changed)\n", id)
	}
	for _, o := range c.OutputEdits {
		fmt.Fprintf(a.Out, "  note     %s (output of step %s) was edited since; no step reruns because of it\n", strings.Join(o.Paths, ", "), o.Step)
	}
}
