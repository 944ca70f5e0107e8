package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/resumeview"
	"pawl/internal/decide"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

func (a *app) whyCommand() *cobra.Command {
	var items bool
	c := a.readRunCommand("why [RUN]", "Show what resume would do with each step, and why", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		return a.why(ctx, p, r, items)
	})
	c.Flags().BoolVar(&items, "items", false, "list the unfinished items of foreach steps")
	return a.jsonFlag(c)
}

func (a *app) why(ctx context.Context, p *project.Project, r *runs.Run, items bool) error {
	change, err := resume.DiffPlan(p, r, pawl.GivenValues{})
	if err != nil {
		return err
	}
	verdicts, err := resume.Interrupted(p, r, change)
	if err != nil {
		return err
	}
	steps, err := decide.Forecast(r, change, verdicts, time.Now(), hints.Namer(ctx, p, r.State.Run))
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(whyReport{steps, change})
	}
	if len(steps) == 0 {
		fmt.Fprintf(a.Out, "run %s has no plan, so there are no steps to run\n", r.State.Run)
	}
	resumeview.Decisions(a.Out, "", steps, items)
	resumeview.PlanDiff(a.Out, change, false)
	return nil
}

// whyReport is what `pawl why --json` prints.
type whyReport struct {
	Steps  []decide.Decision `json:"steps"`
	Change *resume.PlanDiff  `json:"change"` // what changed in the plan and its inputs; null: the run has no plan
}
