package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pawl/internal/cli/hints"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/supply"
	"pawl/internal/project"
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
	forecast, err := resumeview.ForecastOf(p, r, given, hints.Namer(ctx, p, r.State.Run))
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(forecast)
	}
	forecast.Print(a.Out, r.State.Run, items)
	return nil
}
