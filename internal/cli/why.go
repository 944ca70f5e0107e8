package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

func (a *app) whyCommand() *cobra.Command {
	return a.jsonFlag(a.readRunCommand("why [RUN]", "Show which steps would run on resume, and why", a.why))
}

// whyStep is one line of `pawl why`.
type whyStep struct {
	Step  pawl.StepID   `json:"step"`
	Runs  bool          `json:"runs"`
	Items []pawl.ItemID `json:"items,omitempty"`
	Why   string        `json:"why"`

	mark string // what happens to the step, in one word; empty: "run" or "skip"
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
		mark := "skip"
		if s.Runs {
			mark = "run"
		}
		fmt.Fprintf(a.Out, "%-4s  %-20s %s\n", cmp.Or(s.mark, mark), s.Step, s.Why)
	}
	a.printPlanDiff(change, false)
	return nil
}

func whySteps(r *runs.Run, change *resume.PlanDiff) []whyStep {
	again := map[pawl.StepID]resume.Rerun{}
	for _, x := range change.Rerun {
		again[x.Step] = x
	}
	steps := []whyStep{}
	for _, step := range change.Plan().Steps() {
		steps = append(steps, whyOf(step, r.State, again))
	}
	return steps
}

func upToDate(status pawl.StepStatus) string {
	if status == pawl.Skipped {
		return "skipped"
	}
	return "up to date"
}

func whyOf(step *pawl.Step, s *pawl.State, again map[pawl.StepID]resume.Rerun) whyStep {
	w := whyStep{Step: step.ID, Runs: true}
	st, answered := s.Steps[step.ID], s.AnsweredGate(step.ID)
	x, reruns := again[step.ID]
	switch {
	case reruns:
		w.Why, w.Items = strings.Join(x.Why, "; "), x.Items
		if len(x.Items) > 0 {
			w.Why = fmt.Sprintf("%s: %s", layout.Count(len(x.Items), "item"), w.Why)
		}
	case st != nil && st.Status == pawl.AwaitsReview && len(st.Unreviewed()) > 0:
		w.Runs, w.mark, w.Why = false, "wait", "waiting for review: "+strings.Join(layout.ReviewCommands(step.ID, st), "; ")
	case st != nil && (st.Status == pawl.AwaitsGate || st.Status == pawl.AwaitsReview):
		w.Runs, w.mark, w.Why = false, "wait", "waiting for approval or review"
	case answered != nil && st.Attempts == 0:
		w.Why = answered.AnswerText() + "; pawl resume continues"
	case st == nil || st.Attempts == 0 && !st.Finished():
		w.Why = "not started yet"
	case st.Finished():
		w.Runs, w.Why = false, upToDate(st.Status)
	case len(st.Live()) > 0:
		w.Why = "interrupted: will be re-attached or checked"
	case st.Status == pawl.FailedForGood:
		w.Runs, w.mark, w.Why = false, "fail", "failed: "+st.Why
	case st.Items != nil:
		w.Why = fmt.Sprintf("%d of %d items are finished; the rest will run", st.Items.Count, st.Items.Total)
	case st.Retries.Last != nil:
		w.Why = "last attempt: " + st.Retries.Last.Why
	default:
		w.Why = string(st.Status) + ": " + st.Why
	}
	return w
}
