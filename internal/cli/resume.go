package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
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
	parallel int
	mirror   mirrorFlag
}

func (a *app) resumeCommand() *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on from the exact stopping point",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.resume(c.Context(), optional(args, 0), o)
		},
	}
	c.Flags().BoolVar(&o.yes, "yes", false, "agree that finished work runs again where its key changed, and to go on where that is unsafe")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "only say what would be done")
	c.Flags().BoolVar(&o.takeOver, "take-over", false, takeOverHelp)
	c.Flags().IntVar(&o.parallel, "parallel", 0, "attempts at a time (default: the plan's)")
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
	a.sayNotes(notices)
	if err := a.clearTheWay(ctx, p, o.takeOver); err != nil {
		return err
	}
	r, err := a.open(ctx, p, name)
	if err != nil {
		return err
	}
	defer r.Log.Close()
	change, err := a.considered(ctx, p, r, mirror)
	if err != nil {
		return err
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
		return a.sayExamined(r, change, x)
	}
	a.sayResumed(r)
	a.sayChange(change)
	a.sayFindings(x, false)
	if err := a.agreedToGoOn(change, x, o.yes); err != nil {
		return err
	}
	return a.carryOn(ctx, p, engineStart{why: "resume", parallel: o.parallel, mirror: o.mirror, adopt: change, examined: x, open: func(cfg engine.Config) (*engine.Engine, error) {
		return engine.Open(ctx, cfg, r.State.Run)
	}})
}

// considered returns what has changed since a run was left, where it can be gone on with; mirror is the one that it is to have,
// nil for none or the one that it had.
func (a *app) considered(ctx context.Context, p *project.Project, r *runs.Run, mirror *interop.Mirror) (*resume.PlanDiff, error) {
	if r.State.Kind == pawl.SessionRun {
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("run %s is a session: it has no plan to resume", r.State.Run), Hint: "pawl runs"}
	}
	if err := errors.Join(rebuild.CutShort(p, r), runs.NoRollback(r.State)); err != nil {
		return nil, err
	}
	if mirror != nil {
		mirror, err := mirror.ForRun(p, r.State)
		if err != nil {
			return nil, err
		}
		if err := a.notOverOthers(ctx, p, *mirror, r, fmt.Sprintf("--mirror %s=ANOTHER-FOLDER", mirror.Format.Name)); err != nil {
			return nil, err
		}
	}
	change, err := resume.DiffPlan(p, r)
	if err != nil {
		return nil, err
	}
	return change, resumable(r, change)
}

// agreedToGoOn asks a person before finished work runs again, and before going on where that is unsafe.
func (a *app) agreedToGoOn(change *resume.PlanDiff, x *resume.Examination, yes bool) error {
	if yes {
		return nil
	}
	if change.Reruns() {
		if err := a.confirm("Finished work would run again."); err != nil {
			return err
		}
	}
	unsafe := x.Unsafe()
	if len(unsafe) == 0 {
		return nil
	}
	if err := a.confirm("Go on nevertheless?"); err != nil {
		why := fmt.Errorf("unsafe to go on: %s: %s", unsafe[0].Where, unsafe[0].What)
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

// sayExamined says what is true, what is safe to do, and what would run.
func (a *app) sayExamined(r *runs.Run, change *resume.PlanDiff, x *resume.Examination) error {
	steps := whySteps(r, change)
	if a.json {
		return a.printJSON(examined{Run: r.State.Run, PlanDiff: change, Examination: x, Steps: steps})
	}
	a.sayResumed(r)
	a.sayChange(change)
	fmt.Fprintln(a.Out, "\nFindings:")
	a.sayFindings(x, true)
	fmt.Fprintln(a.Out, "\nVerdicts:")
	for _, j := range x.Verdicts {
		a.sayVerdict(pawl.AttemptRef{Step: j.Step, Item: j.Item, Attempt: j.Attempt}, j.Verdict)
	}
	if len(x.Verdicts) == 0 {
		fmt.Fprintln(a.Out, "  nothing is in doubt")
	}
	if r.State.Import.Next != "" && !begun(r.State) {
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

// begun reports whether an attempt of any step was made.
func begun(s *pawl.State) bool {
	for _, st := range s.Steps {
		if st.Attempts > 0 {
			return true
		}
	}
	return false
}

// sayFindings prints findings; unless all are wanted, only those that a person should know.
func (a *app) sayFindings(x *resume.Examination, all bool) {
	for _, f := range x.Findings {
		if all || f.Level != pawl.OK {
			fmt.Fprint(a.Out, "  ")
			a.printFinding(f)
		}
	}
}

func (a *app) sayVerdict(ref pawl.AttemptRef, v pawl.Verdict) {
	fmt.Fprintf(a.Out, "  %-20s attempt %d: %s, by rule %s: %s\n", ref.Name(), ref.Attempt, v.Word, v.Rule, strings.Join(v.Reasons, "; "))
	if v.By != "" {
		fmt.Fprintf(a.Out, "  %-20s chosen by %s\n", "", v.By)
	}
	if v.Doubt != "" {
		fmt.Fprintf(a.Out, "  %-20s an evaluator was asked, and not followed: %s\n", "", v.Doubt)
	}
}

// resumable says why a run cannot be gone on with.
func resumable(r *runs.Run, change *resume.PlanDiff) error {
	s := r.State
	if !s.Ended() || change.Reopens() {
		return nil
	}
	if s.Status == pawl.StatusCompleted {
		return &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("run %s is completed", s.Run), Hint: "pawl status"}
	}
	for _, step := range r.Plan.Steps() {
		if st := s.Steps[step.ID]; st != nil && st.Status == pawl.FailedForGood {
			return &pawl.Error{
				Kind: pawl.KindRunFailed, Hint: "pawl retry " + string(step.ID),
				Err: fmt.Errorf("run %s has failed at step %s: %s", s.Run, step.ID, st.Why),
			}
		}
	}
	return &pawl.Error{Kind: pawl.KindRunFailed, Err: fmt.Errorf("run %s has failed: %s", s.Run, s.Why), Hint: "pawl status"}
}

// sayResumed says what is gone on with: run, phase, last activity, what is finished.
func (a *app) sayResumed(r *runs.Run) {
	s, pos := r.State, r.State.Position(r.Plan)
	fmt.Fprintf(a.Out, "Resuming %s\n", s.Run)
	if s.Goal != "" {
		fmt.Fprintf(a.Out, "  goal           %s\n", s.Goal)
	}
	fmt.Fprintf(a.Out, "  phase          %d of %d (%s)\n", pos.Phase, pos.PhaseTotal, pos.PhaseName)
	fmt.Fprintf(a.Out, "  last activity  %s\n", s.LastActive().UTC().Format("2006-01-02 15:04:05 UTC"))
	var finished, live []string
	for _, step := range r.Plan.Steps() {
		if s.Steps[step.ID].Finished() {
			finished = append(finished, string(step.ID))
		}
	}
	for _, l := range s.Live() {
		live = append(live, fmt.Sprintf("%s (attempt %d)", l.Name(), l.Attempt))
	}
	fmt.Fprintf(a.Out, "  finished       %d of %d steps%s, %d%%\n", len(finished), pos.StepTotal, listed(finished), s.Percent(r.Plan))
	if pos.ItemTotal > 0 {
		fmt.Fprintf(a.Out, "  items of %-5s %d of %d finished\n", pos.StepID, s.Steps[pos.StepID].Items.Count, pos.ItemTotal)
	}
	if len(live) > 0 {
		fmt.Fprintf(a.Out, "  in doubt       %s: their supervisors are asked\n", strings.Join(live, ", "))
	}
}

func listed(names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 8:
		return fmt.Sprintf(" (…, %s)", strings.Join(names[len(names)-7:], ", "))
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (a *app) whyCommand() *cobra.Command {
	return a.jsonFlag(a.reading("why [RUN]", "Say what would run on resume, and why", a.why))
}

// whyStep is one line of `pawl why`.
type whyStep struct {
	Step  pawl.StepID   `json:"step"`
	Runs  bool          `json:"runs"`
	Items []pawl.ItemID `json:"items,omitempty"`
	Why   string        `json:"why"`
}

func (a *app) why(_ context.Context, p *project.Project, r *runs.Run) error {
	change, err := resume.DiffPlan(p, r)
	if err != nil {
		return err
	}
	steps := whySteps(r, change)
	if a.json {
		return a.printJSON(struct {
			Steps  []whyStep        `json:"steps"`
			Change *resume.PlanDiff `json:"change"`
		}{steps, change})
	}
	for _, s := range steps {
		mark := "keep"
		if s.Runs {
			mark = "run "
		}
		fmt.Fprintf(a.Out, "%s  %-20s %s\n", mark, s.Step, s.Why)
	}
	a.sayChange(change)
	return nil
}

func whySteps(r *runs.Run, change *resume.PlanDiff) []whyStep {
	again := map[pawl.StepID]resume.Rerun{}
	for _, x := range change.Again {
		again[x.Step] = x
	}
	steps := []whyStep{}
	for _, step := range change.Plan().Steps() {
		steps = append(steps, whyOf(step, r.State.Steps[step.ID], again))
	}
	return steps
}

func whyOf(step *pawl.Step, st *pawl.StepState, again map[pawl.StepID]resume.Rerun) whyStep {
	w := whyStep{Step: step.ID, Runs: true}
	x, reruns := again[step.ID]
	switch {
	case reruns:
		w.Why, w.Items = strings.Join(x.Why, "; "), x.Items
		if len(x.Items) > 0 {
			w.Why = fmt.Sprintf("%d items: %s", len(x.Items), w.Why)
		}
	case st != nil && (st.Status == pawl.AwaitsGate || st.Status == pawl.AwaitsReview):
		w.Runs, w.Why = false, "it waits for a person"
	case st == nil || st.Attempts == 0 && !st.Finished():
		w.Why = "not started yet"
	case st.Finished():
		w.Runs, w.Why = false, string(st.Status)+", and what it depends on is unchanged"
	case len(st.Live()) > 0:
		w.Why = "an attempt is under way or in doubt: it is re-attached, or judged by what it left"
	case st.Status == pawl.FailedForGood:
		w.Runs, w.Why = false, "failed: "+st.Why
	case st.Items != nil:
		w.Why = fmt.Sprintf("%d of %d items are finished; the others run", st.Items.Count, st.Items.Total)
	case st.Retries.Last != nil:
		w.Why = "last attempt: " + st.Retries.Last.Why
	default:
		w.Why = string(st.Status) + ": " + st.Why
	}
	return w
}

// sayChange says what a changed plan, changed inputs and changed outputs mean.
func (a *app) sayChange(c *resume.PlanDiff) {
	if c.Edited {
		fmt.Fprintln(a.Out, "The plan was edited; it is taken over as it is now.")
	}
	for _, x := range c.Again {
		what := "step " + string(x.Step)
		if len(x.Items) > 0 {
			what = fmt.Sprintf("%d items of step %s", len(x.Items), x.Step)
		}
		fmt.Fprintf(a.Out, "  runs again     %s: %s; steps that need it follow if what it gives changes\n", what, strings.Join(x.Why, "; "))
	}
	for _, id := range c.Recheck {
		fmt.Fprintf(a.Out, "  checked again  step %s: its acceptance checks changed\n", id)
	}
	for _, id := range c.Anew {
		fmt.Fprintf(a.Out, "  taken up anew  step %s: its definition changed\n", id)
	}
	for _, o := range c.Outside {
		fmt.Fprintf(a.Out, "  changed        outputs of step %s, from outside: %s (nothing runs again for that)\n", o.Step, strings.Join(o.Paths, ", "))
	}
}
