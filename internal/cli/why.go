package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/cli/hints"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/supply"
	"pawl/internal/decide"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
)

func (a *app) whyCommand() *cobra.Command {
	var items bool
	var plan string
	var given supply.Flags
	c := a.readRunCommand("why [RUN]", "Show what resume would do with each step, and why", func(ctx context.Context, p *project.Project, r *runs.Run) error {
		given.Folder = a.folder
		return a.why(ctx, p, r, given, items)
	})
	ofRun := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if plan == "" {
			return ofRun(c, args)
		}
		if len(args) > 0 {
			return usageError("pawl why --update "+shellwords.Word(plan), "--update compares with the newest run of PLAN; leave out RUN")
		}
		return a.runFile(c.Context(), plan, runOptions{update: true, dry: true, items: items, given: given})
	}
	textFlag(c, &plan, "update", "PLAN", "show what pawl run --update PLAN would do instead")
	paramFlags(c, &given)
	c.Flags().BoolVar(&items, "items", false, "list the unfinished items of foreach steps")
	return a.jsonFlag(c)
}

func (a *app) why(ctx context.Context, p *project.Project, r *runs.Run, flags supply.Flags, items bool) error {
	given, notes, err := supply.ForWhy(p, r, flags)
	if err != nil {
		return err
	}
	a.printNotes(notes)
	change, err := resume.DiffPlan(p, r, given)
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
